"""Evaluators of positions for a search: of a checkpoint, uniform, by random playouts; a cache.

May import `games`.
"""
