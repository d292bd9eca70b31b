"""The command line: click commands, one file each, and games in the terminal and the browser.

Owns messages, options and screens. Whatever a library user needs belongs to the other packages.
"""
