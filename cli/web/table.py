"""A table: a game with its tree, played or analysed in one tab of a browser."""

import datetime
import itertools
from dataclasses import dataclass
from typing import Any

from ckai.cli.playing.clock import GameClock
from ckai.cli.playing.record import Record
from ckai.cli.playing.session import SIDES, Side, agreed, out_of_time, resigned, resigns_again, side_of
from ckai.cli.playing.start import HUMAN
from ckai.cli.web.pdn_tree import annotates, pdn_of
from ckai.cli.web.tree import MAX_COMMENT, Node, Tree
from ckai.game import Outcome
from ckai.rl.games.clock import TimeControl
from ckai.rl.games.spec import GameSpec

PLAY, ANALYSIS = "play", "analysis"
"""The modes of a table."""
MANY_MOVES = 10
"""Moves from which an analysis is saved without being asked for; fewer have only been tried."""


class ActionError(ValueError):
    """What was asked for is not possible now; one line for people."""


@dataclass(frozen=True)
class Seat:
    """Who plays a side."""

    spec: str
    """`HUMAN`, or the spec of a player, see `ckai.rl.engine.text`."""
    name: str
    """For messages and PDN headers."""

    @property
    def human(self) -> bool:
        """Whether a person plays."""
        return self.spec == HUMAN


PERSON = Seat(HUMAN, HUMAN)


