"""Self-play: groups of games that one thread plays at once, what they record, and how it reaches the disk.

May import `games`, `evaluators` and `search`.
"""
