"""Time the board in a browser: `ckai board` in headless Chromium, driven by Playwright.

    python benchmarks/speed/board.py
    python benchmarks/speed/board.py --busy 1

Milliseconds on the page's own clock: from the click to the piece on its new square, from switching the
engine on to its first line, from switching it off to its last result, and between frames while it thinks.
The server gets a click at the same time as the page shows it, so a move on the board waits for neither the
server nor the engine. Needs the extras `web` and `dev`, and Chromium.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import click
from busy import busy
from playwright.sync_api import BrowserContext, Page, sync_playwright
from rich.console import Console
from rich.table import Table

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SIZE = {"width": 1440, "height": 900}
MOVES = ((11, 15), (23, 19), (8, 11), (22, 17), (9, 13), (17, 14))
"""Moves without a capture from the initial position."""
THINKING = 1.0
"""Seconds that the engine thinks before it is stopped."""

WATCH = """
window.results = [];
window.WebSocket = class extends WebSocket {
  constructor(...all) {
    super(...all);
    this.addEventListener("message", ({ data }) => {
      if (JSON.parse(data).type === "search") results.push(performance.now());
    });
  }
};
window.clicked = 0;
addEventListener("click", () => { clicked = performance.now(); }, true);
addEventListener("pointerup", () => { clicked = performance.now(); }, true);
window.shown = (selector) => new Promise((resolve) => {
  const look = () => {
    if (document.querySelector(selector)) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  look();
});
window.frames_of = (seconds) => new Promise((resolve) => {
  const times = [];
  const frame = (now) => {
    times.push(now);
    if (now - times[0] < 1000 * seconds) requestAnimationFrame(frame);
    else resolve(times);
  };
  requestAnimationFrame(frame);
});
"""
"""Runs before the page's scripts: keeps the times of search results and of clicks."""


@contextmanager
def served() -> Iterator[tuple[str, float]]:
    """Start `ckai board` in an empty folder; yields its address and the seconds until it was printed."""
    command = [sys.executable, "-m", "ckai.cli.main", "board", "--no-browser"]
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                line = server.stdout.readline()
                yield next(word for word in line.split() if "://" in word), time.perf_counter() - begun
            finally:
                server.terminate()


def load(context: BrowserContext, address: str) -> tuple[float, int]:
    """Open the page without a cache; return the milliseconds until a board is seen, and the bytes sent."""
    page, sizes = context.new_page(), list[int]()
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    page.goto(address)
    shown = page.evaluate("shown('.on-stage .cell')")
    page.wait_for_load_state("networkidle")
    page.close()
    return shown, sum(sizes)


def moves(page: Page, address: str) -> list[float]:
    """Play moves of both sides by clicks; return the milliseconds of each until it is on the board."""
    page.goto(address)
    page.wait_for_selector(".on-stage .cell")
    page.get_by_role("button", name="New game", exact=True).click()
    page.get_by_role("button", name="Two people", exact=True).click()
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_selector("dialog", state="detached")
    taken = []
    for count, (start, end) in enumerate(MOVES, 1):
        taken.append(_click_move(page, start, end))
        page.wait_for_function(
            "n => document.querySelectorAll('.move-list button.move').length === n", arg=count
        )
    return taken


def _click_move(page: Page, start: int, end: int) -> float:
    page.click(f'.cell[aria-label^="square {start},"]', force=True)
    target = f'.cell[aria-label^="square {end}, "]:not([aria-label$="empty"])'
    page.evaluate("target => { window.seen = shown(target); }", target)
    page.click(f'.cell[aria-label^="square {end},"]', force=True)
    return page.evaluate("async () => await seen - clicked")


def think(page: Page) -> tuple[float, float, float]:
    """Switch the engine on, let it think, switch it off.

    Returns:
        Milliseconds until its first line, from the stop until its last result, and the longest time between
        two frames while it thought.
    """
    switch = page.get_by_role("switch", name="Engine")
    page.evaluate("() => { results.length = 0; window.seen = shown('.lines li'); }")
    switch.click()
    first = page.evaluate("async () => await seen - clicked")
    frames = page.evaluate("seconds => frames_of(seconds)", THINKING)
    switch.click()
    page.wait_for_timeout(400)
    last = page.evaluate("results.at(-1) - clicked")
    return first, last, max(after - before for before, after in pairwise(frames))


def measure(rounds: int) -> dict[str, list[float]]:
    """Return what was measured, a list of one figure for each time."""
    out: dict[str, list[float]] = {}

    def add(what: str, *figures: float) -> None:
        out.setdefault(what, []).extend(figures)

    with served() as (address, started), sync_playwright() as playwright:
        add("address printed, s", started)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for turn in range(rounds + 1):
            context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
            context.add_init_script(WATCH)
            shown, size = load(context, address)
            add("board visible after the page is asked for, ms", shown)
            add("page with all its files, kB", size / 1000)
            page = context.new_page()
            add("move on the board after the click, ms", *moves(page, address))
            page.click('nav a[href="#analysis"]')
            first, last, frame = think(page)
            search = "later searches" if turn else "the first search of the server"
            add(f"first line after the engine is switched on, {search}, ms", first)
            add("last result after it is switched off, ms", last)
            add("longest time between two frames while it thinks, ms", frame)
            context.close()
        browser.close()
    return out


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True, help="Number of rounds.")
@click.option(
    "--busy", "others", type=click.IntRange(0), default=0, help="Number of busy processes to run beside."
)
def main(rounds: int, others: int) -> None:
    """Time the board in a browser."""
    if CHROMIUM is None:
        raise click.ClickException("expected Chromium, found none; install the package chromium")
    with busy(others):
        figures: dict[str, Any] = measure(rounds)
    table = Table("what", "median", "least", "most", "times", title=f"beside {others} busy processes")
    for what, values in figures.items():
        row = (statistics.median(values), min(values), max(values))
        table.add_row(what, *(f"{value:,.1f}" for value in row), str(len(values)))
    Console().print(table)


if __name__ == "__main__":
    main()
