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


def test_the_page_connects_where_nothing_can_be_stored(script):
    script("""
        const refuse = () => { throw new Error("switched off"); };
        globalThis.sessionStorage = { getItem: refuse, setItem: refuse };
        const socket = await page();
        await socket.greet("NEW");
        socket.say(state);
        assert.equal(location.hash, "#play/NEW");
        assert.ok(button("New game"));
    """)


def test_a_socket_from_before_says_nothing_any_more(script):
    script("""
        const first = await opened();
        first.gone(4000);
        assert.match(text("[id=banner]"), /another tab/);
        const again = find("[id=banner] button");
        again.click();
        again.click();
        const [, second, third] = sockets;
        await third.greet();
        second.readyState = 1;
        second.onopen();
        second.gone(4000);
        assert.equal(find("[id=banner]").hidden, true);
        button("New game").click();
        button("Start").click();
        assert.equal(third.asked("new").length, 1);
        assert.equal(sockets.length, 3);
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


def test_experts_are_asked_again_for_another_game(script):
    script("""
        const socket = await opened("analysis");
        button("Experts").click();
        assert.equal(socket.asked("experts").length, 1);
        socket.say(state);
        assert.equal(socket.asked("experts").length, 1);
        socket.say({ ...state, tree: "other" });
        assert.equal(socket.asked("experts").length, 2);
    """)


def test_the_arrow_of_a_hint_goes_with_the_game(script):
    script("""
        const socket = await opened("play", { mode: "play" });
        button("Hint").click();
        await socket.answer("hint", { move: "11-15", path: [11, 15] });
        assert.equal(all(".arrow").length, 1);
        socket.say({ ...state, mode: "play", tree: "other" });
        assert.equal(all(".arrow").length, 0);
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


def test_a_look_inside_waits_for_its_view(script):
    script(
        FOUND
        + """
        const socket = await opened("inside");
        button("Look inside").click();
        find("nav a[href=#play]").click();
        await socket.answer("look", found);
        assert.equal(all(".heat").length, 0);
        find("nav a[href=#inside]").click();
        assert.equal(all(".heat").length, 1);
        assert.equal(all(".arrow").length, 1);
    """
    )


# --- analysis ------------------------------------------------------------------------------------------


def test_a_failed_analysis_says_why(script):
    script("""
        const socket = await opened("analysis", { analyse: { on: true, lines: 3, player: "ckai" } });
        const { tree, node } = state;
        socket.say({ type: "search", tree, node, final: true, reason: "error", text: "no network" });
        assert.equal(text(".engine-note"), "no network");
    """)


def test_nothing_is_searched_where_the_game_is_over(script):
    script("""
        const outcome = { text: "White won", winner: "white", result: "0-1", reason: "no_moves" };
        await opened("analysis", { outcome, legal: [], analyse: { on: true, lines: 3, player: "ckai" } });
        assert.equal(text(".engine-note"), "");
    """)


def test_a_preview_ends_with_its_lines(script):
    script("""
        const socket = await opened("analysis");
        socket.say(MESSAGES.search);
        find(".lines .pv-move").send("pointerenter", { pointerType: "mouse" });
        assert.ok(find(".on-stage").classList.contains("preview"));
        socket.say({ ...state, tree: "other" });
        assert.ok(!find(".on-stage").classList.contains("preview"));
    """)


def test_the_curve_is_stopped_alone(script):
    script("""
        const socket = await opened("analysis");
        button("Value of every move").click();
        await socket.answer("curve", { nodes: 3 });
        button("3 positions left · Stop").click();
        await socket.answer("endcurve");
        assert.equal(socket.asked("stop").length, 0);
        assert.ok(button("Value of every move"));
    """)


# --- the board and the views ---------------------------------------------------------------------------


def test_the_side_that_thinks_is_marked(script):
    script("""
        await opened("play", { mode: "play", turn: "black", thinking: "white" });
        const [white, black] = all(".strip").sort((a, b) => (a.textContent < b.textContent ? 1 : -1));
        assert.deepEqual([white, black].map((each) => each.querySelectorAll(".thinking").length), [1, 0]);
    """)


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


def test_a_link_to_a_view_opens_in_another_tab_if_that_is_wanted(script):
    script("""
        await opened();
        for (const key of ["ctrlKey", "shiftKey", "metaKey"]) {
          assert.ok(!find("nav a[href=#analysis]").click({ [key]: true }).defaultPrevented);
        }
        assert.ok(find("[id=panel] .play-view"));
        assert.ok(find("nav a[href=#analysis]").click().defaultPrevented);
        assert.ok(find("[id=panel] .analysis-view"));
    """)


@pytest.mark.parametrize(
    ("view", "name", "more"),
    [
        ("setup", "White", ""),
        ("inside", "After the search", "button('Look inside').click(); await socket.answer('look', found);"),
        ("games", "Event", "await socket.answer('list', { total: 1, count: 1, rows: [] });"),
        ("play", "Connect-4", "button('New game').click();"),
    ],
)
def test_the_focus_stays_on_a_button_that_is_drawn_again(script, view, name, more):
    script(
        FOUND
        + f"""
        const socket = await opened("{view}");
        {more}
        const before = button("{name}");
        before.click();
        assert.ok(!before.isConnected);
        assert.ok(document.activeElement.textContent.startsWith("{name}"));
    """
    )


def test_the_focus_stays_on_a_sign(script):
    script("""
        const [root] = state.nodes;
        const nodes = [{ ...root, children: [1] }, { ...root, id: 1, parent: 0, move: "11-15" }];
        const after = { ...state, nodes, node: 1, line: [0, 1] };
        const socket = await opened("analysis", after);
        for (const name of ["blunder", "Delete from here", "Download as PDN"]) {
          button(name).focus();
          socket.say(after);
          assert.equal(document.activeElement, button(name));
        }
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
