"""The commands that play matches: how strong players are."""
