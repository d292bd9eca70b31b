"""PDN to rows: every game accounted for, the fast reader like the complete one, files whole or not at all."""

import errno
import gzip
import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckai.datasets.convert import parse_files
from ckai.datasets.files import WriteError
from ckai.datasets.schema import EXPERT_SCHEMA, DatasetError, headers_path
from ckai.game import Game, Position
from ckai.pdn import PdnError, read_games, write_game
from ckai.pdn.reader import MAX_PLIES

ODD = r"""Some words before
[Event "whole"]
[Black "b"]
[White "w"]
[Date "2001"]
[Result "1-0"]
1. 11-15 22-18 2. 15x22 25x18 1-0

[Event "illegal"]
1. 11-15 22-18 2. 8-11 0-1

[Event "nothing legal"]
1. 11-18 *

[Event "international"]
[GameType "20"]
1. 32-28 *

[Event "impossible"]
[FEN "W:W1:B1"]
1. 1-5 *

[Event "short and from a FEN"]
[FEN "W:W26:B6,14,22"]
1. 26x1 0-1

[Event "no moves"]
[Result "0-1"]

[Event "contradiction"]
[Result "0-1"]
1. 9-13 1-0
[Event "unclosed"]
1. 9-13 {what
[Event "unknown result"]
1. 9-14 22-18 *
"""


def convert(text, tmp_path, **options):
    source = tmp_path / "games.pdn"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    tally = parse_files([source], tmp_path / "out" / "games.parquet", **options)
    rows = pq.read_table(tally.output)
    refused = [json.loads(line) for line in tally.refused.read_text().splitlines()]
    return tally, rows, refused


def test_every_game_is_accounted_for(tmp_path):
    tally, rows, refused = convert(ODD, tmp_path)
    assert tally.games_read == 10
    assert (tally.games_kept, tally.games_truncated, tally.games_rejected) == (5, 2, 3)
    assert (tally.plies, tally.rows) == (11, 13) == (11, rows.num_rows)
    assert dict(tally.reasons) == {
        "illegal move": 2,
        "another kind of draughts": 1,
        "impossible first position": 1,
        "unclosed comment": 1,
    }
    assert [(r["game"], r["status"], r["ply"]) for r in refused] == [
        (2, "truncated", 2),
        (3, "rejected", 0),
        (4, "rejected", None),
        (5, "rejected", None),
        (9, "truncated", 1),
    ]
    assert refused[0]["legal"] == ["15x22"]
    assert refused[0]["text"] == "8-11"
    assert refused[0]["line"] == 10
    assert refused[0]["file"].endswith("games.pdn")


def test_rows_say_what_the_games_say(tmp_path):
    _, table, _ = convert(ODD, tmp_path)
    assert table.schema.metadata == EXPERT_SCHEMA.metadata
    for name in EXPERT_SCHEMA.names:
        assert table.schema.field(name).type == EXPERT_SCHEMA.field(name).type or name == "board"
    assert table.schema.field("board").type.list_size == 32
    rows = table.to_pylist()
    assert [r["game"] for r in rows] == [0, 0, 0, 0, 1, 1, 5, 5, 5, 7, 8, 9, 9]
    assert [r["z"] for r in rows] == [1, -1, 1, -1, -1, 1, 1, 1, 1, 1, None, None, None]
    capture = rows[6:9]
    assert [(r["ply"], r["hop"], r["black"]) for r in capture] == [
        (0, 0, False),
        (0, 1, False),
        (0, 2, False),
    ]
    position = Position.from_fen("W:W26:B6,14,22")
    for row in capture:
        assert row["board"] == position.board.tolist()
        assert row["jumper"] == position.jumper
        legal = np.flatnonzero(np.unpackbits(np.frombuffer(row["legal"], np.uint8), bitorder="little"))
        assert legal.tolist() == position.legal_actions()
        position = position.push_action(row["label"])


