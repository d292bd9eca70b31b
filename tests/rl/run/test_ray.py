"""Self-play on a Ray cluster: nodes that go, kills, errors in one line. Most need Ray."""

import contextlib
import importlib.util
import os
import re
import signal
import threading
import time
from dataclasses import replace

import pytest
from whole_run import check_whole

from ckai.models.inference.evaluator import BackendError
from ckai.rl.run import worker as connection
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig, WorkersConfig
from ckai.rl.run.run import Run
from ckai.rl.run.worker import RayWorkers
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.shards import Shard, ckai_version

TINY = RunConfig(
    games=16,
    overlap=True,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=1, max_plies=60),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=0),
)
STORE = 80 * 2**20
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


def ignore_event(_event):
    pass


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # as the tests, whatever else the machine does
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)


@pytest.fixture
def cluster():
    """A head without CPUs and two nodes of one core each."""
    from ray.cluster_utils import Cluster

    options = {"object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **options})
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=STORE)
    yield cluster
    with contextlib.suppress(Exception):
        connection.import_ray().shutdown()
    cluster.shutdown()


@pytest.fixture
def run(tmp_path, network):
    return Run.create(tmp_path / "run", network, TINY)


def workers_of(cluster, **settings):
    connection.connect(cluster.address, WorkersConfig(**settings))
    return RayWorkers("torch", WorkersConfig(**settings))


@needs_ray
@pytest.mark.slow
def test_a_run_whose_node_goes_and_another_comes(run, cluster):
    run.config = replace(TINY, games=60, selfplay=replace(TINY.selfplay, sims=40))
    events, workers, begun = [], workers_of(cluster), time.monotonic()

    def on_event(event):
        """Learning lasts until the third worker has played: nobody waits for it."""
        events.append(event)
        while event.stage == "learn" and len(names()) < 3 and time.monotonic() - begun < 300:
            time.sleep(0.2)

    def names():
        return {Shard.read_rows(path)[0].worker for path in (run.folder / "games").glob("*.parquet")}

    # Ray makes nodes in the main thread only.
    thread = threading.Thread(target=run.go, args=(2, on_event), kwargs={"ray": workers})
    thread.start()
    while thread.is_alive() and not any(e.done > 4 and e.info.get("workers") for e in events):
        time.sleep(0.1)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    time.sleep(1)
    cluster.add_node(num_cpus=1, object_store_memory=STORE)
    thread.join()
    check_whole(run, 2)
    counts = [measured["selfplay"]["workers"] for measured in run.history()]
    assert sum(each["games"] for each in counts) >= 120
    assert len({name for each in counts for name in each["by_worker"]}) >= 3, "a later node was not used"


@needs_ray
@pytest.mark.slow
def test_an_actor_that_is_killed_restarts(run, cluster):
    run.config = replace(TINY, games=60, selfplay=replace(TINY.selfplay, sims=40))
    workers, killed = workers_of(cluster), []

    def on_event(event):
        if not killed and event.done > 4 and event.info.get("workers"):
            name = next(iter(event.info["workers"]))
            killed.append(name)
            os.kill(int(name.split("-")[-2]), signal.SIGKILL)

    run.go(1, on_event, ray=workers)
    check_whole(run, 1)
    assert killed[0] in run.history()[0]["selfplay"]["workers"]["by_worker"]


@needs_ray
@pytest.mark.slow
def test_a_network_that_cannot_be_loaded_ends_the_run_with_one_line(run, cluster, monkeypatch):
    real = Run.networks
    monkeypatch.setattr(Run, "networks", lambda self, n: replace(real(self, n), checkpoint=b"no network"))
    with pytest.raises(RuntimeError, match=r"no worker can play: .*network\.ckpt: "):
        run.go(1, ignore_event, ray=workers_of(cluster))
    monkeypatch.undo()
    run.go(1, ignore_event)  # nothing is lost
    check_whole(run, 1)


@needs_ray
@pytest.mark.slow
def test_nodes_with_another_version_end_the_run_with_one_line(run, cluster, monkeypatch):
    there = ckai_version()
    # In this process, not on the nodes.
    monkeypatch.setattr("ckai.rl.run.worker.ckai_version", lambda: "9.9.9")
    with pytest.raises(RuntimeError) as raised:
        run.go(1, ignore_event, ray=workers_of(cluster))
    assert re.fullmatch(
        rf"\S+: expected ckai 9\.9\.9 as in the run's process, found {re.escape(there)}; "
        "install the same version on all nodes",
        str(raised.value),
    )
    monkeypatch.undo()
    run.go(1, ignore_event)  # nothing is lost
    check_whole(run, 1)


@pytest.mark.slow
@needs_ray
@pytest.mark.programs
def test_an_object_store_that_takes_nothing_ends_the_run_and_with_room_it_goes_on(run, cluster, monkeypatch):
    def full(_value):
        raise connection.import_ray().exceptions.ObjectStoreFullError("full")

    with monkeypatch.context() as patch:
        patch.setattr(connection.import_ray(), "put", full)
        with pytest.raises(
            RuntimeError, match=r"room for the networks in Ray's object store, found ObjectStoreFu"
        ):
            run.go(1, ignore_event, ray=workers_of(cluster, count=1))
    run.go(1, ignore_event, ray=workers_of(cluster, count=1))  # nothing is lost
    check_whole(run, 1)
    assert run.history()[0]["selfplay"]["workers"]["games"] >= 16


@needs_ray
def test_no_cluster_at_the_address():
    with pytest.raises(RuntimeError, match=r"--ray 127\.0\.0\.1:1: expected a cluster of Ray") as raised:
        connection.connect("127.0.0.1:1", WorkersConfig())
    assert "\n" not in str(raised.value)


def test_no_ray(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(BackendError, match=r"needs the package ray; install it .*ckai\[ray\]"):
        connection.import_ray()
