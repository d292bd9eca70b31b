"""Players behind one interface: a search of a game's position that reports as it goes and can be stopped.

May import `games`, `search`, `alphabeta`, `engine` and `players`; used by `hub` and `problems`.
"""
