"""The tree of a game: moves with variations, comments and signs, every node with its position."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ckai.cli.playing.session import side_of
from ckai.game import Outcome
from ckai.rl.games.spec import GameSpec

MAX_NODES = 20_000
"""Most positions of a tree."""
MAX_COMMENT = 10_000
"""Most characters of a comment."""


@dataclass(eq=False)
class Node:
    """A position of a tree and the move that led to it."""

    id: int
    """Number of the node, never used again in its tree."""
    position: Any
    parent: "Node | None" = None
    move: Any = None
    """The move from the parent; None at the root."""
    step: dict[str, Any] = field(default_factory=dict)
    """The move as the page gets it, see `step_of`."""
    ply: int = 0
    """Moves from the root."""
    comment: str = ""
    nags: list[int] = field(default_factory=list)
    marks: str = ""
    """Signs of the file behind the move that have no number."""
    before: str = ""
    """Comment before the move, where it begins a variation."""
    rest: str = ""
    """Text of the file that follows the node's line in a variation and could not be read as moves."""
    unread: list[Any] = field(default_factory=list)
    """Alternatives to the move in the file of which no move could be read, see `ckai.pdn.Variation`."""
    black: float | None = None
    """Expected points of Black, [0, 1]; None where no search has said."""
    children: list["Node"] = field(default_factory=list)
    """What was played here; the first is the main continuation."""
    known_outcome: tuple[Outcome | None] | None = None
    """How the game ended here by rule, once that is known; see `Tree.outcome`."""

    def path(self) -> list["Node"]:
        """Return the nodes from the root to this one."""
        nodes = [self]
        while nodes[-1].parent is not None:
            nodes.append(nodes[-1].parent)
        return nodes[::-1]

    def end(self) -> "Node":
        """Return the last node of the main continuation from here."""
        node = self
        while node.children:
            node = node.children[0]
        return node

    def child(self, move: Any) -> "Node | None":
        """Return the node after a move, None if it is not in the tree."""
        return next((child for child in self.children if child.move == move), None)

    def below(self) -> Iterator["Node"]:
        """Yield this node and all after it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children[::-1]


class Tree:
    """A game with its variations.

    Args:
        spec: the game.
        start: its first position; None: the usual one.

    Attributes:
        key: name that no other tree has, of this server or another: numbers of nodes are those of one tree.
        root: the node of the first position.
        final_comments: comments after the result in the file.
    """

    def __init__(self, spec: GameSpec, start: Any = None) -> None:
        self.spec, self.key = spec, secrets.token_urlsafe(8)
        self.root = Node(0, spec.position() if start is None else start)
        self.final_comments: list[str] = []
        self._nodes = {0: self.root}
        self._next = 1

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: Node) -> bool:
        return self._nodes.get(node.id) is node

    def node(self, number: int) -> Node:
        """Return the node with this id.

        Raises:
            ValueError: there is none.
        """
        if number not in self._nodes:
            raise ValueError(f"expected a position of this game, found number {number}; it may be gone")
        return self._nodes[number]

    def add(self, parent: Node, move: Any) -> Node:
        """Return the node after a legal move, added if it is not there.

        Raises:
            ValueError: the tree is full.
        """
        known = parent.child(move)
        if known is not None:
            return known
        if len(self) >= MAX_NODES:
            raise ValueError(f"expected at most {MAX_NODES:,} positions, found a full tree; begin another")
        position = parent.position.push(move)
        step = step_of(self.spec, parent.position, move, position)
        node = Node(self._next, position, parent, move, step, parent.ply + 1)
        self._next += 1
        self._nodes[node.id] = node
        parent.children.append(node)
        return node

    def promote(self, node: Node) -> None:
        """Make the line through a node the main one."""
        for each in node.path()[1:]:
            assert each.parent is not None
            each.parent.children.remove(each)
            each.parent.children.insert(0, each)

    def remove(self, node: Node) -> Node:
        """Remove a node and all after it; return its parent.

        Raises:
            ValueError: it is the first position.
        """
        if node.parent is None:
            raise ValueError("expected a move to remove, found the first position")
        for each in node.below():
            del self._nodes[each.id]
        node.parent.children.remove(node)
        return node.parent

    def game(self, node: Node) -> Any:
        """Return the game up to a node, see `ckai.rl.games.spec.PlayedGame`."""
        game = self.spec.game(self.root.position)
        for each in node.path()[1:]:
            game.push(each.move)
        return game

    def outcome(self, node: Node) -> Outcome | None:
        """Return how the game ended at a node by rule; None while it goes on."""
        if node.known_outcome is None:
            node.known_outcome = (self.game(node).outcome(),)
        return node.known_outcome[0]

    def plain(self) -> list[dict[str, Any]]:
        """Return all nodes as the page gets them, parents first."""
        return [_plain(node) for node in self.root.below()]


def step_of(spec: GameSpec, position: Any, move: Any, after: Any = None) -> dict[str, Any]:
    """Return a move so that a page can show and animate it without the rules.

    Args:
        spec: the game, which has a `layout`.
        position: the position before the move.
        move: a legal move.
        after: the position after it, if known.

    Returns:
        `move`, its text; `path`, its squares in order; `captures`, the squares of captured pieces in order;
        `changes`, the pieces after it by square where they differ, empty for none; `piece`, the piece on the
        last square; `crowned`, whether it was another one before.
    """
    path = spec.path(position, move)
    old, new = spec.pieces(position), spec.pieces(position.push(move) if after is None else after)
    changed = [square for square in {**old, **new} if old.get(square) != new.get(square)]
    piece = new.get(path[-1], "") if path else ""
    return {
        "move": str(move),
        "path": list(path),
        "captures": list(spec.captures(position, move)),
        "changes": {str(square): new.get(square, "") for square in sorted(changed)},
        "piece": piece,
        "crowned": len(path) > 1 and old.get(path[0]) != piece,
    }


def steps_of(spec: GameSpec, position: Any, line: Any) -> list[dict[str, Any]]:
    """Return a line of moves from a position, see `step_of`."""
    steps = []
    for move in line:
        after = position.push(move)
        steps.append(step_of(spec, position, move, after))
        position = after
    return steps


def _plain(node: Node) -> dict[str, Any]:
    parent = node.parent
    if parent is None:
        step = {"move": "", "path": [], "captures": [], "changes": {}, "piece": "", "crowned": False}
        number, side = "", None
    else:
        step, side = node.step, side_of(parent.position)
        number = _number(node)
    return {
        "id": node.id,
        "parent": None if parent is None else parent.id,
        "ply": node.ply,
        "number": number,
        "side": side,
        **step,
        "comment": " ".join(filter(None, [node.before, node.comment])),
        "nags": node.nags,
        "black": node.black,
        "children": [child.id for child in node.children],
    }


def _number(node: Node) -> str:
    """Return the number of a node's move: `3.` for the first player's, `3...` for the second's."""
    assert node.parent is not None
    first = node.parent.position.black
    # Where the second player begins, its move is the first with the number 1 as well.
    begins_black = first == (node.ply % 2 == 1)
    count = (node.ply - 1 if begins_black else node.ply) // 2 + 1
    return f"{count}." if first else f"{count}..."
