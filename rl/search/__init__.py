"""Tree search: trees in flat arrays, MCTS, selection rules, batches of leaves, evaluation in the kernels.

Reads best in this order: `arrays` (the data), `selection` (which edge), `mcts` (one tree), `batch` (many
trees), `searcher` (the Python class), `inline_search`. A game is accessed only through
`ckai.rl.games.contract`. May import `games` and `evaluators`.
"""
