"""Players behind one face: a search of a game's position that reports as it goes and can be stopped.

May import `engine` and `matches`; used by what speaks to other programs and by what solves problems.
"""
