"""What a game needs in a terminal and in a browser: players, clocks, starts, explanations, the record."""
