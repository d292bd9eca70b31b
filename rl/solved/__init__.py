"""Players and runs measured against the truth, in games that can be solved.

May import everything of `ckai.rl` but `bench` and `warmup`, which stand beside it.
"""
