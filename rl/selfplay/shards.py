"""Finished games of self-play and their shards: whole games as the bytes of a Parquet file.

The rows of some games and what is known of them besides are in the same file, so that they cannot get out of
step. Rows have the checksums of Parquet; the metadata, which Parquet gives none, begin with one of their own.
"""

import io
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.convert import selfplay_tags
from ckai.datasets.files import first_line
from ckai.datasets.schema import SELFPLAY_SCHEMA, SHARD_KEY, from_numpy, pack_json, row_table, shard_of
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
class GameHeader:
    """What is known of a game of self-play besides its rows, as a shard has it in JSON."""

    game: int
    """Its number among the games of its worker."""
    black: str
    white: str
    """Names of the players."""
    result: str
    """PDN result: `1-0` (Black won), `0-1`, `1/2-1/2` or `*`."""
    plies: int
    state: tuple[int, ...]
    """The first state, see `GameSpec.state`: rows do not say who is Black."""
    adjudicated: bool = False
    """Whether it ended in a tablebase position."""
    resigned: bool = False
    resigner: str | None = None
    """The side that would have resigned first, `Black` or `White`, if resignation was disabled."""

    def pdn(self, spec: GameSpec, actions: Sequence[int], hops: Sequence[int]) -> str:
        """Return the game as PDN text; `actions` and `hops` are columns `label` and `hop` of its rows."""
        return spec.to_pdn(self.replay(spec, actions, hops), selfplay_tags(vars(self)), self.result)

    def replay(self, spec: GameSpec, actions: Sequence[int], hops: Sequence[int]) -> Any:
        """Return the game with its positions and moves, see `GameSpec.game`."""
        game = spec.game(spec.position(as_state(self.state)))
        move_actions: list[int] = []
        for action, following in zip(actions, [*hops[1:], 0], strict=True):
            move_actions.append(int(action))
            if following == 0:
                move = game.position.move_of(move_actions)
                if move is None:
                    raise ValueError(
                        f"{spec.name}, game {self.game}, ply {len(game.moves)}: expected a legal move, found "
                        f"the actions {', '.join(map(str, move_actions))}; see move_of of its positions"
                    )
                game.push(move)
                move_actions = []
        return game


@dataclass(frozen=True)
class FinishedGame:
    """A game of self-play: one row per hop, in the order of play."""

    header: GameHeader
    rows: NDArray[Any]
    """[n] `recording.row_dtype`."""
    counts: NDArray[Any]
    """[v] `recording.COUNT`; those of a row are `counts[first_count : first_count + num_counts]`."""
    result: int
    """1 Black won, 0 draw, -1 White won, or `UNDECIDED`."""
    black_first: bool
    networks: NDArray[np.int32]
    """[n] number of the newest network when each row was played."""
    spec: GameSpec = DEFAULT_GAME

    @property
    def number(self) -> int:
        """Number of the game."""
        return self.header.game

    def replay(self) -> Any:
        """See `GameHeader.replay`."""
        return self.header.replay(self.spec, self.rows["action"].tolist(), self.rows["hop"].tolist())

    def pdn(self) -> str:
        """See `GameHeader.pdn`."""
        return self.header.pdn(self.spec, self.rows["action"].tolist(), self.rows["hop"].tolist())


