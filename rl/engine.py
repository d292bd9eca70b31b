"""The engine: a network and a search behind one call."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Move, Position
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.arrays import NEW, TERMINAL
from ckai.rl.search.factory import make_searcher
from ckai.rl.search.mcts import PROOF_VALUE
from ckai.rl.search.selection import Puct

LEAVES = 96
"""Positions in one call of the network, at most."""
GROWTH = 32
"""Visits at the root for each position of a call: few visits in large calls would follow the first guess."""
BATCHES = 2
"""Calls at once."""

LONGEST_PV = 40
"""Moves."""

PROOF_NAMES = {int(WIN): "win", int(LOSS): "loss", int(DRAW): "draw"}


@dataclass(frozen=True)
class SearchResult:
    """What a search found. Values are in [-1, 1] for the side to move, +1 it wins."""

    move: str
    """The move to play, all landing squares: `11x18x25`."""
    value: float
    pv: list[str]
    """The expected line, this move first."""
    visits: dict[str, int]
    """Visit count of every legal move, the most first."""
    priors: dict[str, float]
    """The network's probability of every legal move, the same order."""
    sims: int
    """Visits at the root, those kept from an earlier search included."""
    seconds: float = 0.0
    proven: str | None = None
    """`win`, `loss` or `draw` if the search proved it."""
    plies: int | None = None
    """Plies to the end of a proven win or loss, None otherwise."""
    proofs: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    """What is proven of a move: what it is worth to the side that plays it, and the plies to the end."""


@dataclass(frozen=True)
class Policy:
    """What the network says without a search."""

    moves: dict[str, float]
    """Probability of every legal move, the highest first."""
    value: float
    """[-1, 1] for the side to move."""


@dataclass
class _Line:
    """A chain of hops that makes one whole move, read from the tree."""

    move: Move
    visits: int = 0
    prior: float = 1.0
    proof: int = NONE
    plies: int = 0
    nodes: list[int] = field(default_factory=list)


