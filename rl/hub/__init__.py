"""ckai as a program that others drive, by the Hub protocol (`ckai engine`).

May import `search`, `engine`, `matches` and `thinkers`; the other side is `ckai.rl.players.hub`.
"""