def copy_game(
    records: Records,
    t: int,
    spec: GameSpec = DEFAULT_GAME,
    names: tuple[str, str] = (PLAYER_NAME, PLAYER_NAME),
    played: Sequence[tuple[int, int]] = ((0, 0),),
) -> FinishedGame:
    """Copy the game of tree `t`, which has a row or more, out of the records, finished or not.

    `names` are those of the first and the second player; `played` has the first row that each network played,
    and its number. The result of the game is from Black's side, also where White moved first.
    """
    game = records.games[t]
    n, v = int(game["rows"]), int(game["counts"])
    rows, result = records.rows[t, :n].copy(), int(game["result"])
    state = as_state(rows[0]["state"])
    # Records have the first player's result, and a game may start with White to move.
    black_first = bool(spec.position(state).black)
    if result != UNDECIDED and not black_first:
        result = -result
    resigner = None
    if game["resigner"]:
        resigner = "Black" if (int(game["resigner"]) == 1) == black_first else "White"
    black, white = names if black_first else names[::-1]
    networks = np.zeros(n, np.int32)
    for first, network in played:
        networks[first:] = network
    header = GameHeader(
        int(game["game"]),
        black,
        white,
        RESULTS[result],
        int(rows[-1]["ply"]) + 1,
        tuple(int(word) for word in state),
        bool(game["adjudicated"]),
        bool(game["resigned"]),
        resigner,
    )
    return FinishedGame(header, rows, records.counts[t, :v].copy(), result, black_first, networks, spec)


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


def to_table(games: Sequence[FinishedGame]) -> pa.Table:
    """Convert one or more games of a `GameSpec` to rows of its schema, sorted by (game, ply, hop).

    The column z is null where a game has no result.
    """
    games = sorted(games, key=lambda game: game.number)
    spec, schema = games[0].spec, games[0].spec.schema
    rows = np.concatenate([game.rows for game in games])
    counts = np.concatenate([game.counts for game in games])
    lengths = [len(game.rows) for game in games]
    n = len(rows)
    states = np.ascontiguousarray(rows["state"])
    encoded = np.empty((n, spec.rules.POSITION_BYTES), np.int8)
    legal = np.empty((n, spec.legal_mask_bytes), np.uint8)
    _fill(spec.rules, states, encoded, legal)
    first = np.repeat([game.black_first for game in games], lengths)
    black = (rows["side"] == 0) == first
    result = np.repeat(np.array([game.result for game in games], np.int8), lengths)
    unknown = result == UNDECIDED
    z = np.where(black, result, -result).astype(np.int8)
    offsets = np.concatenate([[0], np.cumsum(rows["num_counts"], dtype=np.int64)]).astype(np.int32)
    visits = pa.StructArray.from_arrays(
        [from_numpy(counts["action"]), from_numpy(counts["visits"])],
        fields=list(SELFPLAY_SCHEMA.field("visits").type.value_type),
    )
    columns = {
        "game": np.repeat(np.array([game.number for game in games], np.int32), lengths),
        "ply": rows["ply"].astype(np.int16),
        "hop": rows["hop"].astype(np.int8),
        "black": black,
        "board": encoded[:, :-2],
        "jumper": encoded[:, -2],
        "quiet": encoded[:, -1].astype(np.int16),
        "legal": legal,
        "label": rows["action"],
        "z": np.where(unknown, result, z),
        "q": rows["q"],
        "generation": np.concatenate([game.networks for game in games]),
    }
    found = pa.ListArray.from_arrays(from_numpy(offsets), visits)
    return row_table(columns, UNDECIDED, schema, visits=found)


@cache
def ckai_version() -> str:
    """Return the version of ckai."""
    return version("ckai")


def own_name() -> str:
    """Return a name for a worker of this process; no other call returns it."""
    host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())
    # Containers that share a host name, or one that is started again, may have equal PIDs.
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


def hash_of(data: bytes) -> str:
    """Return the hash of bytes, by which a shard names the networks and the settings of its games."""
    return sha256(data).hexdigest()[:32]


