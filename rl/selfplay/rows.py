"""Finished self-play games, and their conversion to rows of a data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.schema import HEADERS_SCHEMA, SELFPLAY_HEADERS_SCHEMA, SELFPLAY_SCHEMA
from ckai.datasets.writer import row_arrays
from ckai.game.jit import quick_kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import as_state
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.recording import UNDECIDED, Records

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1", UNDECIDED: "*"}
"""PDN results by Black's score; in English draughts "1-0" means that Black won."""
PLAYER_NAME = "ckai"
"""Name in PDN of a network that belongs to no run."""


@dataclass(frozen=True)
class Ending:
    """How a game of self-play ended."""

    result: str
    """PDN result: `1-0` (Black won), `0-1`, `1/2-1/2` or `*`."""
    adjudicated: bool = False
    """Whether it ended in a tablebase position."""
    resigned: bool = False
    """Whether a side resigned."""
    resigner: str | None = None
    """The side that would have resigned first, `Black` or `White`, if resignation was disabled."""


@dataclass(frozen=True)
class FinishedGame:
    """A game of self-play: one row per hop, in the order of play."""

    number: int
    """Number of the game in its generation."""
    rows: NDArray[Any]
    """[n] `recording.row_dtype`."""
    counts: NDArray[Any]
    """[v] `recording.COUNT`; those of a row are `counts[first_count : first_count + num_counts]`."""
    result: int
    """1 Black won, 0 draw, -1 White won, or `UNDECIDED`."""
    adjudicated: bool = False
    """See `Ending`."""
    resigned: bool = False
    """See `Ending`."""
    resigner: str | None = None
    """See `Ending`."""
    spec: GameSpec = DEFAULT_GAME
    """The game that was played."""
    black: str = PLAYER_NAME
    """Name of the player of Black."""
    white: str = PLAYER_NAME
    """Name of the player of White."""

    @property
    def plies(self) -> int:
        """Number of plies played."""
        return int(self.rows["ply"][-1]) + 1 if len(self.rows) else 0

    @property
    def result_text(self) -> str:
        """PDN result, see `Ending.result`."""
        return RESULTS[self.result]

    @property
    def ending(self) -> Ending:
        """How the game ended."""
        return Ending(self.result_text, self.adjudicated, self.resigned, self.resigner)

    def replay(self) -> Any:
        """Return the game with its positions and moves, see `GameSpec.game`."""
        game = self.spec.game(self.spec.position(as_state(self.rows[0]["state"]) if len(self.rows) else None))
        actions: list[int] = []
        for i, row in enumerate(self.rows):
            actions.append(int(row["action"]))
            if i + 1 == len(self.rows) or self.rows[i + 1]["hop"] == 0:
                move = game.position.move_of(actions)
                if move is None:
                    raise ValueError(
                        f"{self.spec.name}, game {self.number}, ply {row['ply']}: expected a legal move, "
                        f"found the actions {', '.join(map(str, actions))}; see move_of of its positions"
                    )
                game.push(move)
                actions = []
        return game


def copy_game(records: Records, t: int, spec: GameSpec = DEFAULT_GAME) -> FinishedGame:
    """Copy the game of tree `t` out of the records, finished or not.

    Args:
        records: the records.
        t: index of the tree.
        spec: the game that was played.

    Returns:
        The game; its result is from Black's side, also where White moved first.
    """
    game = records.games[t]
    n, v = int(game["rows"]), int(game["counts"])
    rows, result = records.rows[t, :n].copy(), int(game["result"])
    # Records have the first player's result, and a game may start with White to move.
    black_first = not n or spec.position(as_state(rows[0]["state"])).black
    if result != UNDECIDED and not black_first:
        result = -result
    counts = records.counts[t, :v].copy()
    resigner = None
    if game["resigner"]:
        resigner = "Black" if (int(game["resigner"]) == 1) == black_first else "White"
    return FinishedGame(
        int(game["game"]),
        rows,
        counts,
        result,
        bool(game["adjudicated"]),
        bool(game["resigned"]),
        resigner,
        spec=spec,
    )


