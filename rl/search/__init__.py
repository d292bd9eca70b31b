"""Tree search: trees in flat arrays, MCTS, selection rules, batches of leaves, evaluation in the kernels.

Reads best in this order: `arrays` (the data), `selection` (which edge), `mcts` (one tree), `batch` (many
trees), `inline_search` (evaluation in the kernels), `searcher` (the Python class). A game is accessed only
through `ckai.rl.games.contract`. May import `games` and `evaluators`.
"""
