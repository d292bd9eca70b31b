"""Self-play: workers that play many games at once, what they record, and how it reaches the disk.

May import `games`, `evaluators`, `search`, `alphabeta` and the ratings of `matches`.
"""
