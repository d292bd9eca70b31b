"""Run a command of ckai, or Python code, and count the functions that Numba compiled meanwhile.

python count_compiled.py parse games.pdn
python count_compiled.py -c "code"

The last line on standard error is `compiled: N name name ...`. Code may call `compiled()`, the names so far.
"""

import atexit
import sys

from numba.core import event

names = []


class Listener(event.Listener):
    def on_start(self, event):
        names.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass


def compiled():
    """Return the names of the functions compiled so far, those of Numba itself included."""
    return list(names)


event.register("numba:compile", Listener())
atexit.register(lambda: print("compiled:", len(names), *sorted(set(names)), file=sys.stderr))
if sys.argv[1] == "-c":
    exec(sys.argv[2], {"compiled": compiled})
else:
    sys.argv[:] = ["ckai", *sys.argv[1:]]
    from ckai.cli.main import main

    main()
