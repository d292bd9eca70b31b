"""The page of the board in a real browser; skipped without Chromium and Playwright."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from board_browser import CHROMIUM, Board, served
from click.testing import CliRunner

from ckai.cli import board as board_command
from ckai.game import Game

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "cli" / "web" / "static"
MAX_BYTES = 300_000
WHOLE = """
10-14 22-17 12-16 17x10 6x15 23-19 16x23 26x19x10 7x14 24-19 11-15 19x10 1-6 10x1 2-6 1x10x17 9-14 17x10
3-7 10x3x12 4-8 12x3 5-9 21-17 9-14 17x10
"""
GAME = WHOLE.split()
"""A whole game with crownings and captures of several jumps; White wins."""
HOSTILE = """[Event "<script>hacked = 1</script>"]
[Black "<img src=x onerror='hacked = 1'>"]
[White "Somebody"]
[Result "*"]

1. 11-15 {<b onclick="hacked = 1">bold</b>} 23-19 *
"""
pytestmark = pytest.mark.programs


def test_the_page_is_small():
    shared = [ROOT / "cli" / "pages" / "static" / name for name in ("board.js", "board.css", "palette.css")]
    files = [path for path in [*STATIC.rglob("*"), *shared] if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("board")


@pytest.fixture(scope="module")
def address(folder):
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(chromium):
    """A fresh profile that asks for no motion, so that a move is over at once."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(120_000)  # the first search may compile
    yield context
    context.close()


@pytest.fixture
def board(context, address):
    board = Board(context, address).open()
    yield board
    assert board.problems == []
    assert all(each.startswith((address, "blob:")) for each in board.addresses)


def path_of(move):
    return [int(square) for square in re.split("[-x]", move)]


def play(board, moves, hand=None):
    for count, move in enumerate(moves, 1):
        (hand or board.click_squares)(path_of(move))
        board.until_moves(count)


def until_saved(board, folder, text):
    """Wait until a file of `games/` has a text; what it holds."""
    for _ in range(1200):
        for path in (folder / "games").glob("*.pdn"):
            if text in (found := path.read_text()):
                return found
        assert not board.problems
        board.page.wait_for_timeout(50)
    raise AssertionError(f"no game with {text!r}")


# --- playing -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("way", ["clicks", "drags"])
def test_a_whole_game_is_played_and_saved(board, folder, way):
    board.new_game("Two people")
    play(board, GAME, board.click_squares if way == "clicks" else board.drag_squares)
    board.page.wait_for_selector(".status.over")
    assert board.status() == "White won: Black has no pieces left (0-1)"
    assert board.moves() == GAME
    assert not any(name.startswith("black") for name in board.pieces().values())
    saved = Game.from_pdn(until_saved(board, folder, "0-1\n"))
    assert ([str(move) for move in saved.moves], saved.headers["Result"]) == (GAME, "0-1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "theme"), [(390, "dark"), pytest.param(820, "light", marks=pytest.mark.slow)]
)
def test_a_game_against_a_level_on_any_screen(chromium, address, width, theme):
    """With motion: the men that move and fade leave the board as it should be."""
    context = chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=theme)
    context.set_default_timeout(120_000)
    board = Board(context, address).open()
    board.view("play")
    board.button("New game").click()
    board.page.get_by_label("Strength of the opponent").fill("1")
    board.until_text(".new-game .note", "Level 1, beginner")
    board.button("White").click()
    board.button("Start").click()
    board.until_moves(1)
    for count in (3, 5):
        board.page.wait_for_function("() => document.getAnimations().length === 0")
        board.until_text(".status", "Your move")
        game = Game.from_pdn(" ".join(board.moves()) + " *")
        board.click_squares(game.position.legal_moves()[0].path)
        board.until_moves(count)
    board.page.wait_for_function("() => document.getAnimations().length === 0")
    game = Game.from_pdn(" ".join(board.moves()) + " *")
    names = {"b": "black man", "B": "black king", "w": "white man", "W": "white king"}
    assert board.pieces() == {square: names[letter] for square, letter in game.position.pieces().items()}
    assert board.problems == []
    context.close()


@pytest.mark.slow
def test_keys_and_names_are_enough_to_play(board):
    board.new_game("Two people")
    board.square(11).focus()
    board.page.keyboard.press("Enter")
    board.page.keyboard.press("ArrowDown")
    name = board.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert name in ("square 15, empty", "square 16, empty")
    board.page.keyboard.press("Enter")
    board.until_moves(1)
    assert "Black: 11 to" in board.page.inner_text("#live")
    board.page.locator(".moves:visible").focus()
    board.page.keyboard.press("ArrowLeft")
    board.until_text(".status", "Looking back")
    assert board.pieces()[11] == "black man"


