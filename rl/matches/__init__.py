"""Matches: openings, Elo, ratings, SPRT, the ladder, plots.

May import `games`, `evaluators`, `search`, `alphabeta` and `engine`.
"""
