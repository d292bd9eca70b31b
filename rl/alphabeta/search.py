"""`AlphaBetaSearch`: alpha-beta search of single positions with an integer network, within limits."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import JoinableThread
from ckai.rl.alphabeta.kernel import (
    AGES,
    MAX_HISTORY,
    MAX_PATH,
    PROGRESS,
    PROVEN,
    VALUE_SCALE,
    WON,
    Constants,
    Memory,
    principal_variation,
    search_depth,
)
from ckai.rl.games.contract import State
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import key_of
from ckai.rl.search.inline_search import InlineNetwork, inline_network

MAX_PV = 40
"""Most actions in the principal variation of a result."""
SHUFFLE = MAX_HISTORY // 8
"""Most that a seed adds to the history of an action: about equal moves change places."""


@dataclass(frozen=True)
class AlphaBetaResult:
    """The result of a search."""

    value: float
    """For the side to move, [-1, 1]; 1 or -1 if proven."""
    plies: int | None
    """Plies to the end of a game that is proven won or lost, else None."""
    depth: int
    """Depth of the last complete iteration, in plies."""
    nodes: int
    """Positions searched, by all threads."""
    pv: tuple[int, ...]
    """The main line, as actions: the best one first."""


class AlphaBetaSearch:
    """Alpha-beta search of single positions; keeps its table from one search to the next."""

    def __init__(
        self,
        evaluator: IntegerEvaluator,
        *,
        game: Any = None,
        entries: int = 1 << 20,
        constants: Constants | None = None,
        threads: int = 1,
        seed: int | None = None,
    ) -> None:
        """Allocate the table.

        Args:
            evaluator: the network.
            game: the rules, see `ckai.rl.games.contract`; None: checkers.
            entries: T, size of the table in positions, 1 or more; one takes 24 bytes in most games.
            constants: see `Constants`; None: the defaults.
            threads: threads of a search by time; others have one, so that they are reproducible.
            seed: varies the order of moves that are about as good; None: it is always the same.
        """
        self.game: Any = DEFAULT_GAME.rules if game is None else game
        self.constants, self.seed = constants or Constants(), seed
        shared = np.zeros((entries, self.game.STATE_WORDS + 1), np.int64), np.zeros(1, np.uint8)
        self.workers = [(inline_network(evaluator, self.game), self._memory(*shared)) for _ in range(threads)]
        """What each thread works with, the caller's first: table and stop flag are shared."""
        self.evaluation, self.memory = self.workers[0]
        self._random = np.random.default_rng(seed)

    def _memory(self, table: NDArray[np.int64], stop: NDArray[np.uint8]) -> Memory:
        words, most = self.game.STATE_WORDS, self.game.MAX_LEGAL_ACTIONS
        return Memory(
            table=table,
            path=np.zeros((MAX_PATH, words), np.int64),
            actions=np.zeros((MAX_PATH, most), np.uint8),
            order=np.zeros((MAX_PATH, most), np.float32),
            killers=np.full((MAX_PATH, 2), -1, np.int16),
            history=np.zeros(self.game.NUM_ACTIONS, np.int64),
            progress=np.zeros(1, PROGRESS),
            stop=stop,
        )

    def stop(self) -> None:
        """End the search in progress soon; may be called from any thread."""
        self.memory.stop[0] = 1

    def reseed(self, seed: int | None) -> None:
        """Begin the random choices anew, see `seed` of the constructor."""
        self.seed, self._random = seed, np.random.default_rng(seed)

    def forget(self) -> None:
        """Empty the table, so that the next search does not depend on earlier ones."""
        self.memory.table[:] = 0
        for _, memory in self.workers:
            memory.history[:] = 0
            memory.progress["age"] = 0
        self.reseed(self.seed)

    def search(
        self,
        state: State,
        history: Sequence[State] = (),
        *,
        seconds: float | None = None,
        soft_seconds: float | None = None,
        nodes: int | None = None,
        depth: int | None = None,
        on_depth: Callable[[AlphaBetaResult], None] | None = None,
    ) -> AlphaBetaResult:
        """Search a state, which has a legal action, for some seconds, positions, or to a depth in plies.

        Args:
            state, history: the state and the earlier ones of the game, oldest first; those that cannot be
                repeated may be left out.
            soft_seconds: end after a depth that leaves no more than half of this time: a depth takes about
                as long as all those before it, or longer.
            on_depth: called with the result so far after every depth.
        """
        memory, helpers = self.memory, self.workers[1:] if nodes is None and depth is None else []
        here, *before = (tuple(map(np.int64, each)) for each in (state, *history[-(MAX_PATH // 2) :]))
        self._begin(before)
        if nodes is not None:
            memory.progress["limit"] = nodes
        begun, root, done, best, best_score = time.perf_counter(), len(before), 0, -1, 0
        threads: list[threading.Thread] = [
            JoinableThread(target=self._help, args=(*worker, here, 1 + number % 2, root), daemon=True)
            for number, worker in enumerate(helpers, 1)
        ]
        timer = threading.Timer(seconds or 0.0, self.stop)
        timer.daemon = True
        for thread in threads if seconds is None else (timer, *threads):
            thread.start()
        try:
            while done < MAX_PATH and not (depth is not None and done >= depth):
                score = self._iterate(self.evaluation, memory, here, done + 1, root)
                if memory.stop[0]:
                    if done and memory.progress["score"] <= -PROVEN:
                        # The moves that were not searched may be better.
                        memory.progress["action"], memory.progress["score"] = best, best_score
                    break
                done += 1
                best, best_score = memory.progress[0]["action"], memory.progress[0]["score"]
                if on_depth is not None:
                    on_depth(self._result(here, done))
                if _is_settled(score, done):
                    break
                if soft_seconds is not None and time.perf_counter() - begun >= soft_seconds / 2:
                    break
        finally:
            timer.cancel()
            if seconds is not None:
                timer.join()  # else it might stop the next search
            if threads:
                memory.stop[0] = 1
            for thread in threads:
                thread.join()
        if done == 0:  # not even one ply was searched in time
            memory.stop[0] = 0
            memory.progress["limit"] = np.iinfo(np.int64).max
            self._iterate(self.evaluation, memory, here, 1, root)
            done = 1
        return self._result(here, done)

    def _begin(self, before: Sequence[Any]) -> None:
        """Prepare the memories for a search after some earlier states."""
        for n, state in enumerate(before):
            self.memory.path[n] = key_of(self.game, state)
        if self.memory.progress["age"] == AGES - 1:
            self.forget()  # the ages begin again, and old entries must not seem new
        age = self.memory.progress[0]["age"] + 1
        for _, memory in self.workers:
            memory.path[: len(before)] = self.memory.path[: len(before)]
            memory.killers[:] = -1
            memory.history[:] //= 2
            if self.seed is not None:
                size = len(memory.history)
                memory.history[:] += self._random.integers(-SHUFFLE, SHUFFLE, size, endpoint=True)
            memory.progress[0] = 0, np.iinfo(np.int64).max, age, -1, 0
        self.memory.stop[0] = 0

    def _help(self, evaluation: InlineNetwork, memory: Memory, state: Any, first: int, root: int) -> None:
        """Search a state in a helper thread, whose results the main thread finds in the shared table.

        Every other helper is a ply ahead, so that not all search the same at once.
        """
        for depth in range(first, MAX_PATH):
            score = self._iterate(evaluation, memory, state, depth, root)
            if memory.stop[0] or _is_settled(score, depth):
                break

    def _iterate(self, evaluation: InlineNetwork, memory: Memory, state: Any, depth: int, root: int) -> int:
        tools = (self.game, evaluation, self.constants, memory)
        return int(search_depth(*tools, state, np.int64(depth), np.int64(root)))

    def _result(self, state: Any, depth: int) -> AlphaBetaResult:
        """Return the result of a search to a depth."""
        here, line = self.memory.progress[0], np.zeros(MAX_PV, np.uint8)
        length = principal_variation(self.game, self.memory, state, here["action"], line)
        score, pv = int(here["score"]), tuple(line[:length].tolist())
        proven = abs(score) >= PROVEN
        return AlphaBetaResult(
            value=float(np.sign(score)) if proven else score / VALUE_SCALE,
            plies=WON - abs(score) if proven else None,
            depth=depth,
            nodes=sum(int(memory.progress[0]["nodes"]) for _, memory in self.workers),
            pv=pv,
        )


def _is_settled(score: int, depth: int) -> bool:
    """Return whether a score is a proof that a deeper search cannot make shorter."""
    return abs(score) >= PROVEN and WON - abs(score) <= depth
