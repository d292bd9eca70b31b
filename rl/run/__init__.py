"""A run: generations of self-play, training and gate matches in a folder, and the processes that play for it.

May import every other folder of `ckai.rl`.
"""
