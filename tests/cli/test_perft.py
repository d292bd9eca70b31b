"""`ckai perft`."""

import json

from click.testing import CliRunner

from ckai.cli.perft import command

START = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_json():
    result = run("--depth", 6, "--json")
    found = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert list(found) == ["fen", "depth", "nodes", "seconds"]
    assert (found["fen"], found["depth"], found["nodes"]) == (START, 6, 36768)
    assert found["seconds"] > 0
