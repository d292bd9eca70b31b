"""Distillation: rows labelled by a network or a search with one.

May import `games`, `evaluators`, `search`, `alphabeta` and `selfplay`.
"""