@dataclass(frozen=True)
class Shard:
    """What a shard says besides its rows."""

    worker: str
    """Name of the process that played; with the number of a game it names the game in the run."""
    settings: str
    """Hash of the settings of the run."""
    version: str = field(default_factory=ckai_version)
    networks: dict[str, str] = field(default_factory=dict)
    """Hash of each network that played, by its number."""
    evaluations: int = 0
    """Network evaluations of the worker since its shard before."""
    seconds: float = 0.0
    """Time since then."""
    games: tuple[GameHeader, ...] = ()

    def pack(self, games: Sequence[FinishedGame]) -> bytes:
        """Return a shard of games, one or more of the same `GameSpec`, as bytes."""
        games = sorted(games, key=lambda game: game.number)
        table = to_table(games)
        about = replace(self, games=tuple(game.header for game in games))
        metadata = {**table.schema.metadata, SHARD_KEY: pack_json(asdict(about))}
        out = io.BytesIO()
        write_parquet(table.replace_schema_metadata(metadata), out)
        return out.getvalue()

    @classmethod
    def read_rows(cls, source: Path, schema: pa.Schema = SELFPLAY_SCHEMA) -> "tuple[Shard, pa.Table]":
        """Read a shard with its rows, and check them.

        A ValueError says that it is not a whole shard with the columns of the schema.
        """
        try:
            table = pq.read_table(source, page_checksum_verification=True)
            if not table.schema.equals(schema):
                raise ValueError(f"columns {', '.join(table.schema.names)}")
            if (data := shard_of(table.schema.metadata)) is None:
                raise ValueError("no shard of self-play")
            games = [GameHeader(**{**game, "state": tuple(game["state"])}) for game in data.pop("games")]
            about = cls(**data, games=tuple(games))
            numbers = [game.game for game in games]
            if sorted(set(numbers)) != sorted(numbers) or set(numbers) != set(table["game"].to_pylist()):
                raise ValueError("rows and headers of different games")
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(first_line(error)) from error
        return about, table.replace_schema_metadata(schema.metadata)


def games_as_pdn(path: Path, spec: GameSpec) -> Iterator[str]:
    """Yield the games of a shard as PDN texts, in the order of its headers; see `Shard.read_rows`."""
    about, table = Shard.read_rows(path, spec.schema)
    numbers, actions, hops = (table[name].to_pylist() for name in ("game", "label", "hop"))
    first = 0
    for header in about.games:
        end = first + numbers[first:].count(header.game)
        yield header.pdn(spec, actions[first:end], hops[first:end])
        first = end


def write_parquet(table: pa.Table, file: Any) -> None:
    """Write a table to an open file as Parquet with checksums."""
    pq.write_table(table, file, compression="zstd", row_group_size=65536, write_page_checksum=True)


class ShardWriter:
    """Collects finished games and delivers them as shards; may be called by several threads."""

    def __init__(self, about: Shard, deliver: Callable[[str, bytes], None]) -> None:
        """Begin without games.

        Args:
            about: what its shards say, but for games, networks, evaluations and time.
            deliver: takes the name and the bytes of each shard; no other process gives one that name.
        """
        self.about, self._deliver, self._process, self._number = about, deliver, own_name(), 0
        self.networks: dict[int, str] = {}
        """Hash of each network that may have played, by its number."""
        self._waiting: list[FinishedGame] = []
        self._lock, self._flushing = threading.Lock(), threading.Lock()
        self.begin(0)

    def begin(self, evaluations: int) -> None:
        """Count time and evaluations from now on; `evaluations` is the number of all so far."""
        self._at, self._evaluations = time.monotonic(), evaluations

    def add(self, game: FinishedGame) -> None:
        """Add a finished game."""
        with self._lock:
            self._waiting.append(game)

    def flush(self, evaluations: int) -> None:
        """Deliver the games that were added; `evaluations` is the number of all so far."""
        with self._flushing:
            with self._lock:
                games, self._waiting = self._waiting, []
            if not games:
                return
            now, numbers = time.monotonic(), sorted({int(n) for game in games for n in set(game.networks)})
            about = replace(
                self.about,
                networks={str(n): self.networks[n] for n in numbers},
                evaluations=evaluations - self._evaluations,
                seconds=round(now - self._at, 3),
            )
            name = f"{numbers[-1]:04d}-{self._process}-{self._number:06d}.parquet"
            try:
                self._deliver(name, about.pack(games))
            except BaseException:
                with self._lock:  # a full disk loses nothing
                    self._waiting = games + self._waiting
                raise
            self._number += 1
            self._at, self._evaluations = now, evaluations
