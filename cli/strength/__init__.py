"""The commands that play matches: how strong players are, and which settings make them strong."""
