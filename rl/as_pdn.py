"""Games of self-play and matches as PDN text."""

import textwrap

from ckai.game import Game
from ckai.rl.match import MatchResult
from ckai.rl.rows import FinishedGame


def to_pdn(game: Game, headers: dict[str, str], result: str) -> str:
    """A game as PDN; the first position is told by a FEN tag where it is not the usual one."""
    tags = {**headers, "Result": result, "GameType": "21"}
    start = game.positions[0]
    if start.key != type(start).start().key:
        tags |= {"SetUp": "1", "FEN": start.fen}
    words = []
    for i, move in enumerate(game.moves):
        if i % 2 == 0:
            words.append(f"{i // 2 + 1}.")
        words.append(str(move))
    lines = [f'[{name} "{value}"]' for name, value in tags.items()]
    return "\n".join([*lines, *textwrap.wrap(" ".join([*words, result]), 80), "", ""])


def finished_pdn(game: FinishedGame, generation: int) -> str:
    """A game of self-play as PDN."""
    headers = {
        "Event": f"self-play, generation {generation}",
        "Round": str(game.number),
        "Black": "ckai",
        "White": "ckai",
    }
    return to_pdn(game.replay(), headers, game.result_text)


def match_pdn(result: MatchResult, a: str, b: str) -> str:
    """Every game of a match as PDN, the players by name."""
    texts = []
    for game in result.games:
        black, white = (a, b) if game.a_black else (b, a)
        headers = {"Event": f"{a} against {b}", "Round": str(game.pair + 1), "Black": black, "White": white}
        texts.append(to_pdn(game.game, headers, game.outcome.result if game.outcome else "*"))
    return "\n".join(texts)
