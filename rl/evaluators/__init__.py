"""Evaluators for a search: loading a checkpoint's, random playouts, a cache.

May import `games`.
"""
