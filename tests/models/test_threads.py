"""Threads and Ctrl-C: what still runs is waited for."""

import signal
import sys
import threading
import time

import pytest

from ckai.models.inference.threads import JoinableThread
from ckai.rl.search.threads import run_all


@pytest.fixture
def interrupt():
    """Interrupt the main thread in a call of a method, as Ctrl-C does; a test of its own may ignore Ctrl-C.

    The signal is sent once the main thread is in that call, never before: it would end the tests.
    """
    main = threading.main_thread().ident
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    over, threads = threading.Event(), []

    def is_in(method):
        frame = sys._current_frames()[main]
        while frame is not None and frame.f_code is not method.__code__:
            frame = frame.f_back
        return frame is not None

    def during(method):
        def send():
            while not is_in(method):
                if over.wait(0.01):
                    return
            signal.pthread_kill(main, signal.SIGINT)

        threads.append(threading.Thread(target=send))
        threads[-1].start()

    yield during
    over.set()
    for thread in threads:
        thread.join()
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_join_may_be_called_again(interrupt):
    go_on, ended = threading.Event(), []
    worker = JoinableThread(target=lambda: (go_on.wait(30), ended.append(True)))
    assert not worker.is_alive()
    worker.start()
    interrupt(JoinableThread.join)
    with pytest.raises(KeyboardInterrupt):
        worker.join()
    assert worker.is_alive()
    worker.join(0.01)
    assert (worker.is_alive(), ended) == (True, [])
    go_on.set()
    worker.join()
    assert (worker.is_alive(), ended) == (False, [True])


def test_a_block_interrupted_while_it_starts_its_threads_waits_for_those_it_started(interrupt, monkeypatch):
    stop, ended = threading.Event(), []
    start, started = threading.Thread.start, []

    def between_two_threads():
        for _ in range(3000):  # one long sleep may begin after the signal came, and would not be interrupted
            time.sleep(0.01)

    def slowly(thread):
        start(thread)
        started.append(thread)
        if len(started) == 2:
            between_two_threads()

    interrupt(between_two_threads)
    monkeypatch.setattr(threading.Thread, "start", slowly)
    with pytest.raises(KeyboardInterrupt):
        run_all([lambda: (stop.wait(30), ended.append(True))] * 3, stop)
    assert (ended, len(started)) == ([True, True], 2)


def test_an_error_in_a_call_stops_the_others_and_is_raised_after_them():
    stop, ended = threading.Event(), []

    def fail():
        raise ValueError("a call")

    with pytest.raises(ValueError, match="a call"):
        run_all([fail, lambda: ended.append(stop.wait(30))], stop)
    assert ended == [True]


def test_a_thread_that_the_system_refuses_is_not_waited_for(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    worker = JoinableThread(target=print)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        worker.start()
    worker.join()
    assert not worker.is_alive()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_all([print], threading.Event())