def test_headers_say_what_the_tags_say(tmp_path):
    tally, _, _ = convert(ODD, tmp_path)
    headers = pq.read_table(headers_path(tally.output)).to_pylist()
    assert [h["game"] for h in headers] == [0, 1, 5, 6, 7, 8, 9]
    assert (headers[0]["event"], headers[0]["black"], headers[0]["date"]) == ("whole", "b", "2001")
    assert [h["result"] for h in headers] == ["1-0", "0-1", "0-1", "0-1", "1-0", "*", "*"]
    assert [h["plies"] for h in headers] == [4, 2, 1, 0, 1, 1, 2]
    assert headers[0]["line"] == 2


@pytest.mark.parametrize(
    "text", [b"", b"   \n\n", b"hello world\n", b"\x00\xff\xfe\x80" * 300, b"{only a comment}"]
)
def test_a_file_without_games_is_an_error(tmp_path, text):
    with pytest.raises(PdnError, match="expected games of PDN"):
        convert(text, tmp_path)
    assert not list(tmp_path.rglob("*.parquet*"))


def test_a_file_without_games_is_skipped_among_others(tmp_path):
    for name, text in (("a", ""), ("b", "1. 11-15 *"), ("c", "words"), ("d", "1. 9-13 *")):
        (tmp_path / f"{name}.pdn").write_text(text)
    paths = [tmp_path / f"{name}.pdn" for name in "abcd"]
    tally = parse_files(paths, tmp_path / "rows.parquet")
    assert (tally.games_read, tally.games_kept) == (2, 2)
    assert [Path(error.path).name for error in tally.without_games] == ["a.pdn", "c.pdn"]
    with pytest.raises(PdnError, match=r"a\.pdn: expected games of PDN .* found none in 0 bytes"):
        parse_files([paths[0], paths[2]], tmp_path / "none.parquet")
    assert not (tmp_path / "none.parquet").exists()


def test_a_file_that_counts_squares_from_0_makes_no_rows(tmp_path):
    for text in ("10-14 22-18 6-10 24-19\t1-0\n0-4 22-18\t1/2-1/2\n", "1. 11-15 *\n" * 8 + "1. 9-13 8-0 *"):
        with pytest.raises(PdnError, match=r"'(0-4|8-0)' has a square 0: .*renumber the file"):
            convert(text, tmp_path)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["games.refused.jsonl"]
    tally, *_ = convert("1. 11-15 *\n" * 20 + "1. 9-13 8-0 *", tmp_path)
    assert tally.reasons["square 0"] == 1


