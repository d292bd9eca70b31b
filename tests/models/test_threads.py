"""Threads and Ctrl-C: what still runs is waited for."""

import threading
from unittest.mock import Mock

import pytest

from ckai.models.inference.threads import JoinableThread, run_all


def test_an_interrupted_join_may_be_called_again(monkeypatch):
    go_on, ended = threading.Event(), []
    worker = JoinableThread(target=lambda: (go_on.wait(30), ended.append(True)))
    assert not worker.is_alive()
    worker.start()
    monkeypatch.setattr(worker._over, "wait", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        worker.join()
    monkeypatch.undo()
    assert worker.is_alive()
    worker.join(0.01)
    assert (worker.is_alive(), ended) == (True, [])
    go_on.set()
    worker.join()
    assert (worker.is_alive(), ended) == (False, [True])


def test_an_error_in_a_call_stops_the_others_and_is_raised_after_them():
    stop, ended = threading.Event(), []

    def fail():
        raise ValueError("a call")

    with pytest.raises(ValueError, match="a call"):
        run_all([fail, lambda: ended.append(stop.wait(30))], stop)
    assert ended == [True]
