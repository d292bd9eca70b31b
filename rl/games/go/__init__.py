"""9x9 Go for the search, for matches and for self-play."""

from ckai.rl.games.go.rules import PASS, Go
from ckai.rl.games.go.spec import SPEC, GoMove, GoPosition, GoReason, GoSpec, read_move

__all__ = ["PASS", "SPEC", "Go", "GoMove", "GoPosition", "GoReason", "GoSpec", "read_move"]