def test_a_file_of_which_hardly_a_game_is_whole_makes_no_rows(tmp_path):
    broken = "1. 11-15 22-18 2. 8-11 *\n"
    with pytest.raises(PdnError, match=r"'8-11' is illegal .*; only 0 of 3 games can be read whole"):
        convert(broken * 3, tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["games.refused.jsonl"]
    with pytest.raises(PdnError, match=r"only 1 of 11 games .* says why"):
        convert(broken * 10 + "1. 9-13 *", tmp_path)
    assert convert(broken * 9 + "1. 9-13 *", tmp_path)[0].games_truncated == 9
    assert convert(broken, tmp_path)[0].games_truncated == 1
    (tmp_path / "good.pdn").write_text("1. 9-13 *\n" * 90)
    (tmp_path / "games.pdn").write_text(broken * 10)
    with pytest.raises(PdnError, match=r"games\.pdn:1: game 1: .*only 0 of 10 games"):
        parse_files([tmp_path / "good.pdn", tmp_path / "games.pdn"], tmp_path / "both.parquet")


@pytest.mark.parametrize("text", ["1. 32-28 19-23 2. 37-32 *", "1. 33-28 18-22 *", "1. 9-13 22-18 33-29 *"])
def test_squares_above_32_are_another_variant(tmp_path, text):
    tally, _, refused = convert(text + "\n1. 9-13 *", tmp_path)
    assert dict(tally.reasons) == {"another kind of draughts": 1}
    assert "has a square above 32: another variant" in refused[0]["reason"]


def test_only_results_that_were_played_give_z(tmp_path):
    for tags, moves, z in (
        ('[Termination "normal"]', "1. 9-13 22-18 1-0", [1, -1]),
        ('[Termination "Time forfeit"]', "1. 9-13 22-18 1-0", [None, None]),
        ('[Termination "White won on time"][Result "0-1"]', "1. 9-13 22-18", [None, None]),
        ('[Termination "resignation; sometimes"]', "1. 9-13 22-18 0-1", [-1, 1]),
        ('[Result "White wins"]', "1. 9-13 22-18", [None, None]),
    ):
        assert convert(f"{tags}\n{moves}\n", tmp_path)[1]["z"].to_pylist() == z, tags


def test_a_move_number_1_after_a_blank_line_begins_a_game(tmp_path):
    for text, moves in (
        ("1. 11-15 23-19 2. 8-11 22-17\n\n1. 9-14 22-18 2. 5-9 24-19\n", [4, 4]),
        ("1. 11-15 23-19 2. 8-11 22-17\n\n{another}\n1. 9-14 22-18\n", [4, 2]),
        ("1 11-15 23-19 2 8-11 22-17\r\n\r\n1 9-14 22-18", [4, 2]),
        ("1. 11-15\n\n1. ... 23-19\n\n2. 8-11 22-17", [4]),
        ("1. 11-15\n\n1... 23-19 {a\n\nb} 2. 8-11 ({c}\n\n1. 9-13) 22-17", [4]),
        ("1. 11-15 23-19 2. 8-11 22-17 {a\n\n}\n3. 4-8", [5]),
        ('[Event "a"]\n\n\n1. 11-15 23-19', [2]),
    ):
        tally, table, _ = convert(text, tmp_path)
        games = list(read_games(tmp_path / "games.pdn"))
        assert [len(game.moves) for game in games] == moves, text
        assert np.bincount(table["game"].to_numpy()).tolist() == moves
        assert tally.games_kept == len(moves)


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "pack", "source"),
    [
        ("odd.pdn.gz", gzip.compress, "odd.pdn.gz"),
        ("odd.pdn", gzip.compress, "odd.pdn"),
        ("odd.pdn.gz", bytes, "odd.pdn.gz"),
        ("odd.zip", lambda data: zipped({"notes.txt": "1. 9-13 *", "x/odd.PDN": data}), "odd.zip/x/odd.PDN"),
    ],
)
def test_compressed_files_are_read_like_plain_ones(tmp_path, name, pack, source):
    plain, table, refused = convert(ODD, tmp_path)
    path = tmp_path / name
    path.write_bytes(pack(ODD.encode()))
    tally = parse_files(path, tmp_path / "packed.parquet")
    assert tally.reasons == plain.reasons
    assert pq.read_table(tally.output).equals(table)
    headers = pq.read_table(headers_path(tally.output)).to_pylist()
    assert {h["source"] for h in headers} == {str(tmp_path / source)}
    listed = [json.loads(line) for line in tally.refused.read_text().splitlines()]
    assert listed == [r | {"file": str(tmp_path / source)} for r in refused]
    assert [g.line for g in read_games(path)] == [g.line for g in read_games(io.BytesIO(ODD.encode()))]


def test_every_pdn_file_of_an_archive_is_read(tmp_path):
    path = tmp_path / "two.zip"
    members = {"a.pdn": "1. 11-15 *", "__MACOSX/._a.pdn": "\0", "b.pdn": "", "c/d.pdn": "1. 9-13 *"}
    path.write_bytes(zipped(members))
    seen = []
    tally = parse_files(path, tmp_path / "rows.parquet", progress=lambda *now: seen.append(now[:2]))
    assert tally.games_read == 2
    assert [error.path for error in tally.without_games] == [f"{path}/b.pdn"]
    assert all(0 < done <= path.stat().st_size == total for done, total in seen)


def encrypted(data):
    """A zip archive whose first member is marked as encrypted."""
    at = data.index(b"PK\x01\x02") + 8
    return data[:6] + b"\x01" + data[7:at] + b"\x01" + data[at + 1 :]


