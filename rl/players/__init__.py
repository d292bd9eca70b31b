"""Players of matches: tree searches, alpha-beta, levels, other programs; and their specs.

May import `games`, `evaluators`, `search` and `alphabeta`.
"""
