"""Alpha-beta search with a network of integers."""
