"""What chooses a move: engines of all kinds, their limits and results. `ckai.rl` has the public names.

May import `games`, `evaluators`, `search` and `alphabeta`.
"""
