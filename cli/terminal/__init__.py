"""A game in the terminal: the board, the prompt, the panel beside the board."""
