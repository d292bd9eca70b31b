"""The script of the page, run by node in a browser without a screen; skipped without node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ckai.cli.pages.board import measures
from ckai.cli.web.state import drawn_games, game_of, state_of
from ckai.cli.web.table import Table
from ckai.rl.games.registry import get_game

ROOT = Path(__file__).parents[2]
BROWSER = ROOT / "tests" / "support" / "browser.mjs"
CHECKERS = get_game("checkers")
NODE = shutil.which("node")
HEAD = """
import assert from "node:assert/strict";
import { all, button, find, MESSAGES, opened, page, text } from "./browser.mjs";
import { happens, place, settled, sockets, wait } from "./browser.mjs";
const { state } = MESSAGES;
"""

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")


@pytest.fixture(scope="module")
def messages():
    """What the server says at the beginning of a game."""
    table = Table("KEY", CHECKERS)
    analyse = {"on": False, "lines": 3, "player": "ckai"}
    return {
        "welcome": {
            "type": "welcome",
            "games": [game_of(spec) for spec in drawn_games()],
            "players": [
                {"game": "checkers", "spec": "random", "name": "Random", "group": "other", "note": ""}
            ],
            "networks": [{"game": "checkers", "name": "ckai", "note": ""}],
            "controls": ["", "5m+3s"],
            "ready": True,
        },
        "state": state_of(table, None, thinking=None, analyse=analyse, nodes=True),
        "search": {
            "type": "search",
            "tree": table.tree.key,
            "node": 0,
            "visits": 9,
            "seconds": 1.0,
            "black": 0.8,
            "depth": 3,
            "lines": [
                {
                    "move": "11-15",
                    "visits": 9,
                    "black": 0.8,
                    "proven": None,
                    "plies": None,
                    "pv": [{"move": "11-15", "path": [11, 15], "changes": {"11": "", "15": "b"}}],
                }
            ],
            "priors": [{"move": "11-15", "path": [11, 15], "prior": 0.4, "visits": 9}],
        },
    }


@pytest.fixture
def script(tmp_path, messages):
    """Runs a script beside the modules of the page; it fails with what the script says."""
    for path in [
        *(ROOT / "cli" / "web" / "static").glob("*.js"),
        ROOT / "cli" / "pages" / "static" / "board.js",
        BROWSER,
    ]:
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "messages.json").write_text(json.dumps(messages))

    def run(text):
        (tmp_path / "test.mjs").write_text(HEAD + text)
        done = subprocess.run([NODE, "test.mjs"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


# --- the connection ------------------------------------------------------------------------------------


def test_the_address_has_the_key_of_the_game_that_the_server_began(script):
    script("""
        let socket = await page("#play/GONE");
        socket.open();
        assert.equal(socket.asked("hello")[0].table, "GONE");
        socket.say({ ...MESSAGES.welcome, table: "NEW" });
        await socket.answer("hello", { table: "NEW" });
        assert.equal(location.hash, "#play/NEW");
        socket.gone();
        wait();
        socket = sockets[1];
        socket.open();
        assert.equal(socket.asked("hello")[0].table, "NEW");
    """)


def test_a_game_that_was_opened_elsewhere_is_not_taken_back_unasked(script):
    script("""
        const first = await opened();
        first.gone();
        wait();
        await sockets[1].greet();
        sockets[1].gone(4000);
        happens("online");
        wait();
        assert.equal(sockets.length, 2);
    """)


def test_a_network_that_is_there_again_is_used_at_once(script):
    script("""
        const socket = await opened();
        socket.gone();
        happens("online");
        happens("online");
        assert.equal(sockets.length, 2);
    """)


def test_what_failed_is_shown(script):
    script("""
        const socket = await page("#play");
        await socket.greet();
        socket.say({ type: "status", text: "the network cannot be loaded: no", ready: false });
        assert.match(text("[id=banner]"), /no$/);
        socket.say({ type: "status", text: "", ready: true });
        assert.equal(find("[id=banner]").hidden, true);
        socket.say({ type: "status", text: "the curve failed", ready: true });
        assert.equal(text("[id=toast]"), "the curve failed");
    """)


# --- games that take the place of others ---------------------------------------------------------------


def test_the_search_of_another_game_is_not_shown(script):
    script("""
        const socket = await opened("analysis", { analyse: { on: true, lines: 3, player: "ckai" } });
        socket.say(MESSAGES.search);
        assert.equal(all(".lines li").length, 1);
        assert.equal(all(".arrow").length, 1);
        socket.say({ ...state, tree: "other" });
        assert.equal(all(".lines li").length, 0);
        assert.equal(all(".arrow").length, 0);
        assert.equal(find(".value-bar").getAttribute("aria-label"), "No value yet");
        socket.say(MESSAGES.search);
        assert.equal(all(".lines li").length, 0);
    """)


def test_a_comment_names_the_game_that_it_was_typed_for(script):
    script("""
        const socket = await opened("analysis");
        const field = find(".comment-field");
        socket.gone();
        field.value = "mine";
        field.send("input");
        wait();
        await sockets[1].greet();
        sockets[1].say({ ...state, tree: "other" });
        const { tree, node, text: typed } = sockets[1].asked("comment")[0];
        assert.deepEqual([tree, node, typed], [state.tree, 0, "mine"]);
        await sockets[1].refuse("comment", "another game");
        assert.equal(text("[id=toast]"), "another game");
        assert.equal(field.value, "");
    """)


FOUND = """
const found = {
  encoding: null, planes: [], filters: null, squares: [], growth: [],
  value: { blackBefore: 0.5, blackAfter: 0.5 },
  moves: [{ move: "11-15", path: [11, 15], before: 0.6, after: 0.5 }],
};
"""


def test_a_look_inside_is_of_the_position_that_it_was_asked_for(script):
    script(
        FOUND
        + """
        const socket = await opened("inside");
        button("Look inside").click();
        socket.say({ ...state, tree: "other" });
        await socket.answer("look", found);
        assert.equal(text(".looked"), "The position has changed: look again.");
        assert.equal(all(".heat").length, 0);
        button("Look inside").click();
        await socket.answer("look", found);
        assert.equal(all(".heat").length, 1);
        socket.say(state);
        assert.equal(all(".heat").length, 0);
    """
    )


# --- analysis ------------------------------------------------------------------------------------------


# --- the board and the views ---------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_not_read_for_ever(script):
    script("""
        const socket = await opened("games");
        await socket.refuse("list", "load a file first");
        button("Paste").click();
        button("Load").click();
        assert.equal(text(".count"), "Reading pasted.pdn …");
        await socket.refuse("load", "no games");
        assert.equal(text(".count"), "");
        assert.equal(text("[id=toast]"), "no games");
    """)


def test_rows_that_did_not_come_are_asked_for_again(script):
    script("""
        const socket = await opened("games");
        const row = { black: "A", white: "B", result: "*", event: "", date: "", plies: 3 };
        const rows = (first) => Array.from({ length: 100 }, (_, i) => ({ ...row, index: first + i }));
        await socket.answer("list", { total: 200, count: 200, rows: rows(0) });
        find(".game-scroll").scrollTop = 6600;
        find(".game-scroll").send("scroll");
        assert.deepEqual(socket.asked("list").map((each) => each.offset), [0, 100]);
        socket.gone();
        wait();
        await settled();
        await sockets[1].greet();
        assert.deepEqual(sockets[1].asked("list").map((each) => each.offset), [100]);
        await sockets[1].answer("list", { total: 200, count: 200, rows: rows(100) });
        assert.ok(find("[data-key=150]"));
    """)


# --- the page of a report ------------------------------------------------------------------------------


def test_keys_go_to_the_game_that_fills_the_screen(script, tmp_path):
    pages = ROOT / "cli" / "pages" / "static"
    (tmp_path / "report.js").write_text((pages / "board.js").read_text() + (pages / "report.js").read_text())
    game = {"positions": [32 * "."] * 3, "paths": [[]] * 3, "texts": ["", "1", "2"], "lines": {}}
    data = json.dumps({"measures": measures(CHECKERS.drawn_layout()), "games": [game, game]})
    script(f"""
        let seen;
        globalThis.IntersectionObserver = class {{
          constructor(work) {{ seen = work; }}
          observe() {{}}
          unobserve() {{}}
        }};
        place("script", {{ id: "data" }}, {data!r});
        place("input", {{ id: "filter" }});
        const part = (tag, name, ...children) => place(tag, {{ class: name }}, ...children);
        const sections = [0, 500].map((top, i) => {{
          const curve = part("svg", "curve", part("line", "cursor"));
          const made = part("section", "game", part("svg", "board"), curve, part("p", "text"));
          made.dataset.game = i;
          made.box = {{ top, bottom: top + 500 }};
          return made;
        }});
        await import("./report.js");
        seen(sections.map((target) => ({{ target, isIntersecting: true }})));
        const texts = () => sections.map((each) => each.querySelector(".text").textContent);
        assert.deepEqual(texts(), ["2", "2"]);
        document.body.send("keydown", {{ key: "ArrowLeft" }});
        assert.deepEqual(texts(), ["1", "2"]);
        sections[1].querySelector(".text").click();
        document.body.send("keydown", {{ key: "ArrowLeft" }});
        assert.deepEqual(texts(), ["1", "1"]);
    """)
