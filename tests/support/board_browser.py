"""A real browser on the board: Chromium driven by Playwright, and the server as people start it."""

import shutil
import sys
from contextlib import contextmanager
from itertools import pairwise

from child_process import started

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def served(folder, *options):
    """The address of a server in a folder."""
    command = [sys.executable, "-m", "ckai.cli.main", "board", "--no-browser", *options]
    with started(command, cwd=folder, text=True) as process:
        line = process.stdout.readline()
        assert "http://" in line, line + process.stderr.read()
        yield next(word for word in line.split() if word.startswith("http://"))


class Board:
    """What a person does on the page.

    Problems that the browser reports are kept in `problems`, the addresses it asked for in `addresses`.
    """

    def __init__(self, context, address):
        self.page = context.new_page()
        self.problems, self.addresses = [], []
        self.page.on("pageerror", lambda error: self.problems.append(error.stack))
        self.page.on("console", lambda said: said.type == "error" and self.problems.append(said.text))
        self.page.on("request", lambda request: self.addresses.append(request.url))
        self.address = address

    def open(self):
        self.page.goto(self.address)
        self.ready()
        return self

    def ready(self):
        self.page.wait_for_selector(".on-stage .cell")

    def view(self, name):
        self.page.click(f'nav a[href="#{name}"]')

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def new_game(self, *choices):
        """Begin a game with these buttons of the dialog pressed."""
        self.view("play")
        self.button("New game").click()
        for choice in choices:
            if not self.button(choice).is_visible():
                self.page.click(".new-game summary")
            self.button(choice).click()
        self.button("Start").click()
        self.page.wait_for_selector("dialog", state="detached")

    def cell(self, name):
        """A square by the beginning of its name, such as `square 11`."""
        return self.page.locator(f'.cell[aria-label^="{name},"]')

    def press(self, name):
        """Click on a square once the server has said what is legal."""
        self.page.wait_for_selector(".cell.ready")
        self.cell(name).click(force=True)

    def square(self, number):
        return self.cell(f"square {number}")

    def center(self, number):
        box = self.square(number).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def click_squares(self, path):
        for square in path:
            self.page.mouse.click(*self.center(square))

    def drag(self, start, end):
        mouse = self.page.mouse
        mouse.move(*self.center(start))
        mouse.down()
        mouse.move(*self.center(end), steps=4)
        mouse.up()

    def drag_squares(self, path):
        for start, end in pairwise(path):
            self.drag(start, end)

    def moves(self):
        return self.page.locator(".move-list:visible button.move").all_inner_texts()

    def until_moves(self, count):
        self.page.wait_for_function(
            "n => document.querySelectorAll('.move-list button.move').length === n", arg=count
        )

    def until_text(self, selector, text):
        """Wait until the text of an element, or what is in a field, begins so."""
        self.page.wait_for_function(
            "([selector, text]) => { const found = document.querySelector(selector);"
            " return (found?.value || found?.textContent || '').startsWith(text); }",
            arg=[selector, text],
        )

    def status(self):
        return self.page.inner_text(".status")

    def pieces(self):
        """Square -> name of what stands there, without the empty ones."""
        names = self.page.eval_on_selector_all(
            ".cell", "cells => cells.map(cell => cell.getAttribute('aria-label'))"
        )
        pairs = (name.removeprefix("square ").split(", ") for name in names)
        return {int(square): what for square, what in pairs if what != "empty"}
