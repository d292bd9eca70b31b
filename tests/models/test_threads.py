"""Threads and Ctrl-C: what still runs is waited for."""

import signal
import threading
import time

import pytest

from ckai.models.inference.threads import Worker
from ckai.rl.search.threads import run_all, running


@pytest.fixture
def interrupt():
    """Interrupt the main thread once it waits, as Ctrl-C does; a test of its own may ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers = []

    def after(seconds):
        main = threading.main_thread().ident
        timers.append(threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT)))
        timers[-1].start()

    yield after
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("timeout", [None, 20.0])
def test_an_interrupted_join_may_be_called_again(interrupt, timeout):
    go_on, ended = threading.Event(), []
    worker = Worker(target=lambda: (go_on.wait(30), ended.append(True)))
    assert not worker.is_alive()
    worker.start()
    interrupt(0.1)
    with pytest.raises(KeyboardInterrupt):
        worker.join(timeout)
    assert worker.is_alive()
    worker.join(0.01)
    assert (worker.is_alive(), ended) == (True, [])
    go_on.set()
    worker.join(timeout)
    assert (worker.is_alive(), ended) == (False, [True])


def test_an_interrupted_block_waits_for_its_threads(interrupt):
    stop, ended = threading.Event(), []

    def work():
        stop.wait(30)
        time.sleep(0.3)  # the last move
        ended.append(True)

    interrupt(0.1)
    with pytest.raises(KeyboardInterrupt):
        run_all([Worker(target=work)], stop)
    assert ended == [True]


def test_an_error_in_a_block_waits_for_its_threads():
    stop, ended = threading.Event(), []
    worker = Worker(target=lambda: (stop.wait(30), ended.append(True)))
    with pytest.raises(ValueError, match="mine"), running([worker], stop):
        raise ValueError("mine")
    assert ended == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_fails_has_ended():
    worker = Worker(target=lambda: 1 / 0)
    worker.start()
    worker.join()
    assert not worker.is_alive()
