"""Arrays without reference counts, for kernels.

Numba counts the references of an array wherever a view is made or passed on, by atomic operations that take
longer than most of what a search does with the view. The arguments of a kernel live as long as the call:
nothing has to be counted.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def borrowed(typingctx, value):
    """Return an array, or a tuple that holds some, without a count of references.

    Only for arguments of a kernel; the result and views of it must not be returned from the kernel.
    """

    def codegen(context, builder, signature, args):
        return _without_owner(context, builder, value, args[0])

    return value(value), codegen


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, value)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, item in enumerate(kind.types):
            part = _without_owner(context, builder, item, builder.extract_value(value, i))
            value = builder.insert_value(value, part, i)
    return value
