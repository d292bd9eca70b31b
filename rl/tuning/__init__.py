"""Settings of self-play runs compared by successive halving: many short runs, and longer ones of the best.

May import everything of `ckai.rl` but `bench` and `warmup`.
"""
