"""Matches: openings, Elo, ratings, SPRT, the ladder.

May import `games`, `evaluators`, `search`, `alphabeta` and `engine`.
"""