@pytest.mark.slow
def test_moves_are_taken_back_and_the_game_is_given_up_and_played_again(board):
    board.new_game("Two people")
    play(board, ["11-15", "23-19", "8-11"])
    board.button("Take back").click()
    board.until_moves(2)
    board.button("Hint").click()
    board.until_text("#toast", "A good move: ")
    assert board.page.locator(".arrow.best").count() > 0
    board.button("Resign").click()
    board.button("Keep playing").click()
    board.button("Resign").click()
    board.page.locator("dialog .danger").click()
    board.until_text(".status", "White won: Black resigned (0-1)")
    board.button("Rematch").click()
    board.until_moves(0)
    play(board, ["11-15"])
    board.button("Offer a draw").click()
    board.until_text(".status", "drawn: agreed (1/2-1/2)")


@pytest.mark.slow
def test_the_time_runs_out_and_stands_still_while_the_page_is_away(board):
    board.view("play")
    board.button("New game").click()
    board.button("Two people").click()
    board.button("Other").click()
    board.page.get_by_label("Minutes").fill("0.1")
    board.page.get_by_label("Seconds a move").fill("0")
    board.button("Start").click()
    board.page.wait_for_timeout(1000)
    board.page.goto("about:blank")
    board.page.wait_for_timeout(3000)
    board.open()
    assert float(board.page.inner_text(".clock.runs")) > 3.5
    board.until_text(".status", "White won: Black is out of time (0-1)")


@pytest.mark.slow
def test_other_games_are_played_with_a_click(board, folder):
    board.new_game("Connect-4", "Two people")
    for count, column in enumerate((4, 4, 3), 1):
        board.press(f"column {column}, row 1")  # anywhere in the column
        board.until_moves(count)
    assert board.moves() == ["4", "4", "3"]
    board.page.reload()
    board.ready()
    board.until_moves(3)
    board.press("column 3, row 1")
    board.until_moves(4)
    board.new_game("9x9 Go", "Two people")
    board.press("column 5, row 5")
    board.until_moves(1)
    board.button("Pass").click()
    board.until_moves(2)
    board.button("Pass").click()
    board.page.wait_for_selector(".status.over")
    assert (board.moves(), board.status()[:9]) == (["E5", "pass", "pass"], "Black won")
    until_saved(board, folder, '[Game "connect4"]\n\n1. 4 4 2. 3 3 *')
    until_saved(board, folder, '[Game "go"]\n\n1. E5 pass 2. pass 1-0')


# --- nothing is lost -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_reload_or_another_tab_loses_nothing(board, context, address, folder):
    board.new_game("Two people")
    play(board, GAME[:5])
    before = board.pieces()
    board.page.reload()
    board.ready()
    assert (board.moves(), board.pieces(), board.status()) == (GAME[:5], before, "White to move")
    other = Board(context, address).open()  # the newest game
    assert other.moves() == GAME[:5]
    other.click_squares(path_of(GAME[5]))
    other.until_moves(6)
    board.until_moves(6)  # the newest wins here, too
    first = until_saved(other, folder, GAME[5] + " *")
    board.page.wait_for_timeout(500)
    board.click_squares(path_of(GAME[6]))
    assert until_saved(board, folder, GAME[6] + " *").startswith(first.removesuffix("*\n\n"))
    assert not [path for path in (folder / "games").glob("*.pdn") if path.read_text() == first]
    assert other.problems == []


@pytest.mark.slow
def test_a_lost_connection_comes_back_and_the_search_with_it(context, address):
    board = Board(context, address)
    sockets = []

    def pass_on(page_side):
        sockets.append(page_side)
        page_side.connect_to_server()

    board.page.route_web_socket(re.compile("/ws$"), pass_on)
    board.open().view("analysis")
    board.page.wait_for_selector(".lines li")
    sockets[0].close(code=1001)
    board.click_squares([11, 15])  # meanwhile one plays on
    board.until_moves(1)
    while len(sockets) < 2:
        board.page.wait_for_timeout(50)
    board.page.wait_for_selector(".lines li")
    assert board.page.locator("#toast.shown").count() == 0
    assert board.problems == []


