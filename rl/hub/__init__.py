"""ckai as a program that others drive, by the Hub protocol (`ckai engine`).

May import `games`, `search`, `engine` and `players`; the other side is `ckai.rl.players.hub`.
"""
