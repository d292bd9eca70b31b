"""Players behind one interface: a search of a game's position that reports as it goes and can be stopped.

May import every folder up to `engine` and `matches`; used by `hub` and `problems`.
"""
