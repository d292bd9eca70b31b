"""A game in the terminal: the board, the prompt, the panel next to the board."""
