"""Names and values that settings share with the search; see `ckai.rl.search.selection`.

In a module of their own, so that `ckai --help` does not import Numba.
"""

from typing import Literal, get_args

ALPHAZERO_C_BASE = 19652.0
"""c_base of AlphaZero (Silver et al. 2018): c(s) hardly grows in searches of some thousand visits."""

RootRule = Literal["puct", "forced", "gumbel"]
ROOT_RULES: tuple[str, ...] = get_args(RootRule)
"""Rules that spend the visits at the root, in the order of the constants `PUCT`, `FORCED` and `GUMBEL`."""
