"""`ckai engine`: what the page shows is what it does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def exchange():
    """The exchange of the page: what is said, and the answers to it."""
    (block,) = re.findall(r"^    > hub\n(?:    .*\n)+", PAGE.read_text(), re.M)
    turns = []
    for line in re.sub("^    ", "", block, flags=re.M).splitlines():
        if line.startswith("> "):
            turns.append((line.removeprefix("> "), []))
        else:
            turns[-1][1].append(line)
    return turns


def pattern(line):
    """What a line may be: the figures of a search that a machine decides may differ."""
    line = re.sub(r"version=\S+", "version=...", line)
    if line.startswith("info"):
        return re.sub(r'=("[^"]*"|\S+)', "", line)
    # The search that is stopped may not have got far.
    return "done move ponder" if line.startswith("done move=12-16") else line


@pytest.mark.programs
@pytest.mark.slow
def test_the_exchange_of_the_page():
    words = [sys.executable, "-m", "ckai.cli.main", "engine", "--tables", "none"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        for said, answers in exchange():
            process.stdin.write(said + "\n")
            for shown in answers:
                heard = process.stdout.readline().rstrip("\n")
                while heard.startswith("info") and not shown.startswith("info"):
                    heard = process.stdout.readline().rstrip("\n")  # how many there are, time decides
                if pattern(shown) == "done move ponder":
                    assert re.fullmatch(r"done move=\S+( ponder=\S+)?", heard)
                else:
                    assert pattern(heard) == pattern(shown)
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0


def test_options_of_hub_are_refused_with_gtp(ckai):
    status, out, err = ckai("engine", "--protocol", "gtp", "--tables", "3")
    assert (status, out) == (2, "")
    assert "expected auto or none for go, which has no tablebases, found 3" in err
