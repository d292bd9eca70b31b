"""Fuzz the PDN readers with damaged files: both must agree, and only PdnError may be raised.

    python benchmarks/faults/fuzz_pdn.py --minutes 10

Starts from the sample games. On a failure the bytes are written to `fuzz_failed.pdn`.
"""

import argparse
import importlib.util
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
WORDS = [
    b"{",
    b"}",
    b"(",
    b")",
    b"[",
    b"]",
    b'"',
    b"*",
    b"1-0",
    b"0-1",
    b"1/2-1/2",
    b";",
    b"%",
    b"$7",
    b"!",
    b"?",
    b"x",
    b"-",
    b":",
    b".",
    b"...",
    b" ",
    b"\x00",
    b"\xe2\x80\x93",
    b"\x96",
    b"\xa0",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b'[Event "a"]\n',
    b'[FEN "W:W22,K30:B1,2"]\n',
    b'[FEN "junk"]',
    b'[GameType "25"]',
    b'[Result "0-1"]\n',
    b"hello",
    b"32",
    b"11-15",
    b"26x1",
    b"99-1",
    b"1.",
    b"(1. 9-14 {ok}) ",
    b"\xff",
    b"\\",
    b"[Ev",
    b"1/2",
    b"{" * 9,
    b"(" * 70,
    b")" * 70,
]


def damage(rng: random.Random, text: bytes) -> bytes:
    """Apply a few random edits: insert, delete, repeat, replace, truncate."""
    data = bytearray(text)
    for _ in range(rng.randrange(0, 12)):
        at = rng.randrange(len(data) + 1)
        edit = rng.random()
        if edit < 0.5:
            data[at:at] = rng.choice(WORDS)
        elif edit < 0.7:
            del data[at : at + rng.randrange(1, 40)]
        elif edit < 0.8:
            data[at:at] = data[at : at + rng.randrange(1, 400)]
        elif edit < 0.95 and at < len(data):
            data[at] = rng.randrange(256)
        else:
            del data[at:]
    return bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location(
        "test_convert", ROOT / "tests" / "datasets" / "test_convert.py"
    )
    if spec is None or spec.loader is None:
        sys.exit("expected tests/datasets/test_convert.py beside this script")
    checks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checks)

    def hang(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError("more than 20 seconds for one file")

    signal.signal(signal.SIGALRM, hang)
    rng = random.Random(options.seed)
    games = (ROOT / "data" / "sample.pdn").read_bytes().split(b"\n\n[Event")
    books = [games[0]] + [b"[Event" + game for game in games[1:]]
    end = time.monotonic() + 60 * options.minutes
    files = games_read = 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            text = damage(rng, b"\n\n".join(rng.sample(books, rng.randrange(1, 6))))
            signal.alarm(20)
            try:
                games_read += checks.check_readers_agree(text, Path(folder))
            except BaseException:
                Path("fuzz_failed.pdn").write_bytes(text)
                print(f"failed after {files:,} files; the bytes are in fuzz_failed.pdn", file=sys.stderr)
                raise
            finally:
                signal.alarm(0)
            files += 1
    print(
        f"{files:,} damaged files, {games_read:,} games, {options.minutes:g} minutes: "
        "the readers agree, no other error, no hang"
    )


if __name__ == "__main__":
    main()
