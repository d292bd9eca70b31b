"""The loop: generations of self-play, learning and gate matches in a run folder.

May import every other folder of `ckai.rl` but `bench` and `solved`.
"""