# --- analysis ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_engine_is_on_and_every_value_is_the_same_number(board):
    board.view("analysis")
    board.page.wait_for_selector(".lines li >> nth=2")
    assert board.page.locator(".arrow").count() >= 3
    assert board.page.input_value(".engine-head select >> nth=0") == "alphabeta:ckai"
    board.page.get_by_role("switch", name="Engine").click()
    chip = (
        board.page.inner_text(".lines .chip-of-value >> nth=0")
        if board.page.locator(".lines li").count()
        else ""
    )
    label = board.page.get_attribute(".value-bar", "aria-label")
    assert re.fullmatch(r"Expected score of Black: \d+%", label)
    assert chip in ("", label.removeprefix("Expected score of Black: "))
    board.button("What the numbers mean").click()
    board.until_text("#toast", "60% means: of 100 games")
    board.view("inside")
    board.button("Look inside").click()
    board.page.wait_for_selector(".planes .small-board")
    assert board.page.locator(".mark.heat").count() > 0


@pytest.mark.slow
def test_variations_comments_signs_and_arrows(board, folder):
    board.new_game("Two people")
    play(board, ["11-15", "23-19", "8-11"])
    board.button("Analyse").click()
    board.page.locator(".analysis-view .move >> nth=0").click()
    board.click_squares([22, 17])
    board.until_moves(4)
    board.button("interesting move").click()
    board.page.fill(".comment-field", "a try")
    board.page.wait_for_selector(".variation .comment")
    assert board.page.inner_text(".variation .move") == "22-17!?"
    board.page.mouse.move(*board.center(9))
    board.page.mouse.down(button="right")
    board.page.mouse.move(*board.center(14))
    board.page.mouse.up(button="right")
    assert board.page.locator(".arrow.mine").count() == 1
    board.page.reload()
    board.ready()
    assert board.page.locator(".arrow.mine").count() == 1
    board.button("Save").click()
    board.until_text("#toast", "Saved as games/")
    name = board.page.inner_text("#toast").removeprefix("Saved as ")
    assert "23-19 (1. ... 22-17 $5 {a try})" in " ".join((folder / name).read_text().split())
    board.button("Make this the main line").click()
    board.until_text(".variation .move", "23-19")
    board.button("Delete from here").click()
    board.page.locator("dialog .danger").click()
    board.until_moves(3)
    board.button("Delete from here").click()  # a move of the game, which waits to be resumed
    board.page.locator("dialog .danger").click()
    board.until_text("#toast", "Moves of the game in progress are not deleted")


@pytest.mark.slow
def test_a_position_is_set_up_by_hand_and_as_text(board):
    board.view("setup")
    board.button("Empty the board").click()
    board.button("black king").click()
    board.click_squares([15])
    board.button("white man").click()
    board.click_squares([22, 30])
    board.drag(30, 31)
    board.until_text(".wide-field input", "B:W22,31:BK15")
    text = board.page.locator(".wide-field input")
    text.fill("W:W99:B1")
    text.press("Enter")
    board.page.wait_for_selector(".message.error")
    assert "99" in board.page.inner_text(".message")
    text.fill("W:WK22:B9,10,17,18")
    text.press("Enter")
    board.until_text(".message", "2 legal moves")
    board.button("Analyse").click()
    board.page.wait_for_selector(".analysis-view")
    board.click_squares([22, 13, 6, 15, 22])  # around, back to where it began
    board.until_moves(1)
    assert (board.moves(), board.pieces()) == (["22x13x6x15x22"], {22: "white king"})


# --- games ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_of_a_thousand_games_and_your_own(board, folder):
    games = re.split(r"\n(?=\[Event )", (ROOT / "data" / "sample.pdn").read_text())[1:]
    text = "\n".join((games * 3)[:999]) + "\n" + HOSTILE
    board.view("games")
    file = {"name": "many.pdn", "mimeType": "text/plain", "buffer": text.encode()}
    board.page.set_input_files("input[type=file]", files=[file])
    board.until_text(".count", f"{min(1000, 3 * len(games) + 1)}" if 3 * len(games) < 999 else "1,000 games")
    assert board.page.locator(".game-row").count() < 250  # the others come as one scrolls
    board.page.fill("input[type=search]", "onerror")
    board.until_text(".count", "1 of ")
    board.page.click(".open-game")
    board.page.wait_for_selector(".analysis-view .move")
    assert board.moves() == ["11-15", "23-19"]
    names = board.page.inner_text(".strip >> nth=0") + board.page.inner_text(".strip >> nth=1")
    assert "<img src=x" in names
    assert '<b onclick="hacked = 1">bold</b>' in board.page.inner_text(".moves:visible .comment")
    assert board.page.evaluate("window.hacked") is None
    board.new_game("Two people")
    play(board, GAME[:3])
    until_saved(board, folder, "1. 10-14 22-17 2. 12-16 *")
    board.view("games")
    board.button("Your games").click()
    board.page.locator(".game-row", has_text="Denny").first.locator(".open-game").click()
    board.page.wait_for_selector(".analysis-view .move >> nth=2")


