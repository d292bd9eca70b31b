"""9x9 Go for the search, for matches and for self-play."""

from ckai.rl.games.go import playouts as _playouts
from ckai.rl.games.go.position import GoMove, GoPosition
from ckai.rl.games.go.rules import PASS, Go
from ckai.rl.games.go.spec import SPEC, GoSpec

__all__ = ["PASS", "SPEC", "Go", "GoMove", "GoPosition", "GoSpec"]

del _playouts  # imported so that the fast playout is registered
