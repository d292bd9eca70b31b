"""Speed measurements of everything in `ckai`.

May import every other folder of `ckai.rl`.
"""
