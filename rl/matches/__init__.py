"""Matches: players and their specs, openings, Elo, ratings, SPRT, plots.

May import `games`, `evaluators`, `search` and `alphabeta`.
"""
