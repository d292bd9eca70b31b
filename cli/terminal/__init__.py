"""A game in the terminal: the board, the session, the engine as an opponent, the saved record."""