LONG = random.Random(0).randbytes(5000).hex().encode()
ZIPPED = gzip.compress(LONG, mtime=0)  # with no time, every process has the same bytes


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (ZIPPED[:-100], "expected a whole gzip file, found one that is damaged, cut short"),
        (ZIPPED[:2000] + bytes(9) + ZIPPED[2009:], "expected a whole gzip file"),
        (zipped({"a.pdn": LONG})[:-30], "expected a whole zip archive"),
        (zipped({"a.pdn": LONG})[:2000] + bytes(9) + zipped({"a.pdn": LONG})[2009:], "a whole zip archive"),
        (zipped({"a.txt": "1. 9-13 *"}), r"expected \.pdn files in the zip archive, found a\.txt"),
        (zipped({}), r"expected \.pdn files in the zip archive, found none"),
        (encrypted(zipped({"a.pdn": LONG})), r"x/a\.pdn: expected a whole zip archive, .*encrypted"),
    ],
)
def test_broken_archives_are_errors_of_one_line(tmp_path, data, reason):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(PdnError, match=reason) as caught:
        parse_files(tmp_path / "x", tmp_path / "out" / "rows.parquet")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "x") in str(caught.value)
    assert not list((tmp_path / "out").iterdir())


def test_standard_input_is_read(tmp_path, monkeypatch):
    def on_stdin(data):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))

    for n, data in enumerate((ODD.encode(), gzip.compress(ODD.encode()))):
        on_stdin(data)
        tally = parse_files("-", tmp_path / f"{n}.parquet")
        assert tally.games_read == 10
        assert {h["source"] for h in pq.read_table(headers_path(tally.output)).to_pylist()} == {
            "standard input"
        }
    on_stdin(zipped({"a.pdn": "1. 9-13 *"}))
    with pytest.raises(PdnError, match="standard input: expected PDN or gzip, found a zip archive"):
        parse_files("-", tmp_path / "rows.parquet")
    on_stdin(b"")
    with pytest.raises(PdnError, match=r"standard input: expected games of PDN .* found none in 0 bytes"):
        parse_files("-", tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("foo", r"foo: expected a name that ends in \.parquet"),
        ("foo.headers.parquet", "expected a name for rows, found one for headers"),
    ],
)
def test_an_output_of_another_suffix_is_refused(tmp_path, name, reason):
    (tmp_path / "a.pdn").write_text("1. 11-15 *")
    with pytest.raises(DatasetError, match=reason):
        parse_files(tmp_path / "a.pdn", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdn"]


def test_a_full_disk_is_explained_and_what_stood_there_stays(tmp_path, monkeypatch):
    convert("1. 11-15 *", tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on it")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(WriteError, match=r"parquet: cannot be written \(No space left on device\); an"):
        convert("1. 9-13 *", tmp_path)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.parametrize(
    "text",
    [b" \n", b"{\n", b"{", b"(", b"( ", b"()", b'[a "', b'[a "\n', b"1 - ", b"\n \t", b"22-18 ", b"22-18 {"],
)
def test_much_of_one_thing_ends(tmp_path, text):
    # A reader that looks to the end from every sign would not come back here at all.
    tally, *_ = convert(b"1. 9-13 " + text * (300_000 // len(text)), tmp_path)
    assert tally.games_read >= 1
    assert tally.rows >= 1


def check_readers_agree(data: bytes, folder: Path) -> int:
    """Rows and Python objects say the same of any bytes. Returns the games."""
    source = folder / "x.pdn"
    found = len(list(read_games(io.BytesIO(data), "x")))
    data = b"1. 11-15 *\n" * (10 * found + 1) + data  # a file without whole games is refused
    source.write_bytes(data)
    games = list(read_games(io.BytesIO(data), "x"))
    tally = parse_files([source], folder / "x.parquet")
    used = [game for game in games if not game.rejected]
    assert (tally.games_read, tally.games_rejected) == (len(games), len(games) - len(used))
    assert tally.games_kept == sum(game.problem is None for game in games)
    table = pq.read_table(tally.output)
    actions = [(g.number - 1, action) for g in used for each in g.moves for action in each.move.actions]
    assert list(zip(table["game"].to_pylist(), table["label"].to_pylist(), strict=True)) == actions
    headers = pq.read_table(headers_path(tally.output)).to_pylist()
    assert [h["result"] for h in headers] == [g.result or "*" for g in used]
    # What was read is written, and what was written is read.
    for game in used[10 * found :]:
        written = write_game(game)
        again = [[str(m.move) for m in g.moves] for g in read_games(io.BytesIO(written.encode()), "x")]
        assert again == [[str(m.move) for m in game.moves]], written
    return found


PIECES = st.sampled_from([
    "1. ", "11-15 ", "22-18 ", "15x22 ", "9-13 ", "26x1 ", "\n", "\r\n", "{", "}", "(", ")", "[",
    "]", '"', "*", "1-0 ", "0-1\n", "1/2", "1/2-1/2 ", ";", "%", "$3", "!", "?", "x", "-", ":", ".",
    "...", " ", "\x00", "\u2013", '[Event "a"]\n', '[Result "1-0"]\n', '[FEN "W:W22,K30:B1,2"]\n',
    '[GameType "20"]\n', '[FEN "rubbish"]', "hello ", "{a comment} ", "(1. 9-14) ", "99", "\\",
    "\u00e9", "\ufeff", "[Ev",
])  # fmt: skip


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=60))
def test_any_words_are_read_alike_by_both_readers(tmp_path, pieces):
    check_readers_agree("".join(pieces).encode(), tmp_path)


ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "acf-expert.pdn"


@pytest.mark.skipif(not ARCHIVE.exists(), reason="needs the expert games")
def test_the_archive_is_read_whole(tmp_path):
    tally = parse_files([ARCHIVE], tmp_path / "rows.parquet")
    assert (tally.games_read, tally.games_kept, tally.plies, tally.rows) == (8000, 8000, 392_743, 402_404)


def test_what_strangers_wrote_obeys_no_terminal(tmp_path):
    text = '1. 9-13 \x9b31m \x1b]0;x\x07 *\n[Event "a"]\n1. 9-13 \u202e *\n1. 9-13 ' + "11" * 10**6 + "-15 *"
    tally, *_ = convert(text + "\n1. 9-13 *", tmp_path)
    listed = tally.refused.read_text()
    assert all(c == "\n" or c.isprintable() for c in listed)
    assert len(listed) < 2000
    game = Game.from_pdn("1. 11-15 (1. 9-13 \x9b31m) 22-18 *")
    assert game.moves
    written = "".join(map(write_game, read_games(io.BytesIO(b"1. 11-15 (1. 9-13 \x1b[31m\xc2\x9b) *"))))
    assert not set(written) & {"\x1b", "\x9b"}


def test_red_is_black(tmp_path):
    tally, *_ = convert('[Red "A"]\n[White "B"]\n1. 9-13 *\n[Red "A"]\n[Black "C"]\n1. 9-13 *', tmp_path)
    assert [h["black"] for h in pq.read_table(headers_path(tally.output)).to_pylist()] == ["A", "C"]
    red, both = read_games(tmp_path / "games.pdn")
    assert (red.header("Black"), red.play().headers["Black"], both.header("Black")) == ("A", "A", "C")


@pytest.mark.slow
def test_a_game_is_cut_where_its_numbers_would_not_fit_a_row(tmp_path):
    rounds = "32-28 1-5 28-32 5-1 " * (MAX_PLIES // 4 + 1)
    tally, rows, *_ = convert(f'[FEN "W:WK32:BK1"]\n{rounds}*', tmp_path)
    assert (tally.games_kept, tally.games_truncated, rows.num_rows) == (0, 1, MAX_PLIES)
    assert rows["ply"].to_pylist()[-1] == MAX_PLIES - 1
    assert list(tally.reasons) == ["too many plies"]
