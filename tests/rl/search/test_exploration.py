"""Exploration at the root: shared noise, a temperature that falls, a target without unjustified visits."""

from typing import Any

import numpy as np
import pytest
import slow_search
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_search import twin_search
from tree_game import Leaf
from tree_search import deep, drawings, edges, same, search, target

from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.contract import LOSS, NONE
from ckai.rl.games.registry import get_game
from ckai.rl.search.selection import SearchConstants
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import Group
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.setup import search_constants


@pytest.mark.parametrize("width", [2, 3, 4])
def test_the_legal_actions_share_the_total_concentration(width: int) -> None:
    root = Leaf(*(deep() for _ in range(width)))
    noise = {"c_init": 1.5, "noise_epsilon": 1.0}
    shared = edges(search(root, 8, SearchConstants(noise_total=3.0, noise_alpha=0.2, **noise)))
    alone = edges(search(root, 8, SearchConstants(noise_alpha=3.0 / width, **noise)))
    other = edges(search(root, 8, SearchConstants(noise_alpha=0.2, **noise)))
    assert (shared["prior"] == alone["prior"]).all()
    assert not np.allclose(shared["prior"], other["prior"])


class Skewed(UniformEvaluator):
    """Priors that favour the higher actions."""

    def evaluate(self, boards: Any, out_logits: Any = None, out_values: Any = None) -> Any:
        logits, values = super().evaluate(boards, out_logits, out_values)
        logits[:] = np.arange(logits.shape[1]) / 4
        return logits, values


def roots(count: int, **options: Any) -> list[tuple[int, Any]]:
    """(ply, edges of the root) of searches in a game of tic-tac-toe without noise."""
    spec = get_game("tictactoe")
    config = SelfPlayConfig(sims=2, in_flight=1, groups=1, tables=0, noise_epsilon=0.0, **options)
    evaluator, found = Skewed(spec.num_actions), list[tuple[int, Any]]()
    group = Group(evaluator, config, spec, None, None, [0], 0, lambda _: spec.position(), {})
    while len(found) < count and group.step(lambda game: None, SelfPlayCounts()):
        batch = group.tree_batch
        if batch.info[0]["root_prepared"]:
            first, n = (int(batch.nodes[0, 0][name]) for name in ("first_edge", "num_edges"))
            found.append((int(group.records.games[0]["ply"]), batch.edges[0, first : first + n].copy()))
    return found


def temperatures(priors: Any) -> Any:
    """The temperature of each edge's prior against that of the first."""
    logits = priors["action"][1:] / 4.0 - priors["action"][0] / 4.0
    return logits / np.log(priors["prior"][1:] / priors["prior"][0])


def test_the_temperature_of_the_root_falls_by_half_in_its_half_life() -> None:
    options = {"root_policy_temperature": 1.1, "root_policy_temperature_early": 3.0}
    found = roots(12, root_policy_temperature_halflife=2.0, **options)
    assert len({ply for ply, _ in found}) >= 5
    for ply, priors in found:
        assert temperatures(priors) == pytest.approx(1.1 + 1.9 * 0.5 ** (ply / 2.0), rel=1e-3)
    for _, priors in roots(4, root_policy_temperature=2.0):
        assert temperatures(priors) == pytest.approx(2.0, rel=1e-3)


def test_searches_without_exploration_have_neither_noise_nor_temperature() -> None:
    config = SelfPlayConfig(root_policy_temperature=1.1, root_policy_temperature_early=3.0, noise_total=10.0)
    root = Leaf(deep(), deep(), deep(), prior=[0.7, 0.2, 0.1])
    found = search(root, 9, search_constants(config).without_exploration())
    assert edges(found)["prior"] == pytest.approx([0.7, 0.2, 0.1], rel=1e-5)


# --- the policy target ---------------------------------------------------------------------------------


@settings(max_examples=50)
@given(drawings(), st.integers(2, 80), st.sampled_from([0.3, 1.0, 4.0]))
def test_the_pruned_target_agrees_with_the_slow_twin(root: Any, sims: int, c: float) -> None:
    found = search(root, sims, SearchConstants(c_init=c, prune_target=True))
    twin = twin_search(root, sims, c, lambda node: edges(found, node))
    same(found, 0, twin)
    children = [twin.edge(i) for i in range(len(twin.children))]
    counts = [n for n, *_ in children]
    if twin.proof == NONE and any(counts):
        q = [total / max(1, n) for n, total, _, _ in children]
        priors = [twin.prior(i) for i in range(len(counts))]
        expected = slow_search.justified(
            counts, q, [proof for *_, proof, _ in children], priors, twin.visits, c
        )
        assert target(found) == expected
        assert max(expected) == max(counts)


def test_visits_that_noise_drew_are_gone_from_the_target() -> None:
    # Equal values and nearly all of the prior on the first edge: without noise the others get hardly a visit.
    root = Leaf(deep(), deep(), deep(), deep(), prior=[0.97, 0.01, 0.01, 0.01])
    rule = SearchConstants(c_init=1.5, noise_epsilon=0.4, noise_alpha=0.5, prune_target=True)
    found = search(root, 200, rule, seed=3)
    counts = edges(found)["visits"].tolist()
    assert sum(counts[1:]) > 30
    pruned = target(found)
    assert pruned[0] == counts[0]
    assert sum(pruned[1:]) <= 6
    noisy, noise = (edges(found)[name].astype(float) for name in ("prior", "noise"))
    q = (edges(found)["value_sum"] / edges(found)["visits"]).tolist()
    priors = ((noisy - 0.4 * noise) / 0.6).tolist()
    assert pruned == slow_search.justified(counts, q, [NONE] * 4, priors, 200, 1.5)


def test_a_proven_loss_has_no_share_of_the_pruned_target() -> None:
    loses = Leaf(Leaf(Leaf(Leaf(value=-1.0)), guess=-0.9), guess=-0.9)
    found = search(
        Leaf(loses, deep(0.1), deep(0.1), prior=[0.5, 0.3, 0.2]),
        60,
        SearchConstants(c_init=1.5, prune_target=True),
    )
    assert edges(found)["proof"][0] == LOSS
    assert edges(found)["visits"][0] > 0
    assert target(found)[0] == 0
