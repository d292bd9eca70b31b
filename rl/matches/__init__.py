"""Matches: openings, Elo, ratings, SPRT.

May import `games`, `evaluators`, `search`, `alphabeta` and `engine`.
"""
