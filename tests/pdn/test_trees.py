"""Trees of moves with comments, glyphs and variations are read back as they were written."""

import io
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from ckai.game import Position
from ckai.pdn import PdnGame, PdnMove, Variation, read_games, write_game

START = Position.start()


def one(text):
    (game,) = read_games(io.BytesIO(text.encode()), "text.pdn")
    assert game.problem is None
    return game


def line(moves):
    return [
        (
            str(m.move),
            m.nags,
            m.marks,
            m.comments,
            [(v.comments, line(v.moves), v.rest) for v in m.variations],
        )
        for m in moves
    ]


def plain(game):
    return (
        game.headers,
        game.start,
        game.comments,
        line(game.moves),
        game.termination_marker,
        game.final_comments,
    )


# Every character but surrogates, which no file can hold; and often those that mean something to PDN.
CHARACTERS = st.one_of(
    st.sampled_from('{}()[]";%\\$!?.1-9 \n\r\t\0\x1b\x85\u2028'), st.characters(codec="utf-8")
)
ANY_TEXT = st.text(CHARACTERS, max_size=120)


def expressible(text):
    """The comment that remains of a text."""
    controls = {c: " " for c in text if unicodedata.category(c) == "Cc"}
    return " ".join(text.translate(str.maketrans(controls)).replace("}", ")").split())


TEXT = ANY_TEXT.map(expressible)


@st.composite
def moves_from(draw, position, most, depth=0, texts=TEXT):
    """A line of moves from a position, each with annotations and variations."""
    played = []
    for _ in range(draw(st.integers(0, most))):
        legal = position.legal_moves()
        if not legal:
            break
        each = PdnMove(draw(st.sampled_from(legal)))
        each.nags = draw(st.lists(st.integers(0, 255), max_size=2))
        each.marks = draw(st.sampled_from(["", "!", "?", "!?", "??"]))
        each.comments = draw(st.lists(texts, max_size=2))
        if depth < 3:
            for _ in range(draw(st.integers(0, 2))):
                comments = draw(st.lists(texts, max_size=1))
                each.variations.append(Variation(comments, draw(moves_from(position, 3, depth + 1, texts))))
        played.append(each)
        position = position.push(each.move)
    return played


@st.composite
def games(draw, texts=TEXT, values=None):
    start = draw(st.sampled_from([START, START.push(START.find_move("11-15"))]))
    headers = [("Event", draw(st.text(CHARACTERS).filter(str.isprintable) if values is None else values))]
    if start != START:
        headers.append(("FEN", start.fen))
    game = PdnGame(
        headers=headers, start=start, termination_marker=draw(st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"]))
    )
    game.moves = draw(moves_from(start, 8, texts=texts))
    game.comments = draw(st.lists(texts, max_size=2))
    game.final_comments = draw(st.lists(texts, max_size=2))
    return game


@settings(max_examples=40)
@given(games())
def test_a_tree_is_read_back_whole(game):
    assert plain(one(write_game(game))) == plain(game)


@settings(max_examples=40)
@given(games(texts=ANY_TEXT, values=ANY_TEXT))
def test_any_text_is_written_without_control_characters(game):
    text = write_game(game)
    assert not [c for c in text.replace("\n", " ") if unicodedata.category(c) == "Cc"]
    again = one(text)
    assert write_game(again) == text
    assert [str(m.move) for m in again.moves] == [str(m.move) for m in game.moves]
    assert again.comments == [expressible(c) for c in game.comments]
