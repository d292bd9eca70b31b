"""Leases: games that are played anywhere, at least once, and are in the run exactly once.

A lease names games of a generation. Whoever holds it plays them and gives back one shard. The process of the
run alone writes shards into its folder, and drops games that are there already. What carries leases and
shards is exchangeable: files in the run folder, or Ray.
"""
