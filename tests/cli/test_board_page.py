"""The page of the board in a real browser, skipped without Chromium and Playwright, and its texts."""

import json
import re
import shutil
from pathlib import Path

import pytest
from board_browser import CHROMIUM, Board, served
from board_runs import played_run

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "cli" / "web" / "static"
SCRIPTS = {path.name: path.read_text() for path in STATIC.glob("*.js")}
MAX_BYTES = 300_000
GAME = """
10-14 22-17 12-16 17x10 6x15 23-19 16x23 26x19x10 7x14 24-19 11-15 19x10 1-6 10x1 2-6 1x10x17 9-14 17x10
3-7 10x3x12 4-8 12x3 5-9 21-17 9-14 17x10
"""
"""A whole game with crownings and captures of several jumps; White wins."""
SHORT = GAME.split()
HOSTILE = """[Event "<script>hacked = 1</script>"]
[Black "<img src=x onerror='hacked = 1'>"]
[White "White"]
[Result "*"]

1. 11-15 {<b onclick="hacked = 1">bold</b>} 23-19 *
"""

# --- texts ---------------------------------------------------------------------------------------------


def test_every_label_is_there_and_is_used():
    labels = SCRIPTS["labels.js"]
    begin, end = labels.index("const LABELS"), labels.index("\n};")
    there = re.findall(r'"([^"]+)":', labels[begin:end])
    assert len(there) == len(set(there))
    rest = labels[end:] + "".join(text for name, text in SCRIPTS.items() if name != "labels.js")
    for key in re.findall(r'\bt\("([^"]+)"', rest):
        assert key in there, key
    quoted = set(re.findall(r'"([^"\n]*)"', rest)) | set(re.findall(r"\b(\w+):", rest))
    composed = {f"nag {n}" for n in range(1, 7)} | {"to light", "to dark"}
    composed |= {"levels", "networks", "search", "other", "selfplay", "pretraining"}  # words of the server
    assert [key for key in there if key not in quoted | composed] == []


def test_nothing_of_the_page_is_foreign_or_made_from_text():
    for name, text in SCRIPTS.items():
        code = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|https?://", code
        ), name
    assert not re.search(r"https?:|style=|<script>", (STATIC / "index.html").read_text())


def test_the_files_of_the_page_are_small():
    pages = ROOT / "cli" / "pages" / "static"
    files = [*STATIC.iterdir(), *(pages / name for name in ("board.js", "board.css", "palette.css"))]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES


# --- a browser -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(tmp_path_factory.mktemp("board")) as address:
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
    assert all(each.startswith(address) or each.startswith("blob:") for each in board.addresses)


def path_of(move):
    return [int(square) for square in re.split("[-x]", move)]


def play(board, moves, hand):
    for count, move in enumerate(moves, 1):
        hand(path_of(move))
        board.until_moves(count)


pytestmark = pytest.mark.programs


@pytest.mark.parametrize("way", ["clicks", pytest.param("drags", marks=pytest.mark.slow)])
def test_a_whole_game(board, way):
    board.new_game("Two people")
    play(board, SHORT, board.click_squares if way == "clicks" else board.drag_squares)
    board.page.wait_for_selector(".status.over")
    assert board.status() == "White won: Black has no pieces left (0-1)"
    assert board.moves() == SHORT
    assert "white king" in board.pieces().values()
    assert not any(name.startswith("black") for name in board.pieces().values())


@pytest.mark.slow
def test_men_that_move_and_fade_leave_the_board_as_it_should_be(chromium, address):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    board = Board(context, address).open()
    board.new_game("Two people")
    play(board, SHORT[:16], board.click_squares)
    assert board.page.evaluate("document.getAnimations().length") > 0
    board.page.wait_for_function("() => document.getAnimations().length === 0")
    drawn = board.page.eval_on_selector_all(".man", "men => men.map(man => man.dataset.piece)")
    names = {"b": "black man", "B": "black king", "w": "white man", "W": "white king"}
    assert sorted(names[letter] for letter in drawn) == sorted(board.pieces().values())
    assert board.problems == []
    context.close()


@pytest.mark.slow
def test_only_legal_squares_are_lit_hop_by_hop(board):
    board.new_game("Two people")
    play(board, SHORT[:7], board.click_squares)
    targets = board.page.locator(".target")
    board.click_squares([26])
    assert targets.count() == 1
    board.click_squares([19])  # the first hop: the man stands there and has to go on
    assert targets.count() == 1
    assert len(board.moves()) == 7
    board.click_squares([26])  # back again
    assert targets.count() == 0
    assert board.pieces()[26] == "white man"
    board.click_squares([26, 10])  # the whole way at once, as there is one only
    board.until_moves(8)
    assert board.moves()[-1] == "26x19x10"


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
    board.page.locator(".moves").focus()
    board.page.keyboard.press("ArrowLeft")
    board.until_text(".status", "Looking back")
    assert board.pieces()[11] == "black man"


