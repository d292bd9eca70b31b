"""Programs that tests start and interrupt."""

import signal
import subprocess
from contextlib import contextmanager


@contextmanager
def started(command, **options):
    """A program that Ctrl-C stops and that is gone after the block, whatever happens in it.

    A shell starts jobs in the background with SIGINT ignored, and a child inherits that: then the program
    would not notice the signal and run on after the tests.
    """
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)  # what has a handler is reset by exec
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    finally:
        signal.signal(signal.SIGINT, ours)
    with process:
        try:
            yield process
        finally:
            process.kill()
