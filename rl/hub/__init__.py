"""ckai as a program that others drive, by the Hub protocol (`ckai engine`).

May import `thinkers`; the other side of the protocol is `ckai.rl.matches.hub`.
"""