class Table:
    """A game that is played or analysed.

    Attributes:
        key: unguessable name of the table.
        tree: its moves and variations.
        mode: `PLAY` or `ANALYSIS`.
        shown: the node that is looked at.
        current: the end of the game that is played, also while it is interrupted by an analysis.
        seats: who plays.
        start: where the game that is played begins; earlier moves are not taken back.
        clock: the clocks of both sides; None without.
        control: their time control as it was given.
        ended: outcome by resignation, agreement or time.
        headers: tags of the game, in order.
        file: name of the list, number and count, of a game opened from a list; None otherwise.
        trouble: why the game could be read only in part, or a player cannot move; empty if nothing is wrong.
        problem: why the game could not be saved; None if it could.
        changed: counts the changes that are to be saved.
    """

    def __init__(self, key: str, spec: GameSpec) -> None:
        self.key = key
        self.changed = 0
        self.file: tuple[str, int, int] | None = None
        self.analyse(Tree(spec), [("Event", "ckai board, analysis"), ("Date", _today())], "*")

    @property
    def spec(self) -> GameSpec:
        """The game's rules and names."""
        return self.tree.spec

    # --- beginning ----------------------------------------------------------------------------------

    def begin(self, tree: Tree, seats: dict[Side, Seat], control: str, start: Node) -> None:
        """Begin a game at a node of a tree; what was there before must have been saved.

        Args:
            tree: the moves so far.
            seats: who plays.
            control: the time control as a text, see `TimeControl.read`; empty: none.
            start: where the game begins.

        Raises:
            ValueError: the text is not a time control; nothing is changed.
        """
        read = TimeControl.read(control) if control else None
        self.tree, self.seats, self.mode, self.control = tree, seats, PLAY, control
        tree.promote(start)
        self.start = self.current = self.shown = start
        self.clock = None if read is None else GameClock(read)
        self.ended: Outcome | None = None
        self.interrupted = False
        self.headers = [("Event", "ckai board"), ("Date", _today())]
        self.headers += [(side.capitalize(), seats[side].name) for side in SIDES]
        if read is not None:
            self.headers.append(("TimeControl", str(read)))
        self._fresh("*")

    def analyse(self, tree: Tree, headers: list[tuple[str, str]], result: str, trouble: str = "") -> None:
        """Look at a tree; what was there before must have been saved."""
        self.tree, self.mode = tree, ANALYSIS
        self.start = self.shown = self.current = tree.root
        self.seats = dict.fromkeys(SIDES, PERSON)
        self.clock, self.control, self.ended, self.interrupted = None, "", None, False
        self.headers = headers
        self._fresh(result)
        self.trouble = trouble

    def _fresh(self, result: str) -> None:
        self.file, self.trouble, self._result = None, "", result
        self.records = {PLAY: Record(), ANALYSIS: Record()}
        self.problem: str | None = None
        self._moves_tried, self._worked_on = 0, False
        self._undone: list[Node] = []
        """Moves that were taken back, in the order of the game."""
        self._line_written: list[Node] = []
        """The moves that the file of an analysis holds, where it holds one line only."""

    # --- the game -----------------------------------------------------------------------------------

    @property
    def side(self) -> Side:
        """The side to move in the game that is played."""
        return side_of(self.current.position)

    def outcome(self) -> Outcome | None:
        """Return how the game that is played ended; None while it goes on."""
        return self.ended or self.tree.outcome(self.current)

    @property
    def going_on(self) -> bool:
        """Whether a game is being played and is not over."""
        return self.mode == PLAY and self.outcome() is None

    @property
    def resumable(self) -> bool:
        """Whether a game was interrupted by an analysis."""
        return self.mode == ANALYSIS and self.interrupted

    @property
    def result(self) -> str:
        """The PDN result; of a game from a file, as it stands there."""
        if self.mode == PLAY or self.interrupted or self.ended is not None:
            outcome = self.outcome()
            return "*" if outcome is None else outcome.result
        return self._result

    def play(self, move: Any, *, person: bool = True) -> Node:
        """Play a move in the game, for the side to move.

        Args:
            move: a legal move.
            person: whether a person plays it; then it must be a person's turn.

        Raises:
            ActionError: there is no game going on, it is not a person's turn, or the time is up.
        """
        if person:
            self.expect_person()
        else:
            self._require_game()
        side = self.side
        if self.clock is not None:
            if self.clock.left(side) <= 0:
                self.end(out_of_time(side))
                raise ActionError("the time is up")
            self.clock.press(side)
        following = self.shown is self.current
        node = self.tree.add(self.current, move)
        self.tree.promote(node)
        self.current = node
        self._undone = []
        if following or person:
            self.shown = node
        self.changed += 1
        return node

    def expect_person(self) -> None:
        """Check that a person is to move.

        Raises:
            ActionError: there is no game going on, or it is not a person's turn.
        """
        self._require_game()
        if not self.seats[self.side].human:
            raise ActionError(f"expected your turn, but {self.seats[self.side].name} is to move")

    def _require_game(self) -> None:
        if self.mode != PLAY:
            raise ActionError("expected a game in progress, found an analysis; begin a game or resume it")
        if self.outcome() is not None:
            raise ActionError("the game is over")

    def undo(self) -> None:
        """Take back a person's last move and all after it; see `Session.undo`.

        Raises:
            ActionError: there is nothing to take back.
        """
        if not self.can_undo:
            raise ActionError("you have no move to take back")
        ended, self.ended = self.ended, None
        people = [side for side in SIDES if self.seats[side].human]
        again = ended is not None and resigns_again(ended, people)
        target = self._undo_target()
        if target is not None and (ended is None or again):
            self._undone = self.current.path()[target.ply + 1 :] + self._undone
            self.current = target
        if self.clock is not None:
            self.clock.restore(self.current.ply)  # the time may have been up
        self.shown = self.current
        self.changed += 1

    @property
    def can_undo(self) -> bool:
        """Whether `undo` is possible."""
        return self.mode == PLAY and (self.ended or self._undo_target()) is not None

    def _undo_target(self) -> Node | None:
        """Return the node before the last move of a person, None if the game begins after it."""
        node = self.current.parent
        while node is not None and not self.seats[side_of(node.position)].human:
            node = node.parent
        return node if node is not None and node.ply >= self.start.ply else None

    def redo(self) -> None:
        """Play moves that were taken back, until a person is to move.

        Raises:
            ActionError: there are none.
        """
        if not self.can_redo:
            raise ActionError("there is no move to play again")
        node = self._undone.pop(0)
        while self._undone and not self.seats[side_of(node.position)].human:
            node = self._undone.pop(0)
        self.tree.promote(node)
        self.current = self.shown = node
        if self.clock is not None:
            self.clock.pause()
        self.changed += 1

    @property
    def can_redo(self) -> bool:
        """Whether `redo` is possible."""
        return self.mode == PLAY and self.ended is None and bool(self._undone)

    # --- the end of a game --------------------------------------------------------------------------

    def resign(self) -> None:
        """Resign: for the only person, or for the side to move of two.

        Raises:
            ActionError: there is no game, or no person plays.
        """
        self._require_game()
        people = [side for side in SIDES if self.seats[side].human]
        if not people:
            raise ActionError("expected a person to resign, but none plays")
        self.end(resigned(people[0] if len(people) == 1 else self.side))

    def agree_draw(self) -> None:
        """End the game as a draw.

        Raises:
            ActionError: there is no game going on.
        """
        self._require_game()
        self.end(agreed())

    def end(self, outcome: Outcome) -> None:
        """End the game by resignation, agreement or time."""
        self.ended = outcome
        if self.clock is not None:
            self.clock.pause()
        self.changed += 1

    # --- looking and annotating ---------------------------------------------------------------------

    def interrupt(self) -> None:
        """Turn from playing to analysis; the game can be resumed unless it is over."""
        if self.mode == PLAY:
            outcome = self.outcome()
            self.interrupted = outcome is None
            if outcome is not None:
                self._result = outcome.result
            self.mode = ANALYSIS
            if self.clock is not None:
                self.clock.pause()

    def resume(self) -> None:
        """Go on with the game that was interrupted.

        Raises:
            ActionError: there is none.
        """
        if not self.resumable:
            raise ActionError("there is no unfinished game to go on with")
        self.mode, self.interrupted = PLAY, False
        self.shown = self.current
        self.tree.promote(self.current)

    def vary(self, node: Node, move: Any) -> Node:
        """Play a move at any node, in an analysis; show what follows."""
        before = list(node.children)
        self.shown = self.tree.add(node, move)
        if self.shown not in before:
            self._worked_on |= bool(before)
            self._moves_tried += 1
            self.changed += 1
        return self.shown

    def annotate(self, node: Node, *, comment: str | None = None, nag: int | None = None) -> None:
        """Set the comment of a node, or set or remove a sign of its move.

        Raises:
            ActionError: the files of this game have no comments, or the comment is too long.
        """
        if not annotates(self.spec):
            raise ActionError(f"{self.spec.title or self.spec.name} files hold no comments or marks")
        if comment is not None:
            if len(comment) > MAX_COMMENT:
                raise ActionError(f"expected at most {MAX_COMMENT:,} characters, found {len(comment):,}")
            node.comment, node.before = " ".join(comment.split()), ""
        if nag is not None:
            if node.parent is None:
                raise ActionError("expected a move to mark, found the first position")
            node.nags = [each for each in node.nags if each != nag] + [nag] * (nag not in node.nags)
        self._worked_on = True
        self.changed += 1

    def promote(self, node: Node) -> None:
        """Make a variation the main line.

        Raises:
            ActionError: the game is being played.
        """
        if self.mode == PLAY:
            raise ActionError("the moves of the game come first while it is played; turn to analysis")
        self.tree.promote(node)
        self._worked_on = True
        self.changed += 1

    def remove(self, node: Node) -> None:
        """Remove a node and all after it.

        Raises:
            ActionError: it is a move of the game that is played, or the first position.
        """
        if node in self.current.path() and (self.mode == PLAY or self.interrupted):
            raise ActionError("moves of the game in progress cannot be removed; undo takes them back")
        below = set(node.below())
        parent = self.tree.remove(node)
        if self.shown in below:
            self.shown = parent
        if self.current in below:
            self.current = parent
        self._undone = list(itertools.takewhile(lambda each: each not in below, self._undone))
        self.changed += 1

    # --- saving -------------------------------------------------------------------------------------

    @property
    def record(self) -> Record:
        """The file of the game: an analysis has one of its own, so that the game stays as it was played."""
        return self.records[self.mode]

    @property
    def saves_itself(self) -> bool:
        """Whether changes are saved without being asked for: in a game with a move, and in an analysis
        with a comment, a sign, a variation or `MANY_MOVES` of its own; and what a file holds already."""
        played = self.mode == PLAY and self.current.parent is not None
        mine = self._worked_on or self._moves_tried >= MANY_MOVES
        return played or mine or self.saved is not None

    @property
    def saved(self) -> str | None:
        """The path of the file, None before it is written."""
        return None if self.record.path is None else str(self.record.path)

    def choose_file(self) -> None:
        """Leave the file of an analysis as it is if it holds moves that the next text leaves out.

        Only files of games without variations do: they hold the main line, and another one has become that.
        """
        if self.mode == ANALYSIS and not annotates(self.spec):
            line = self.tree.root.end().path()
            if any(node in self.tree and node not in line for node in self._line_written):
                self.records[ANALYSIS] = Record()
            self._line_written = line

    def pdn(self) -> str:
        """Return the game as PDN: while it is played, to its last move; in an analysis, the whole tree."""
        end = self.current if self.mode == PLAY else self.tree.root.end()
        return pdn_of(self.tree, end, self.headers, self.result)


def _today() -> str:
    return datetime.date.today().strftime("%Y.%m.%d")
