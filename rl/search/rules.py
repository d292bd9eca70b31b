"""Names of the rules by which a search spends its visits at the root; see `ckai.rl.search.selection`.

Here and not there, so that help needs no Numba.
"""

from typing import Literal, get_args

RootRule = Literal["puct", "forced", "gumbel"]
ROOT_RULES: tuple[str, ...] = get_args(RootRule)
"""In the order of the numbers `PUCT`, `FORCED` and `GUMBEL`."""