@pytest.mark.slow
def test_a_move_is_shown_before_the_server_knows_it_and_put_back_if_refused(context, address):
    board = Board(context, address)

    def pass_on(page_side):
        server = page_side.connect_to_server()

        def from_page(text):
            message = json.loads(text)
            if message["type"] == "play":
                shown.append(board.pieces())
                answer = {"type": "error", "id": message["id"], "text": "not now"}
                page_side.send(json.dumps(answer))
            else:
                server.send(text)

        page_side.on_message(from_page)

    shown = []
    board.page.route_web_socket(re.compile("/ws$"), pass_on)
    board.open().new_game("Two people")
    board.click_squares([11, 15])
    board.page.wait_for_selector("#toast.shown")
    assert board.page.inner_text("#toast") == "not now"
    assert shown[0][15] == "black man"
    assert board.pieces()[11] == "black man"
    assert 15 not in board.pieces()


def test_a_reload_in_mid_game_loses_nothing(board):
    board.new_game("Two people")
    play(board, SHORT[:5], board.click_squares)
    before = board.pieces()
    board.page.reload()
    board.ready()
    board.until_moves(5)
    assert board.pieces() == before
    assert board.moves() == SHORT[:5]


@pytest.mark.slow
def test_a_lost_connection_comes_back(context, address):
    board = Board(context, address)
    sockets = []

    def pass_on(page_side):
        sockets.append(page_side)
        page_side.connect_to_server()

    board.page.route_web_socket(re.compile("/ws$"), pass_on)
    board.open().new_game("Two people")
    play(board, SHORT[:3], board.click_squares)
    sockets[0].close(code=1001)
    while len(sockets) < 2:
        board.page.wait_for_timeout(50)
    board.page.wait_for_timeout(300)
    assert board.moves() == SHORT[:3]
    board.click_squares(path_of(SHORT[3]))
    board.until_moves(4)
    assert board.problems == []


@pytest.mark.slow
def test_two_tabs_have_two_games(context, address):
    first, second = Board(context, address).open(), Board(context, address).open()
    first.new_game("Two people")
    second.new_game("Connect-4", "Two people")
    play(first, SHORT[:2], first.click_squares)
    second.cell("column 4, row 1").click(force=True)
    second.until_moves(1)
    assert (first.moves(), second.moves()) == (SHORT[:2], ["4"])
    second.page.goto(first.page.url)
    second.page.reload()
    second.ready()
    first.page.wait_for_selector("#banner:not([hidden])")
    assert "another tab" in first.page.inner_text("#banner")
    second.until_moves(2)


@pytest.mark.slow
def test_other_games_are_played_with_a_click(board):
    board.new_game("Connect-4", "Two people")
    for count, column in enumerate((4, 4, 3), 1):
        board.cell(f"column {column}, row 1").click(force=True)  # anywhere in the column
        board.until_moves(count)
    assert board.moves() == ["4", "4", "3"]
    board.new_game("Tic-tac-toe", "Two people")
    for count, number in enumerate((4, 0, 2), 1):
        board.page.locator(".cell").nth(number).click(force=True)
        board.until_moves(count)
    assert (
        board.page.locator(".letter").all_inner_texts() == ["X", "O", "X"]
        or board.page.locator(".letter").count() == 3
    )


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
    assert board.pieces() == {15: "black king", 22: "white man", 31: "white man"}
    text.fill("W:WK22:B9,10,17,18")
    text.press("Enter")
    board.until_text(".message", "2 legal moves")
    board.button("Analyse").click()
    board.page.wait_for_selector(".analysis-view")
    board.click_squares([22, 13, 6, 15, 22])  # around, back to where it began
    board.until_moves(1)
    assert board.moves() == ["22x13x6x15x22"]
    assert board.pieces() == {22: "white king"}


