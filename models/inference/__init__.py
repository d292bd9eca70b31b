"""Evaluators: a network behind one batch call, its backends, and export to other formats.

May import encodings, networks and checkpoints.
"""
