"""Names of the rules that spend the visits at the root; see `ckai.rl.search.selection`.

In a module of their own, so that `ckai --help` does not import Numba.
"""

from typing import Literal, get_args

RootRule = Literal["puct", "forced", "gumbel"]
ROOT_RULES: tuple[str, ...] = get_args(RootRule)
"""In the order of the constants `PUCT`, `FORCED` and `GUMBEL`."""
