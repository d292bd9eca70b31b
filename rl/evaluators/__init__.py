"""Evaluators of positions for a search: of a checkpoint, uniform, by random playouts.

May import `games`.
"""