@pytest.mark.slow
def test_a_file_of_a_thousand_games(board):
    sample = (ROOT / "data" / "sample.pdn").read_text()
    games = re.split(r"\n(?=\[Event )", sample)[1:]
    text = "\n".join((games * 3)[:999]) + "\n" + HOSTILE.replace("White", "Somebody", 2)
    board.view("games")
    file = {"name": "many.pdn", "mimeType": "text/plain", "buffer": text.encode()}
    board.page.set_input_files("input[type=file]", files=[file])
    board.until_text(".count", "1000 of 1000")
    assert board.page.locator(".game-space .game-row").count() < 60  # the others come as one scrolls
    board.page.locator(".game-scroll").evaluate("list => list.scrollTop = 1e6")
    board.page.wait_for_selector(".game-row[aria-rowindex='1001']")
    board.page.fill("input[type=search]", "onerror")
    board.until_text(".count", "1 of 1000")
    board.page.click(".open-game")
    board.page.wait_for_selector(".analysis-view .move")
    assert board.moves() == ["11-15", "23-19"]
    assert "<img src=x" in board.page.inner_text(".strip >> nth=0") + board.page.inner_text(".strip >> nth=1")
    assert '<b onclick="hacked = 1">bold</b>' in board.page.inner_text(".moves .comment")
    assert board.page.evaluate("window.hacked") is None
    board.view("games")
    board.page.fill("input[type=search]", "")
    board.until_text(".count", "1000 of 1000")
    board.page.click(".open-game >> nth=0")
    board.page.wait_for_function("() => document.querySelectorAll('.analysis-view .move').length > 50")
    board.page.locator(".analysis-view .moves").focus()
    last = len(board.moves())
    for _ in range(3):
        board.page.keyboard.press("ArrowRight")
        board.page.wait_for_timeout(30)
    board.page.keyboard.press("End")
    board.page.wait_for_function(
        "n => document.querySelectorAll('.analysis-view .move')[n].ariaCurrent", arg=last - 1
    )


@pytest.mark.slow
def test_variations_comments_and_signs(board):
    board.new_game("Two people")
    play(board, ["11-15", "23-19", "8-11"], board.click_squares)
    board.button("Analyse").click()
    board.page.locator(".analysis-view .move >> nth=0").click()
    board.page.wait_for_selector('.cell[aria-label="square 23, white man"]')
    board.click_squares([22, 17])
    board.until_moves(4)
    board.button("interesting move").click()
    board.page.fill(".comment-field", "a try")
    board.page.wait_for_selector(".variation .comment")
    assert board.page.inner_text(".variation .move") == "22-17!?"
    board.button("Make this the main line").click()
    board.until_text(".variation .move", "23-19")
    board.button("Delete from here").click()
    board.page.locator("dialog .danger").click()
    board.until_moves(3)


@pytest.mark.slow
@pytest.mark.slow
def test_the_engine_says_what_it_thinks(board):
    board.view("analysis")
    board.page.get_by_role("switch", name="Engine").click()
    board.page.wait_for_selector(".lines li >> nth=2")
    assert board.page.locator(".arrow").count() >= 3
    board.page.hover(".lines li .pv-move >> nth=2")
    board.page.wait_for_selector(".on-stage.preview")
    board.page.mouse.move(5, 5)
    board.page.wait_for_selector(".on-stage:not(.preview)")
    board.page.get_by_role("tab", name="Priors").click()
    assert board.page.locator("#about-priors tbody tr").count() == 7
    board.page.get_by_role("switch", name="Engine").click()
    board.view("inside")
    board.button("Look inside").click()
    board.page.wait_for_selector(".planes .small-board")
    assert board.page.locator(".mark.heat").count() > 0


@pytest.mark.slow
def test_moves_are_taken_back_and_the_game_is_given_up_and_played_again(board):
    board.new_game("Two people")
    play(board, ["11-15", "23-19", "8-11"], board.click_squares)
    board.button("Take back").click()
    board.until_moves(2)
    board.button("Redo").click()
    board.until_moves(3)
    board.button("Hint").click()
    board.until_text("#toast", "A good move: ")
    assert board.page.locator(".arrow.best").count() > 0
    board.button("Resign").click()
    board.button("Keep playing").click()
    board.button("Resign").click()
    board.page.locator("dialog .danger").click()
    board.until_text(".status", "Black won: White resigned (1-0)")
    board.until_text(".details span:last-child", "Saved as games/game-")
    board.button("Rematch").click()
    board.until_moves(0)
    play(board, ["11-15"], board.click_squares)
    board.button("Offer a draw").click()
    board.until_text(".status", "drawn: agreed (1/2-1/2)")


@pytest.mark.slow
def test_a_player_answers_and_declines_or_accepts_a_draw(board):
    board.new_game("Tic-tac-toe", "X", "Random moves")
    board.page.locator(".cell").nth(4).click(force=True)
    board.until_moves(2)
    board.button("Offer a draw").click()
    board.page.wait_for_function(
        "() => document.querySelector('#toast').textContent === 'the draw is declined'"
        " || document.querySelector('.status.over')"
    )


def analyse_position(board, fen, *, legal_moves):
    board.view("setup")
    text = board.page.locator(".wide-field input")
    text.fill(fen)
    text.press("Enter")
    board.until_text(".message", f"{legal_moves} legal moves")
    board.button("Analyse").click()


@pytest.mark.slow
def test_a_crowning_is_spoken(board):
    analyse_position(board, "B:B25:W5", legal_moves=2)
    board.page.wait_for_selector(".analysis-view")
    board.click_squares([25, 30])
    board.until_text("#live", "Black: 25 to 30, is crowned")
    assert board.pieces()[30] == "black king"