@quick_kernel
def _fill(game, states, encoded, legal):  # type: ignore[no-untyped-def]
    """Encode states `[N, W]` to `encoded` `[N, POSITION_BYTES]`, legal actions to bits `legal` `[N, B]`."""
    actions = np.empty(contract.max_legal_actions(game), np.uint8)  # type: ignore[no-untyped-call]
    for i in range(len(states)):
        state = contract.load_state(game, states[i])  # type: ignore[no-untyped-call]
        contract.encode(game, state, encoded[i])  # type: ignore[no-untyped-call]
        legal[i] = 0
        count = contract.legal(game, state, actions)  # type: ignore[no-untyped-call]
        for n in range(count):
            legal[i, actions[n] >> 3] |= np.uint8(1) << (actions[n] & 7)


def to_table(games: Sequence[FinishedGame], generation: int) -> pa.Table:
    """Convert games to rows of the self-play schema, sorted by (game, ply, hop).

    Args:
        games: one or more games of the same `GameSpec`.
        generation: number of the generation that played them.

    Returns:
        The rows; the column z is null where a game has no result.
    """
    games = sorted(games, key=lambda game: game.number)
    spec, schema = games[0].spec, games[0].spec.schema
    rows = np.concatenate([game.rows for game in games])
    counts = np.concatenate([game.counts for game in games])
    lengths = [len(game.rows) for game in games]
    n = len(rows)
    states = np.ascontiguousarray(rows["state"])
    encoded, legal = (
        np.empty((n, spec.position_bytes), np.int8),
        np.empty((n, spec.legal_mask_bytes), np.uint8),
    )
    _fill(spec.rules, states, encoded, legal)
    first = np.repeat([spec.position(as_state(game.rows[0]["state"])).black for game in games], lengths)
    black = (rows["side"] == 0) == first
    result = np.repeat(np.array([game.result for game in games], np.int8), lengths)
    unknown = result == UNDECIDED
    z = np.where(black, result, -result).astype(np.int8)
    offsets = np.concatenate([[0], np.cumsum(rows["num_counts"], dtype=np.int64)]).astype(np.int32)
    visits = pa.StructArray.from_arrays(
        [pa.array(counts["action"]), pa.array(counts["visits"])], fields=list(_visit_type())
    )
    columns = row_arrays(
        game=np.repeat(np.array([game.number for game in games], np.int32), lengths),
        ply=rows["ply"].astype(np.int16),
        hop=rows["hop"].astype(np.int8),
        black=black,
        board=np.ascontiguousarray(encoded[:, :-2]),
        jumper=np.ascontiguousarray(encoded[:, -2]),
        quiet=spec.halfmove_clocks(states),
        legal=legal,
        label=np.ascontiguousarray(rows["action"]),
        z=np.where(unknown, result, z),
        unknown=UNDECIDED,
    )
    columns |= {
        "q": pa.array(np.ascontiguousarray(rows["q"])),
        "visits": pa.ListArray.from_arrays(pa.array(offsets), visits),
        "generation": pa.array(np.full(n, generation, np.int32)),
    }
    return pa.Table.from_arrays(
        [columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema
    )


def _visit_type() -> pa.StructType:
    return SELFPLAY_SCHEMA.field("visits").type.value_type


def headers_of_rows(
    table: pa.Table,
    source: str,
    tags: Mapping[int, Mapping[str, str]],
    networks: Mapping[int, str | None] | None = None,
) -> pa.Table:
    """Return the table of headers, one row per game, of self-play rows.

    Args:
        table: rows sorted by (game, ply, hop).
        source: event and source of the games.
        tags: tags of the PDN of each game, by its number.
        networks: hash of the network that played each game, by its number, None where it is not known;
            without them the table has no column for it.
    """
    game = table["game"].to_numpy()
    last = np.flatnonzero(np.append(game[1:] != game[:-1], True))
    n = len(last)
    of_games = [tags[number] for number in game[last].tolist()]
    columns: dict[str, Any] = {
        "game": game[last],
        "event": [source] * n,
        "date": [None] * n,
        "black": [each["Black"] for each in of_games],
        "white": [each["White"] for each in of_games],
        "result": [each["Result"] for each in of_games],
        "opening": [None] * n,
        "plies": table["ply"].to_numpy()[last].astype(np.int32) + 1,
        "line": np.zeros(n, np.int64),
        "source": [source] * n,
    }
    if networks is None:
        return pa.table(columns, schema=HEADERS_SCHEMA)
    columns["network"] = [networks[number] for number in game[last].tolist()]
    return pa.table(columns, schema=SELFPLAY_HEADERS_SCHEMA)
