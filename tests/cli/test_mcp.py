"""`ckai mcp`: a client of the official SDK plays with its tools; errors are one line."""

import logging
import os
import sys

import anyio
import pytest

from ckai.cli.mcp import make_server
from ckai.game import Game
from ckai.rl import Engine

mcp = pytest.importorskip("mcp")
TOOLS = {"legal_moves", "make_move", "evaluate", "explain", "analyse", "board"}


def session(server, work):
    """Let `work` call tools of a server: `await call(name, **arguments)` gives data, text, or an error."""

    async def run():
        async with mcp.Client(server) as client:

            async def call(name, **arguments):
                answer = await client.call_tool(name, arguments)
                (content,) = answer.content
                return (
                    f"error: {content.text}" if answer.is_error else answer.structured_content or content.text
                )

            await work(client, call)

    anyio.run(run)


@pytest.fixture(scope="module", autouse=True)
def logging_as_before():
    """The SDK logs errors alone, for the whole process."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.fixture(scope="module")
def server(logging_as_before):
    with Engine.load("uniform@60", seed=1) as engine:
        yield make_server(lambda: engine)


def test_a_model_plays_without_inventing_a_move(server):
    async def work(client, call):
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        found, game = await call("legal_moves"), Game()
        while len(game.moves) < 6:
            assert found["legal_moves"] == [str(move) for move in game.legal_moves()]
            assert (found["turn"], found["outcome"]) == (game.turn, None)
            game.push(found["legal_moves"][0])
            found = await call("make_move", move=found["legal_moves"][0], position=found["pdn"])
        assert (found["fen"], found["pdn"]) == (game.position.fen, game.to_pdn())
        end = await call("make_move", move="11x25", position="B:W15,22:B11")
        assert (end["legal_moves"], end["outcome"]) == ([], "Black won: White has no pieces left")

    session(server, work)


def test_positions_and_moves_are_judged(server):
    async def work(client, call):
        found = await call("evaluate", position="B:W18:B14,1", lines=1)
        assert (found["best"], found["score"], found["turn"]) == ("14x23", 1.0, "black")
        assert [line["moves"] for line in found["lines"]] == ["14x23"]
        text = await call("explain", position="W:W22,30:B18,1", move="22x15")
        assert text.startswith("22x15 is forced: White has no other legal move.")
        pdn = (await call("analyse", pdn="1. 11-15 22-18 2. 15x22 25x18 1-0"))["pdn"]
        assert '[Annotator "ckai uniform' in pdn
        assert "Black " in pdn.split("\n\n", 1)[1]
        svg = await call("board", position="1. 11-15 *")
        assert svg == Game.from_pdn("1. 11-15 *")._repr_svg_()

    session(server, work)


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        (
            "legal_moves",
            {"position": "B:W99:B1"},
            "FEN 'B:W99:B1': expected squares from 1 to 32",
        ),
        ("legal_moves", {"position": "hello\n\x1b[1mworld" * 99}, "expected"),
        ("make_move", {"move": "1-5"}, "'1-5' is illegal here (legal: 9-13"),
        (
            "evaluate",
            {"position": "W:W:B1"},
            "expected a game in progress, found one that is over: ",
        ),
        ("evaluate", {"lines": "many"}, "lines: Input should be a valid integer"),
        ("explain", {"move": "x"}, "'x' is not a move such as 11-15"),
        ("analyse", {"pdn": ""}, "expected"),
        ("castle", {}, "Unknown tool: castle"),
    ],
)
def test_errors_are_one_line(server, tool, arguments, error):
    async def work(client, call):
        answer = await call(tool, **arguments)
        assert answer.startswith("error: ")
        assert error in answer
        assert len(answer) < 420
        assert answer.isprintable()
        assert "Traceback" not in answer

    session(server, work)


def test_a_missing_sdk_is_named_with_the_command_that_installs_it(ckai, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    status, _, err = ckai("mcp")
    assert (status, "install it with pip install 'ckai[mcp]'" in err) == (1, True)


@pytest.mark.slow
@pytest.mark.programs
def test_the_program_serves_a_client_over_its_standard_streams(tmp_path):
    async def work(client, call):
        found = await call("legal_moves", position="1. 11-15 22-18 *")
        assert found["legal_moves"] == ["15x22"]
        assert "score" in await call("evaluate", position=found["pdn"])

    arguments = ["-c", "from ckai.cli.main import main; main()", "mcp"]
    parameters = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    with (tmp_path / "err").open("w") as err:
        session(mcp.stdio_client(parameters, errlog=err), work)
    assert "Traceback" not in (tmp_path / "err").read_text()
