"""ckai as a program that others drive, by the Hub protocol (`ckai engine`).

May import `games`, `search`, `engine`, `players` and `thinkers`; the other side is `ckai.rl.players.hub`.
"""
