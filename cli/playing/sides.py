"""A game between two sides: engines, where it begins (an opening, a file), how it ends but by rule."""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

from ckai.cli.shared.found import STRONGEST, networks_in
from ckai.cli.shared.options import open_tables
from ckai.game import Outcome
from ckai.rl.analysis.report import POINTS, expected_score
from ckai.rl.engine.base import Engine, SearchResult, Stop
from ckai.rl.engine.limit import Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

VARIED_PLIES = 8
"""Plies at the start of a game in which a move nearly as good as the best may be played, for variety."""
NEARLY = 0.5
"""Share of the best move's visits that such a move needs."""


def choose_move(
    engine: Engine, game: Any, clock: Limit | None, chance: random.Random | None, stop: Stop
) -> SearchResult:
    """Let an engine choose a move, see `Engine.play`; a tree search varies its first moves.

    `clock` replaces the limit of an engine that takes one. At the start of a game `chance` draws one of the
    moves with nearly as many visits as the best: its line comes first then.
    """
    limit = clock if "clock" in engine.takes else None
    if chance is None or "visits" not in engine.takes or len(game.moves) >= VARIED_PLIES:
        return engine.play(game, limit, stop=stop)
    result = engine.play(game, limit, lines=len(game.position.legal_moves()), stop=stop)
    least = max(1.0, NEARLY * max(line.visits for line in result.lines))
    likely = [line for line in result.lines if line.visits >= least and line.proven != "loss"]
    if result.proven is not None or result.lines[0] not in likely:
        return result
    chosen = chance.choices(likely, [line.visits for line in likely])[0]
    return replace(result, lines=[chosen, *(line for line in result.lines if line is not chosen)])


def load_engine(text: str, spec: GameSpec, seed: int | None = None) -> Engine:
    """Load an engine, see `Engine.load`, with the tablebases there are."""
    return Engine.load(text, tables=open_tables(spec=spec), game=spec, seed=seed)


def judge_of(spec: GameSpec) -> str:
    """Return the engine that explains and judges a game: the strongest one there is, a second a search."""
    if spec == DEFAULT_GAME:
        return f"{STRONGEST}@1s"
    networks = (str(path) for path, game in networks_in() if game == spec.name)
    return next(networks, "rollout") + "@1s"


def outlook(game: Any, search: Callable[[Any], SearchResult]) -> tuple[float, list[Any]]:
    """Return the score that the first player can expect in a game, and what follows."""
    if (outcome := game.outcome()) is not None:
        return POINTS[outcome.result], []
    found = search(game)
    return expected_score(0.0 if found.value is None else found.value.black()), found.pv


Side: TypeAlias = Literal["black", "white"]

SIDES: Final[tuple[Side, Side]] = ("black", "white")
BALLOT = "ballot"


def game_of(moves: Iterable[Any], spec: GameSpec, start: Any = None) -> Any:
    """Return a game with these moves, from a position or the usual one."""
    game = spec.game(start)
    for move in moves:
        game.push(move)
    return game


def side_of(position: Any) -> Side:
    """Return the side to move."""
    return "black" if position.black else "white"


def other(side: Side) -> Side:
    """Return the other side."""
    return "white" if side == "black" else "black"


def outcome_text(outcome: Outcome, spec: GameSpec) -> str:
    """Return an outcome in words, the sides called as in a game: `White won: Black resigned (0-1)`."""
    text = str(outcome)
    for word, name in zip(("Black", "White"), spec.side_names, strict=True):
        text = text.replace(word, name)
    return f"{text} ({outcome.result})"


def opening_moves(text: str, spec: GameSpec, chance: random.Random) -> tuple[str, ...]:
    """Return the moves of an opening: of its name or a beginning, `ballot`, `ballot:N`, or moves."""
    wanted = _plain(text)
    if wanted.startswith(BALLOT) and (ballots := spec.ballot):
        digits = wanted.removeprefix(BALLOT).strip(": ") or str(chance.randrange(len(ballots)) + 1)
        if digits.isdecimal() and 1 <= int(digits) <= len(ballots):
            return ballots[int(digits) - 1]
        raise ValueError(f"expected ballot:1 to ballot:{len(ballots)}, found {text[:40]!r}")
    if re.match(r"\s*[A-Za-z]?\d", text):
        game = spec.game()
        for word in text.split():
            if not re.fullmatch(r"\d+\.", word):
                game.push(spec.read_move(game.position, word))
        return tuple(map(str, game.moves))
    plain = {_plain(name): name for name in spec.named_openings}
    found = [wanted] if wanted in plain else [each for each in plain if wanted and each.startswith(wanted)]
    if len(found) == 1:
        return spec.named_openings[plain[found[0]]]
    expected = "the name of an opening, ballot, ballot:N or moves" if plain else "moves"
    raise ValueError(f"expected {expected}, found {text[:40]!r}{near_openings(text, spec, found)}")


def near_openings(text: str, spec: GameSpec, found: Sequence[str] = ()) -> str:
    """Return `; did you mean ...?` with the openings `found`, else with some like a text; or nothing."""
    plain = {_plain(name): name for name in spec.named_openings}
    names = [plain[each] for each in found or get_close_matches(_plain(text), plain, cutoff=0.5)]
    return f"; did you mean {', '.join(names)}?" if names else ""


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9: ]", "", text.lower().replace("-", " ")).split())
