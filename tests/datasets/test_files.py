"""Files written whole: temporary names, locks, and what killed processes leave."""

import errno
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ckai.datasets.files import (
    PNG,
    ForeignFileError,
    LockedError,
    WriteError,
    claimed,
    is_locked,
    locked,
    remove_temporaries,
    save_figure,
    temporary_path,
    whole_file,
    write_whole,
)
from ckai.datasets.writer import TableWriter


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), ValueError("mine"), KeyboardInterrupt()]
)
def test_an_error_on_the_way_leaves_the_file_as_it_was(tmp_path, error):
    path = tmp_path / "x"
    path.write_text("before")

    def write():
        with whole_file(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(WriteError if isinstance(error, OSError) else type(error)):
        write()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def write_rows(path):
    with TableWriter(path) as writer:
        writer.commit()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
@pytest.mark.parametrize("write", [lambda path: write_whole(path, "y"), write_rows], ids=["whole", "rows"])
def test_the_bytes_are_on_the_disk_before_they_have_their_name(tmp_path, monkeypatch, write):
    done, replace = [], Path.replace

    def flush(file):
        done.append(Path(os.readlink(f"/proc/self/fd/{file}")).suffix)

    def rename(path, new):
        done.append("renamed")
        return replace(path, new)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(Path, "replace", rename)
    write(tmp_path / "x.parquet")
    assert done[:2] == [".tmp", "renamed"]


def test_a_claimed_name_is_taken_until_the_end(tmp_path):
    path = tmp_path / "plots" / "x.png"
    with claimed(path):
        with pytest.raises(LockedError), claimed(path):
            pass
        assert path.exists()
    assert not path.exists()
    with claimed(path):
        write_whole(path, PNG)
    assert path.read_bytes() == PNG


def test_two_threads_may_write_one_path(tmp_path):
    """Both are inside their block at once, and whoever ends last wins, whole."""
    path, gate, errors = tmp_path / "x", threading.Barrier(2, timeout=10), []

    def write(letter):
        try:
            with whole_file(path) as file:
                gate.wait()
                file.write(letter * 100_000)
                gate.wait()
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not errors
    assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_processes_left_is_removed(tmp_path):
    keep = [tmp_path / "net.ckpt", tmp_path / ".net.ckpt", tmp_path / "deep" / "x.tmp"]
    left = [temporary_path(tmp_path / "net.ckpt"), tmp_path / ".net.ckpt.4711.tmp"]  # the latter of 0.1.0
    other = [temporary_path(tmp_path / "other[1]"), tmp_path / "deep" / ".tensorboard.4711.tmp" / "events"]
    for path in (*keep, *left, *other):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("")
    remove_temporaries(tmp_path, "net.ckpt")
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in (*keep, *other))
    remove_temporaries(tmp_path, "other[1]")
    assert not other[0].exists()
    remove_temporaries(tmp_path)
    assert not other[1].parent.exists()
    assert all(path.exists() for path in keep)


def test_what_is_being_written_is_not_removed(tmp_path):
    with whole_file(tmp_path / "x") as file, TableWriter(tmp_path / "y.parquet") as writer:
        remove_temporaries(tmp_path)
        TableWriter(tmp_path / "y.parquet").__exit__(None, None, None)
        file.write(b"x")
        writer.commit()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y.parquet"]


def test_rows_replace_what_a_killed_writer_left(tmp_path):
    left = temporary_path(tmp_path / "y.parquet")
    left.write_text("half")
    with TableWriter(tmp_path / "y.parquet") as writer:
        writer.commit()
    assert [path.name for path in tmp_path.iterdir()] == ["y.parquet"]


def test_a_lock_keeps_others_off_and_dies_with_its_process(tmp_path):
    path = tmp_path / "deep" / ".lock"
    hold = "import sys; from pathlib import Path; from ckai.datasets.files import locked\n"
    hold += "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    program = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with program:
        assert program.stdout.readline() == b"held\n"
        message = rf"\.lock: held by process {program.pid}; wait for it or stop it"
        with pytest.raises(LockedError, match=message), locked(path):
            pass
        assert is_locked(path)
        program.kill()
    # The number of the dead process is still in the file, and means nothing.
    assert not is_locked(path)
    assert path.read_text().split() == [str(program.pid), socket.gethostname()]
    with locked(path), pytest.raises(LockedError), locked(path):
        pass
    with locked(path):
        write_whole(tmp_path / "x", "y")


def test_a_process_of_another_machine_is_named_with_it(tmp_path):
    path = tmp_path / ".lock"
    with locked(path):
        path.write_text("4711 elsewhere")  # as it is seen from a shared folder
        with pytest.raises(LockedError) as error, locked(path):
            pass
    assert error.value.holder == "process 4711 on elsewhere"


def test_file_systems_without_locks_are_written_unguarded(tmp_path, monkeypatch):
    import fcntl

    def refused(file, operation):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refused)
    with locked(tmp_path / ".lock"):
        write_whole(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert not is_locked(tmp_path / ".lock")


def test_a_lock_on_a_full_disk_hides_no_other_error(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(KeyboardInterrupt), locked(tmp_path / ".lock"):
        raise KeyboardInterrupt


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    """Renaming a file over it would."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match=r"pipe: cannot be written .not a regular file"):
        write_whole(pipe, "text")
    with pytest.raises(WriteError, match="not a regular file"):
        TableWriter(pipe)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"file/x\.parquet: cannot be written"):
        TableWriter(tmp_path / "file" / "x.parquet")
    with pytest.raises(WriteError, match=r"cannot be written .File name too long"):
        TableWriter(tmp_path / f"{'x' * 300}.parquet")


def test_plots_replace_only_plots(tmp_path):
    class Figure:
        def savefig(self, file, *, format, dpi):
            file.write(PNG + b"lines")

    notes = tmp_path / "notes.png"
    notes.write_text("mine")
    with pytest.raises(ForeignFileError, match=r"notes\.png: expected a PNG to replace, found another file"):
        save_figure(notes, Figure(), 100)
    assert notes.read_text() == "mine"
    with pytest.raises(ForeignFileError, match=r"expected a name that ends in \.png"):
        save_figure(tmp_path / "x.pdf", Figure(), 100)
    for _ in range(2):
        save_figure(tmp_path / "x.png", Figure(), 100)
    assert (tmp_path / "x.png").read_bytes() == PNG + b"lines"