class Engine:
    """Finds moves by PUCT search over an evaluator. One search at a time; not for several threads."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        seed: int | None = None,
        puct: Puct | None = None,
        nodes: int = 1_000_000,
        leaves: int = LEAVES,
        batches: int = BATCHES,
        game: Checkers | None = None,
        tables: Tables | None = None,
    ) -> None:
        """Make an engine.

        Args:
            evaluator: evaluates positions.
            seed: of what is random in the search (nothing, unless `puct` asks for noise).
            puct: constants of the search.
            nodes: most positions a tree holds; a longer search stops there.
            leaves: most positions in one call of the evaluator; smaller calls come first.
            batches: calls at once, each in a thread of its own. What is found depends on the number, not on
                the threads.
            game: the draw rules.
            tables: endgames that are known: the search proves every position that is in them, and plays
                those by the shortest win or the longest loss.
        """
        self.evaluator = evaluator
        self.tables = tables
        self._searcher = make_searcher(
            evaluator,
            nodes=nodes,
            leaves=leaves,
            growth=GROWTH,
            batches=batches,
            puct=puct,
            game=(game or Checkers()).with_tables(tables),
            seed=0 if seed is None else seed,
        )
        self._root: Position | None = None
        self._past: list[Position] = []

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        evaluator: str = "auto",
        tables: Tables | int | None = None,
        seed: int | None = None,
        tell: Callable[[Any], None] | None = None,
        **settings: Any,
    ) -> "Engine":
        """An engine from a checkpoint.

        Args:
            source: a checkpoint file; `uniform` for a search without a network; `rollout` for one with
                random playouts.
            evaluator: `auto`, a GPU if there is one and else PyTorch on the CPU; `fastest`, what a trial of
                some seconds finds (`auto` of `load_evaluator`); or the name of a backend.
            tables: endgame tables, or of how many pieces (`Tables.open`); None: none.
            seed: see `Engine`.
            tell: with the evaluator `fastest`, is given what the trial found.
            **settings: further settings of `Engine`.

        Raises:
            CheckpointError: the file is no checkpoint that fits.
            TableError: there are no such tables.
        """
        if isinstance(tables, int):
            tables = Tables.open(tables)
        if evaluator == "auto":
            import torch

            backend = "cuda" if torch.cuda.is_available() else "torch"
        else:
            backend = "auto" if evaluator == "fastest" else evaluator
        leaves, batches = int(settings.get("leaves", LEAVES)), int(settings.get("batches", BATCHES))
        loaded = load_evaluator(source, backend, batch=leaves, threads=batches, tell=tell)
        return cls(loaded, seed=seed, tables=tables, **settings)

    # --- the network alone --------------------------------------------------------------------------

    def policy(self, position: Position | str) -> Policy:
        """The network's answer without a search; a move of several hops has the product of its hops.

        Raises:
            ValueError: if the side to move has no legal move.
        """
        here = _position(position)
        moves = _moves(here)
        # Every position on the way of a capture is evaluated in one call.
        chains = {m.actions[:n] for m in moves for n in range(len(m.actions))}
        prefixes = sorted(chains, key=lambda actions: (len(actions), actions))
        boards = np.stack([encode(_after(here, actions)) for actions in prefixes])
        with one_torch_thread():
            logits, values = self.evaluator.evaluate(boards)
        priors: dict[tuple[int, ...], float] = {}
        for actions, row in zip(prefixes, logits, strict=True):
            legal = _after(here, actions).legal_actions()
            weights = np.exp(row[legal] - row[legal].max())
            for action, p in zip(legal, weights / weights.sum(), strict=True):
                priors[(*actions, action)] = float(p)
        whole = {
            m: float(np.prod([priors[m.actions[: n + 1]] for n in range(len(m.actions))])) for m in moves
        }
        return Policy(
            {str(m): whole[m] for m in sorted(moves, key=lambda m: (-whole[m], m))},
            float(np.clip(values[prefixes.index(())], -1, 1)),
        )

    # --- search -------------------------------------------------------------------------------------

    def search(
        self,
        position: Position | str,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        history: Sequence[Position | str] = (),
    ) -> SearchResult:
        """Search a position.

        Args:
            position: a `Position` or a FEN. If it is reached from the last one searched by one or two moves,
                the tree is kept.
            sims: visits wanted at the root (those kept count); 400 if neither limit is given.
            seconds: time to search; with `sims` too, whichever comes first.
            history: earlier positions of the game, oldest first, for repetitions. They also tell the halfmove_clock
                count where the position has none (a FEN).

        Raises:
            ValueError: no legal move, or a limit out of range.
            PositionError: a FEN that cannot be read.
        """
        if sims is None and seconds is None:
            sims = 400
        if (sims is not None and sims < 1) or (seconds is not None and not seconds > 0):
            raise ValueError(f"expected sims >= 1 and seconds > 0, found sims={sims}, seconds={seconds}")
        begun = time.perf_counter()
        past = [_position(p) for p in history]
        here = _with_halfmove_clock(_position(position), past)
        moves = _moves(here)
        self._set_root(here, past)
        searcher = self._searcher
        visits = np.array([np.iinfo(np.int32).max if sims is None else sims], np.int32)
        least = np.ones(1, np.int32)
        with one_torch_thread():
            searcher.step(least)  # however short the time, the root is evaluated
            while seconds is None or time.perf_counter() - begun < seconds:
                if searcher.step(visits) == 0:
                    break
            searcher.land()
        return self._report(here, moves, time.perf_counter() - begun)

    def forget(self) -> None:
        """Drop the tree: the next search begins from nothing."""
        self._root = None

    def _set_root(self, here: Position, past: list[Position]) -> None:
        actions = self._way_to(here, past)
        if actions is not None:
            for action in actions:
                self._searcher.play(0, action)
        else:
            keys = (
                [pack(replace(p, halfmove_clock=0)) for p in past[-here.halfmove_clock :]]
                if here.halfmove_clock
                else []
            )
            self._searcher.set_root(0, pack(here), np.array(keys, np.int64).reshape(-1, 2))
        root = self._searcher.root(0)
        if root["status"] == TERMINAL:  # drawn by rule as it stands: search on as if it were not
            self._searcher.set_root(0, pack(here))
            if self._searcher.root(0)["status"] == TERMINAL:
                self._searcher.tree_batch.nodes[0, 0]["status"] = NEW
                self._searcher.tree_batch.nodes[0, 0]["proof"] = NONE
        self._root, self._past = here, past

    def _way_to(self, here: Position, past: list[Position]) -> list[int] | None:
        """The hops from the last root to this one, if the tree can be kept; else None."""
        old = self._root
        if old is None:
            return None
        if old == here and [p.key for p in past] == [p.key for p in self._past]:
            return []
        for move in old.legal_moves():
            middle = old.push(move)
            if middle == here and self._continues(past, [old]):
                return list(move.actions)
            for reply in middle.legal_moves():
                if middle.push(reply) == here and self._continues(past, [old, middle]):
                    return [*move.actions, *reply.actions]
        return None

    def _continues(self, past: list[Position], since: list[Position]) -> bool:
        """Whether a history is the last one and the positions since; no history at all is taken as such."""
        return not past or [p.key for p in past] == [p.key for p in [*self._past, *since]]

    # --- reading the tree ---------------------------------------------------------------------------

    def _line(self, node: int, move: Move) -> _Line:
        """Visits and prior of a whole move that starts at a node."""
        nodes, edges = self._searcher.tree_batch.nodes[0], self._searcher.tree_batch.edges[0]
        line = _Line(move)
        for action in move.actions:
            line.nodes.append(node)
            if node < 0 or nodes[node]["status"] != 1:
                line.visits, node = 0, -1
                continue
            first = nodes[node]["first_edge"]
            mine = edges[first : first + nodes[node]["num_edges"]]
            edge = mine[mine["action"] == action][0]
            line.prior *= float(edge["prior"])
            line.visits = int(edge["visits"])
            line.proof, line.plies = int(edge["proof"]), int(edge["plies"])
            node = int(edge["child"])
        line.nodes.append(node)
        return line

    def _best_move(self, position: Position, node: int) -> _Line | None:
        """The move to play at a node, hop by hop as `choose` orders them; None where nothing was searched."""
        nodes, edges = self._searcher.tree_batch.nodes[0], self._searcher.tree_batch.edges[0]
        actions: list[int] = []
        at, moves = node, position.legal_moves()
        while at >= 0 and nodes[at]["status"] == 1:
            first = int(nodes[at]["first_edge"])
            mine, proof = edges[first : first + int(nodes[at]["num_edges"])], int(nodes[at]["proof"])
            best = first + max(range(len(mine)), key=lambda i: _rank(mine[i], proof))
            actions.append(int(edges[best]["action"]))
            at = int(edges[best]["child"])
            found = [m for m in moves if m.actions == tuple(actions)]
            if found:
                return self._line(node, found[0])
        if not actions:
            return None
        # A capture whose last hops were never searched: the network's favourite.
        rest = [m for m in moves if m.actions[: len(actions)] == tuple(actions)]
        policy = self.policy(position).moves
        return self._line(node, max(rest, key=lambda m: policy[str(m)]))

    def _hurry(self, here: Position, lines: list[_Line]) -> _Line | None:
        """A move that keeps a win of the tables, which the draw by count may take; None if it is no win.

        Of the shortest ways the one that begins the count again, then the one searched most.
        """
        assert self.tables is not None
        if self.tables.probe(here).value != "win":
            return None
        best = self.tables.best_moves(here)
        return max(
            (line for line in lines if line.move in best),
            key=lambda line: (here.push(line.move).halfmove_clock == 0, line.visits, line.prior),
        )

    def _report(self, here: Position, moves: list[Move], seconds: float) -> SearchResult:
        root = self._searcher.root(0)
        lines = [self._line(0, move) for move in moves]
        best = self._best_move(here, 0)
        if best is None:
            raise RuntimeError("the root was not evaluated")
        if int(root["proof"]) == NONE and self.tables is not None and self.tables.knows(here):
            best = self._hurry(here, lines) or best
        lines.sort(key=lambda line: (line.move != best.move, -line.visits, -line.prior, line.move))
        proof = int(root["proof"])
        value = (
            float(PROOF_VALUE[proof])
            if proof != NONE
            else float(root["value_sum"]) / max(1, int(root["visits"]))
        )
        pv: list[str] = []
        position, line = here, best
        while line is not None and len(pv) < LONGEST_PV:
            pv.append(str(line.move))
            position = position.push(line.move)
            node = line.nodes[-1]
            step = self._best_move(position, node) if node >= 0 else None
            if step is None or (step.visits == 0 and proof == NONE):
                break
            line = step
        if self.tables is not None and self.tables.knows(position):
            pv += [str(move) for move in self.tables.line(position, LONGEST_PV - len(pv))]
        return SearchResult(
            move=str(best.move),
            value=value,
            pv=pv,
            visits={str(line.move): line.visits for line in lines},
            priors={str(line.move): line.prior for line in lines},
            sims=int(root["visits"]),
            seconds=seconds,
            proven=PROOF_NAMES.get(proof),
            plies=int(root["plies"]) if proof in (WIN, LOSS) else None,
            proofs={
                str(line.move): (PROOF_NAMES[line.proof], line.plies if line.proof in (WIN, LOSS) else None)
                for line in lines
                if line.proof != NONE
            },
        )


def encode(position: Position) -> np.ndarray[Any, np.dtype[np.int8]]:
    """`[34]` int8, what a network sees of a position (see `ckai.models.inference.evaluator`)."""
    out = np.empty(34, np.int8)
    out[:32] = position.board
    out[32] = position.jumper
    out[33] = min(position.halfmove_clock, 127)
    return out


def _rank(edge: Mapping[str, Any], node_proof: int) -> tuple[float, ...]:
    """`tree.better` as a sorting key."""
    proof, plies, visits = int(edge["proof"]), int(edge["plies"]), int(edge["visits"])
    won, lost = proof == WIN, proof == LOSS
    distance = -plies if won else plies if lost else 0
    q = float(edge["value_sum"]) / visits if visits else 0.0
    holds = node_proof == DRAW and proof == DRAW
    return (won, not lost, holds, distance, visits, q, float(edge["prior"]), -int(edge["action"]))


def _position(position: Position | str) -> Position:
    return Position.from_fen(position) if isinstance(position, str) else position


def _moves(position: Position) -> list[Move]:
    moves = position.legal_moves()
    if not moves:
        raise ValueError(f"{position.fen}: the side to move has no legal move, the game is over")
    return moves


def _after(position: Position, actions: Sequence[int]) -> Position:
    for action in actions:
        position = position.push_action(action)
    return position


def _with_halfmove_clock(position: Position, past: list[Position]) -> Position:
    """A position with the halfmove clock its history tells, if that is more than its own."""
    halfmove_clock = 0
    for earlier in reversed(past):
        if _still(earlier) != _still(position):
            break
        halfmove_clock += 1
    return replace(position, halfmove_clock=max(halfmove_clock, position.halfmove_clock))


def _still(position: Position) -> tuple[int, int, int, int]:
    """What quiet moves never change, Black first: the men of both sides and the numbers of kings."""
    view = position if position.black else position.rotated()
    black, white = (position.own, position.opp) if position.black else (position.opp, position.own)
    men_black, men_white = black & ~view.kings, white & ~view.kings
    if not position.black:
        men_black, men_white = (int(f"{b:032b}"[::-1], 2) for b in (men_black, men_white))
    return men_black, men_white, (black & view.kings).bit_count(), (white & view.kings).bit_count()
