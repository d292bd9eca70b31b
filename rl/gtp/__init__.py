"""ckai as a Go program that others drive, by GTP (`ckai engine --protocol gtp`).

The other side of the protocol is `ckai.rl.players.gtp`.
"""