@pytest.mark.slow
def test_mistakes_are_asked_for_and_the_game_before_comes_back(board, folder):
    board.new_game("Two people")
    play(board, ["11-15"])
    mistakes = (
        '[Event "a - human, 1... 14-10"]\n[Due "2026.01.01"]\n[Days "0"]\n[FEN "W:W14,32:B6,1"]\n'
        '1. ... 32-28 (14-10 $4) *\n\n[Event "human - a, 1. 19-23"]\n[Due "2026.01.01"]\n[Days "0"]\n'
        '[FEN "B:W27,32:B1,19"]\n1. 19-24 (19-23 $4) *\n'
    )
    (folder / "mistakes.pdn").write_text(mistakes)
    board.view("learn")
    board.until_text(".status", "14-10 was a blunder. Find a better move.")
    board.click_squares([14, 10])
    board.until_text(".explained", "No. 14-10 is answered by 6x15")
    board.button("Try again").click()
    board.click_squares([32, 28])
    board.until_text(".explained", "Right. Better was 32-28")
    board.button("Next").click()
    board.until_text(".status", "19-23 was a blunder")
    board.button("Show it").click()
    board.until_text(".explained", "Better was 19-24")
    board.button("Next").click()
    board.until_text(".status", "No mistake is due.")
    board.view("play")
    board.until_moves(1)
    assert (folder / "mistakes.pdn").read_text().count('[Days "1"]') == 2
    (folder / "mistakes.pdn").unlink()
    board.view("learn")
    board.until_text(".status", "No mistakes to learn from yet")


@pytest.mark.slow
def test_the_exported_page_plays_and_analyses_without_a_server_or_a_network(context, tmp_path):
    made = CliRunner().invoke(board_command.command, ["--export", str(tmp_path / "site")])
    assert (made.exit_code, made.output.count("\n")) == (0, 1)
    again = CliRunner().invoke(board_command.command, ["--export", str(tmp_path / "site")])
    assert (again.exit_code, "expected a new or an empty folder" in again.output) == (1, True)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        board = Board(context, f"http://127.0.0.1:{server.server_port}/").open()
        board.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        server.shutdown()
    context.set_offline(True)
    board.page.reload()
    board.ready()
    board.view("play")
    board.button("New game").click()
    board.page.get_by_label("Strength of the opponent").fill("8")
    board.button("Start").click()
    for count in (2, 4):
        board.page.wait_for_selector(".cell.ready")
        game = Game.from_pdn(" ".join(board.moves()) + " *") if board.moves() else Game()
        board.click_squares(game.position.legal_moves()[-1].path)
        board.until_moves(count)
    board.view("analysis")
    lines = min(3, len(Game.from_pdn(" ".join(board.moves()) + " *").position.legal_moves()))
    board.page.wait_for_selector(f".lines li >> nth={lines - 1}")
    assert board.page.locator("nav a").count() == 4
    board.view("games")
    board.until_text(".count", "1 game")
    assert board.problems == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "theme"),
    [(390, "light"), pytest.param(820, "dark", marks=pytest.mark.slow), (1440, "dark")],
)
def test_every_view_fits_and_can_be_read_by_everyone(chromium, address, width, theme):
    checker = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    board = Board(context, address).open()

    def check(name):
        board.page.wait_for_timeout(200)
        found = checker.run(board.page).response["violations"]
        grave = [each["id"] for each in found if each["impact"] in ("serious", "critical")]
        assert (name, grave) == (name, [])
        assert board.page.evaluate("document.documentElement.scrollWidth") <= width

    for view in ("play", "analysis", "setup", "games", "learn", "inside"):
        board.view(view)
        check(view)
    board.view("play")
    board.button("New game").click()
    board.page.click(".new-game summary")
    check("new game")
    assert board.problems == []
    context.close()
