"""Trees of moves with comments, glyphs and variations are read back as they were written."""

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ckai.game import Position
from ckai.pdn import PdnGame, PdnMove, Variation, read_games, write_game

START = Position.start()
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Every character but surrogates, which no file can hold; and often those that mean something to PDN.
TEXT = st.text(
    st.one_of(st.sampled_from('{}()[]";%\\$!?.1-9 \n\r\t\0\x1b\x85\u2028'), st.characters(codec="utf-8")),
    max_size=120,
)


def comments(texts):
    """What PDN can express of comments."""
    return [" ".join(CONTROLS.sub(" ", text).replace("}", ")").split()) for text in texts]


def line(moves):
    return [
        (
            str(m.move),
            m.nags,
            m.marks,
            comments(m.comments),
            [(comments(v.comments), line(v.moves)) for v in m.variations],
        )
        for m in moves
    ]


def plain(game):
    return (
        [(name, CONTROLS.sub(" ", value)) for name, value in game.headers],
        game.start,
        comments(game.comments),
        line(game.moves),
        game.termination_marker,
        comments(game.final_comments),
    )


@st.composite
def moves_from(draw, position, most, depth=0):
    """A line of moves from a position, each with annotations and variations."""
    played = []
    for _ in range(draw(st.integers(0, most))):
        legal = position.legal_moves()
        if not legal:
            break
        each = PdnMove(draw(st.sampled_from(legal)))
        each.nags = draw(st.lists(st.integers(0, 255), max_size=2))
        each.marks = draw(st.sampled_from(["", "!", "?", "!?", "??"]))
        each.comments = draw(st.lists(TEXT, max_size=2))
        for _ in range(draw(st.integers(0, 2)) if depth < 3 else 0):
            if other := draw(moves_from(position, 3, depth + 1)):
                each.variations.append(Variation(draw(st.lists(TEXT, max_size=1)), other))
        played.append(each)
        position = position.push(each.move)
    return played


@st.composite
def games(draw):
    start = draw(st.sampled_from([START, START.push("11-15")]))
    return PdnGame(
        headers=[("Event", draw(TEXT))] + [("FEN", start.fen)] * (start != START),
        start=start,
        comments=draw(st.lists(TEXT, max_size=2)),
        moves=draw(moves_from(start, 8)),
        termination_marker=draw(st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"])),
        final_comments=draw(st.lists(TEXT, max_size=2)),
    )


@settings(max_examples=30)
@given(games())
def test_a_tree_is_read_back_whole(game):
    text = write_game(game)
    assert not CONTROLS.search(text.replace("\n", ""))
    (again,) = read_games(io.BytesIO(text.encode()), "text.pdn")
    assert again.problem is None
    assert plain(again) == plain(game)
    assert write_game(again) == text
