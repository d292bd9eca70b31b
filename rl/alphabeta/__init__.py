"""Alpha-beta search with an integer network."""
