"""Speed measurements, as `ckai bench` prints them.

May import every other folder of `ckai.rl` but `solved`, which stands beside it.
"""
