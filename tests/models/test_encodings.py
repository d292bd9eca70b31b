"""What networks see: the legal moves against the rules, the tactics against a plain search."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from positions import games, setups
from tiny_networks import ENCODING_NAMES

from ckai.datasets import choices
from ckai.models import encodings
from ckai.models.encodings import (
    ENCODINGS,
    MovesEncoding,
    encoding_type,
    register_encoding,
)
from ckai.models.tactics import MOST, append_changes
from ckai.rl.games import registry as game_registry


@st.composite
def positions(draw, setup=True):
    """A board set up at random or of a game, at times between two hops of a move."""
    if setup and draw(st.booleans()):
        position = draw(setups())
    else:
        position = draw(st.sampled_from(draw(games(max_plies=60))))
    hops = [label for label in position.legal_actions() if position.push_action(label).jumper >= 0]
    if hops and draw(st.booleans()):
        position = position.push_action(draw(st.sampled_from(hops)))
    return position


def tensors(position):
    board = torch.from_numpy(position.board)[None]
    return board, torch.tensor([position.jumper], dtype=torch.int8), torch.tensor([position.halfmove_clock])


def material(position):
    worth = {1: 2, 3: 3, -1: -2, -3: -3, 0: 0}
    return sum(worth[int(piece)] for piece in position.board)


def slow_search(position, depth):
    """Half men for the mover: all hops to the depth, then captures only; no window, no order."""
    labels = position.legal_actions()
    if not labels:
        return -60
    jumps = abs(material(position) - material_after(position, labels[0])) >= 2
    if depth <= 0 and not jumps:
        return material(position)
    values = []
    for label in labels:
        after = position.push_action(label)
        same = after.black == position.black
        values.append(slow_search(after, depth) if same else -slow_search(after, depth - 1))
    return max(values)


def material_after(position, label):
    after = position.push_action(label)
    return material(after) if after.black == position.black else -material(after)


@given(positions())
def test_the_planes_of_moves_are_the_rules(position):
    legal = MovesEncoding().legal(*tensors(position)[:2])[0]
    assert sorted(int(i) * 4 + int(d) for d, i in legal.nonzero()) == sorted(position.legal_actions())


@pytest.mark.parametrize("depth", [0, pytest.param(1, marks=pytest.mark.slow), 2])
@settings(max_examples=25)
@given(position=positions(setup=False))
def test_tactics_are_what_a_plain_search_finds(depth, position):
    board, jumper, _ = (tensor.numpy() for tensor in tensors(position))
    appended = append_changes(np.concatenate([board, jumper[:, None], [[5]]], 1).astype(np.int8), (depth, 0))
    assert np.array_equal(appended[0, :34], [*board[0], *jumper, 5])
    found = appended[0, 34:162]
    legal = position.legal_actions()
    assert set(np.flatnonzero(found)) <= set(legal)
    for label in legal:
        after = position.push_action(label)
        value = slow_search(after, depth)
        value = (value if after.black == position.black else -value) - material(position)
        assert found[label] == min(MOST, max(-MOST, value))


@given(positions())
def test_every_encoding_keeps_its_promises(position):
    for encoding in ENCODINGS.values():
        encode = encoding()
        if encode.GAME != "checkers":
            continue
        planes = encode(*tensors(position), torch.float32)
        assert planes.shape == (1, encode.PLANES, 8, 4)
        extra = encode.extra(*tensors(position))
        assert (0 if extra is None else extra.shape[1]) == encode.EXTRA
        assert torch.equal(planes, encode(*tensors(position), torch.float32, extra))


@pytest.mark.parametrize("name", ENCODING_NAMES)
def test_every_plane_has_a_name_of_its_own(name):
    encoding = encoding_type(name)
    assert len(encoding.NAMES) == len(set(encoding.NAMES)) == encoding.PLANES


def test_a_broken_game_package_stops_nobody_else(monkeypatch):
    broken = EntryPoint("fourline", "nosuchpackage.fourline:SPEC", "ckai.games")
    entries = choices.entry_points_of(choices.GAMES) | {"fourline": broken}
    for module in (choices, encodings, game_registry):
        monkeypatch.setattr(module, "entry_points_of", lambda group: entries)
    reason = (
        r"game fourline, entry point nosuchpackage\.fourline:SPEC: cannot be imported \(ModuleNotFoundError"
    )
    with pytest.raises(ValueError, match=rf"expected one of the encodings .*, found 'foo'; {reason}"):
        encoding_type("foo")
    with pytest.raises(ValueError, match=reason):
        game_registry.get_game("fourline")


def test_an_encoding_without_a_version_of_its_own_is_refused():
    class Mine(MovesEncoding):
        PLANES = 13

    with pytest.raises(ValueError, match="encoding mine: expected Mine to define VERSION, found none"):
        register_encoding("mine")(Mine)
