"""What commands share: output, tables, networks, players, screens."""
