"""The front door: click commands, one file each, and the terminal board.

Owns words, options and screens. Whatever a library user would miss belongs to the other rooms.
"""
