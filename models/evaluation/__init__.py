"""Measuring networks on held-out rows: metrics, groups, endgame checks, plots.

May import `inputs`, `layers`, checkpoints and `inference`.
"""
