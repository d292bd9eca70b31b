"""`ckai board` as a program: its address, its end, and what it says without the extra."""

import json
import re
import signal
import socket
import sys
import urllib.request

import pytest
from child_process import started
from click.testing import CliRunner

from ckai.cli import board

RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"
pytestmark = pytest.mark.programs


def command(*words):
    return [sys.executable, "-c", RUN, "board", "--no-browser", *words]


def address_of(process):
    line = process.stdout.readline().decode()
    return re.fullmatch(r"the board is at (\S+) \(Ctrl-C ends it\)\n", line)[1]


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_ends_the_server_in_the_middle_of_a_search(tmp_path, ending):
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    from websockets.sync.client import connect

    with started(command(), cwd=tmp_path) as process:
        address = address_of(process)
        assert address.startswith("http://127.0.0.1:")
        assert b"<svg" in urllib.request.urlopen(address).read()
        host = address.removeprefix("http://").rstrip("/")
        with pytest.raises(InvalidStatus), connect(f"ws://{host}/ws", origin="http://evil.example"):
            pass
        with connect(f"ws://{host}/ws", origin=f"http://{host}") as page:
            page.send("x" * (board.MAX_BYTES + 1))
            with pytest.raises(ConnectionClosed):  # it ends its own connection alone
                page.recv(60)
        with connect(f"ws://{host}/ws", origin=f"http://{host}") as page:
            page.send(json.dumps({"id": 1, "kind": "analyse", "engine": "uniform"}))
            while "lines" not in json.loads(page.recv(60)):
                pass
            process.send_signal(ending)
            errors = process.communicate(timeout=60)[1].decode()
        assert not re.search("Traceback|ERROR", errors)
        if ending == signal.SIGINT:
            assert process.returncode == 0
            assert errors.splitlines()[-1] == "stopped"


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "websockets"])
def test_without_the_extra_one_line_says_what_to_install(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    result = CliRunner().invoke(board.command, ["--no-browser"])
    assert str(result.exception) == (
        f"this needs the package {package}; install it with pip install 'ckai[web]'"
    )


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(board.command, ["--no-browser", "--port", port])
    assert result.exit_code == 1
    assert f"found 127.0.0.1 port {port}" in result.output
    assert "Traceback" not in result.output


def test_a_player_that_is_none_is_named():
    result = CliRunner().invoke(board.command, ["--no-browser", "--engine", "x@0"])
    assert result.exit_code != 0
    assert re.search("expected a limit from 1 .*, found 'x@0'", str(result.exception or result.output))
