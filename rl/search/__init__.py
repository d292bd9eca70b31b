"""Tree search: tree arrays, MCTS, selection rules, batches of leaves, random-playout search, alpha-beta.

Knows games by their contract only. May import `games` and `evaluators`.
"""
