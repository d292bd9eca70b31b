"""Games: the contract between a game and the search, the games that ship, and their registry.

Imports nothing else of `ckai.rl`.
"""