@pytest.mark.slow
def test_a_piece_is_dragged_from_the_tray(board):
    board.view("setup")
    board.button("Empty the board").click()
    mouse = board.page.mouse
    board.button("white king").hover()
    mouse.down()
    mouse.move(*board.center(18), steps=4)
    mouse.up()
    board.until_text(".wide-field input", "B:WK18:B")
    board.drag(18, 22)
    board.until_text(".wide-field input", "B:WK22:B")
    mouse.move(*board.center(22))
    mouse.down()
    mouse.move(5, 300, steps=4)  # off the board
    mouse.up()
    board.until_text(".wide-field input", "B:W:B")


@pytest.mark.slow
def test_tables_say_who_wins(board):
    analyse_position(board, "W:WK18,K15:BK1", legal_moves=6)
    board.until_text(".analysis-view .details", "White wins in ")
    assert board.page.get_attribute(".value-bar", "aria-label") == "White is better, 100%"


@pytest.mark.slow
def test_a_line_of_the_engine_becomes_a_variation(board):
    board.view("analysis")
    board.page.get_by_role("switch", name="Engine").click()
    line = board.page.locator(".lines li >> nth=0").locator(".pv-move")
    line.nth(2).hover()  # what is being read stays, however far the search is
    moves = line.all_inner_texts()[:3]
    line.nth(2).click()
    board.until_moves(3)
    board.page.get_by_role("switch", name="Engine").click()
    assert board.moves() == moves


@pytest.mark.slow
def test_go_with_two_passes(board):
    board.open().new_game("9x9 Go", "Two people")
    board.page.locator(".cell").nth(40).click(force=True)
    board.until_moves(1)
    board.button("Pass").click()
    board.until_moves(2)
    board.button("Pass").click()
    board.until_moves(3)
    assert board.moves() == ["E5", "pass", "pass"]
    assert board.button("Pass").count() == 0
    assert board.status().startswith("Black won")
    board.button("Analyse").click()
    board.page.locator(".analysis-view button.move >> nth=0").click()
    board.page.wait_for_selector(".analysis-view button.move[aria-current]:text-is('E5')")
    board.page.locator(".cell").nth(41).click(force=True)
    analysed = "() => document.querySelectorAll('.analysis-view button.move').length"
    board.page.wait_for_function(f"{analysed} === 4")
    board.button("Pass").click()
    board.page.wait_for_function(f"{analysed} === 5")


@pytest.fixture(scope="module")
def runs_address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    played_run(folder, "connect4", "connect4")
    with served(folder) as address:
        yield folder, address


@pytest.mark.slow
def test_runs_are_shown_and_appear_while_they_go(context, runs_address):
    folder, address = runs_address
    board = Board(context, address).open()
    board.view("runs")
    board.page.wait_for_selector(".chart >> nth=3")
    board.until_text(".run-head .badge", "finished")
    board.until_text(".run-head p", "2 of 2 generations")
    assert board.page.locator(".run-detail tbody tr").count() == 4
    shutil.copytree(folder / "runs" / "connect4", folder / "runs" / "second")
    board.page.wait_for_selector(".run-item >> nth=1")
    board.page.locator(".run-item", has_text="runs/second").click()
    board.until_text(".run-head h2", "runs/second")
    board.button("Replay 2").click()
    board.page.wait_for_selector(".analysis-view .move")
    assert board.page.get_attribute(".on-stage", "aria-label") == "Connect-4 board"
    assert board.problems == []


@pytest.mark.slow
def test_another_host_asks_for_the_token_once(context, tmp_path):
    with served(tmp_path, "--host", "0.0.0.0") as printed:
        address = re.sub(r"//[^:]+", "//127.0.0.1", printed)
        guessed = Board(context, re.sub("token=.*", "token=guess", address))
        guessed.page.goto(guessed.address)
        assert "expected the token of the address" in guessed.page.inner_text("body")
        guessed.page.close()
        board = Board(context, address)
        board.open().new_game("Two people")
        play(board, ["11-15"], board.click_squares)
        board.page.goto(address.split("?")[0])  # the cookie is enough now
        board.ready()
        board.until_moves(1)
        assert board.problems == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (820, "dark"), (1440, "light")])
def test_every_view_fits_and_can_be_read_by_everyone(chromium, address, width, theme):
    checker = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    board = Board(context, address).open()
    for view in ("play", "analysis", "setup", "games", "inside", "runs"):
        board.view(view)
        board.page.wait_for_timeout(150)
        found = checker.run(board.page).response["violations"]
        grave = [each["id"] for each in found if each["impact"] in ("serious", "critical")]
        assert (view, grave) == (view, [])
        assert board.page.evaluate("document.documentElement.scrollWidth") <= width
    assert board.problems == []
    context.close()
