"""Lets Numba remember which implementation of an operator or built-in function fits the types of a call.

For each call in a function Numba tries all implementations until one fits: a dozen for `a + b` of two
integers, with a message for each that does not. That was a quarter of the time to compile, and the next
`a + b` of integers gets the same answer.

This uses parts of Numba that are not public. Where a version does not have them (`SUPPORTED`), every
call is resolved again.
"""

import inspect
from typing import Any

from numba.core import types
from numba.core.types.functions import BaseFunction

_resolve: Any = BaseFunction.get_call_type
SUPPORTED = list(inspect.signature(_resolve).parameters) == ["self", "context", "args", "kws"] and {
    "_impl_keys",
    "templates",
} <= set(_resolve.__code__.co_names)
"""Whether this version of Numba has what is used here."""

_TUPLE: Any = types.BaseTuple  # type: ignore[attr-defined]
_PLAIN = (types.Number, types.Boolean, types.Array, types.Record)
"""Types for which the answer depends on nothing else."""
_resolved: dict[Any, tuple[Any, Any]] = {}
"""Implementations to choose from and the signature chosen, by typing context, function and types."""


def install() -> None:
    """Remember the resolutions of this process from now on."""
    if SUPPORTED:
        setattr(BaseFunction, "get_call_type", _remembered)  # noqa: B010  (mypy forbids to assign a method)


def _remembered(self: Any, context: Any, args: Any, kws: Any) -> Any:
    if kws or not all(map(_is_plain, args)):
        return _resolve(self, context, args, kws)
    key = context, self.typing_key, tuple(args)
    templates, signature = _resolved.get(key, (None, None))
    if templates is not self.templates:  # not resolved yet, or implementations were registered since
        signature = _resolve(self, context, args, kws)
        if self._impl_keys[signature.args] is not self.typing_key:
            return signature  # written in Python, and so compiled with the options of its caller
        _resolved[key] = self.templates, signature
    self._impl_keys[signature.args] = self.typing_key
    return signature


def _is_plain(of: Any) -> bool:
    if isinstance(of, types.Literal):
        of = of.literal_type
    return isinstance(of, _PLAIN) or (isinstance(of, _TUPLE) and all(map(_is_plain, of)))
