"""Files written whole: temporary names, locks, and what killed processes leave."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckai.datasets.files import (
    LockedError,
    WriteError,
    is_locked,
    locked,
    refuse_to_replace,
    remove_temporaries,
    temporary_path,
    whole_file,
    write_whole,
)
from ckai.datasets.schema import table_writer


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
    with table_writer(path):
        pass


def test_a_file_that_windows_holds_for_a_reader_is_replaced_when_that_is_done(tmp_path, monkeypatch):
    replace, refused = Path.replace, [5, 32]  # "access is denied", "used by another process"

    def held(path, new):
        if refused:
            error = PermissionError(13, "held")
            error.winerror = refused.pop()
            raise error
        return replace(path, new)

    monkeypatch.setattr(Path, "replace", held)
    write_whole(tmp_path / "x", "y")
    assert (tmp_path / "x").read_text() == "y"
    assert not refused


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


def test_a_lock_keeps_others_off_and_dies_with_its_process(tmp_path):
    path = tmp_path / "deep" / ".lock"
    hold = "import sys; from pathlib import Path; from ckai.datasets.files import locked\n"
    hold += "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    program = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with program:
        assert program.stdout.readline() == b"held\n"
        message = r"\.lock: held by another process; wait for it or stop it"
        with pytest.raises(LockedError, match=message), locked(path):
            pass
        assert is_locked(path)
        program.kill()
    assert not is_locked(path)
    with locked(path), pytest.raises(LockedError), locked(path):
        pass
    with locked(path):
        write_whole(tmp_path / "x", "y")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_device_is_not_replaced_by_a_file(tmp_path):
    """Renaming a file over it would."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match=r"pipe: cannot be written .not a regular file"):
        write_whole(pipe, "text")
    with pytest.raises(WriteError, match="not a regular file"):
        write_rows(pipe)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_an_existing_file_is_replaced_only_by_force(tmp_path):
    path = tmp_path / "deep" / "x"
    refuse_to_replace(path, force=False)
    path.touch()
    with pytest.raises(FileExistsError, match=r"x exists: give --force to replace it, or another -o$"):
        refuse_to_replace(path, force=False)
    refuse_to_replace(path, force=True)


def test_what_killed_processes_left_is_removed_and_what_is_written_stays(tmp_path):
    left = tmp_path / ".y.parquet.99999999.0.tmp", tmp_path / "deep" / ".x[1].99999999.4.tmp"
    keep = tmp_path / ".y", tmp_path / "y.tmp"
    old = temporary_path(tmp_path / "y.parquet")  # of a process that had this one's number
    for path in (*left, *keep, old):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    os.utime(old, (0, 0))
    with table_writer(tmp_path / "y.parquet"):
        assert not left[0].exists()
        assert not old.exists()
        assert left[1].exists()
        remove_temporaries(tmp_path)
        assert not left[1].exists()
    assert all(path.exists() for path in (*keep, tmp_path / "y.parquet"))
