"""Trees as PDN with their variations, comments and signs, and games of files as trees."""

from ckai.cli.web.tree import Node, Tree
from ckai.pdn import PdnGame, PdnMove, Variation, write_game
from ckai.pdn.game import RESULTS
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SIGNS = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
"""NAGs of the signs after a move."""


def annotates(spec: GameSpec) -> bool:
    """Whether the files of a game keep comments, signs and variations."""
    return spec == DEFAULT_GAME


def tree_of(game: PdnGame) -> Tree:
    """Return a game of a file as a tree.

    Raises:
        ValueError: it is too large.
    """
    tree = Tree(DEFAULT_GAME, game.start)
    tree.root.comment = " ".join(game.comments)
    tree.final_comments = list(game.final_comments)
    _add_line(tree, tree.root, game.moves)
    return tree


def _add_line(tree: Tree, node: Node, moves: list[PdnMove]) -> Node:
    beside: list[tuple[Node, Node, Variation]] = []
    for each in moves:
        following = tree.add(node, each.move)
        nags = [*each.nags, *([SIGNS[each.marks]] if each.marks in SIGNS else [])]
        following.nags += [nag for nag in nags if nag not in following.nags]
        following.marks = "" if each.marks in SIGNS else each.marks
        following.comment = " ".join(filter(None, [following.comment, *each.comments]))
        beside += [(node, following, variation) for variation in each.variations]
        node = following
    # After the whole line: a variation may begin with a move of the line itself, and the line comes first.
    for parent, main, variation in beside:
        _add_variation(tree, parent, main, variation)
    return node


def _add_variation(tree: Tree, parent: Node, main: Node, variation: Variation) -> None:
    if not variation.moves:
        main.unread.append(variation)
        return
    last = _add_line(tree, parent, variation.moves)
    first = parent.child(variation.moves[0].move)
    assert first is not None
    first.before = " ".join(filter(None, [first.before, *variation.comments]))
    last.rest = " ".join(filter(None, [last.rest, variation.rest]))


def pdn_of(tree: Tree, end: Node, headers: list[tuple[str, str]], result: str) -> str:
    """Return a tree as PDN, or as text in the form of PDN.

    A game whose files have no variations gets its line alone.

    Args:
        tree: the game.
        end: the last node of the main line, which runs through it; what follows it is left out.
        headers: tags in order; the result, the first position and the kind of game are added.
        result: one of `RESULTS`.
    """
    own = [(name, value) for name, value in headers if name.lower() not in _WRITTEN]
    if not annotates(tree.spec):
        return tree.spec.to_pdn(tree.game(end), dict(own), result)
    start = tree.root.position
    own += [("Result", result), ("GameType", "21")]
    if start != DEFAULT_GAME.position():
        own += [("SetUp", "1"), ("FEN", start.fen)]
    assert result in RESULTS
    game = PdnGame(
        headers=own,
        start=start,
        comments=[tree.root.comment] if tree.root.comment else [],
        moves=_line(tree.root, end.path()[1:]),
        termination_marker=result,
        tag_result=result,
        final_comments=tree.final_comments,
    )
    return write_game(game)


_WRITTEN = ("result", "gametype", "setup", "fen")


def _line(node: Node, line: list[Node], last: Node | None = None) -> list[PdnMove]:
    """Return the moves of a line from a node, each with its alternatives.

    What stood before or behind a variation of the file is a comment where the variation became another line;
    the text behind `last` is left to the caller.
    """
    moves = []
    for each in line:
        others = [_variation(other) for other in node.children if other is not each]
        moves.append(_move(each, others, before=each.before, last=last))
        node = each
    return moves


def _variation(first: Node) -> Variation:
    assert first.parent is not None
    line = [first]
    while line[-1].children:
        line.append(line[-1].children[0])
    return Variation(
        comments=[first.before] if first.before else [],
        moves=[_move(first, [], before="", last=line[-1]), *_line(first, line[1:], line[-1])],
        rest=line[-1].rest,
    )


def _move(node: Node, others: list[Variation], *, before: str, last: Node | None) -> PdnMove:
    """Return the move of a node with its alternatives; those of a variation's first move stand beside it."""
    rest = "" if node is last else node.rest
    return PdnMove(
        node.move,
        nags=list(node.nags),
        marks=node.marks,
        comments=[text for text in (before, node.comment, rest) if text],
        variations=[*others, *node.unread],
    )
