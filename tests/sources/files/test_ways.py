"""Both ways of reading Parquet give every value of every type the same meaning, and no row decides another's answer."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as cl
from crestline.question import Question
from crestline.sources import open_source
from crestline.sources.engine.engine_functions import embedded_duckdb
from crestline.sources.files import parquet_footer
from crestline.sources.files.engine_files import open_physical_parquet
from crestline.sources.files.files import read_carefully
from crestline.sources.files.parquet import parquet_table
from crestline.sources.files.parquet_footer import plain_footer

pytestmark = pytest.mark.long

LARGEST = 2**63 - 1
DAY = 86_400
INT96 = {"use_deprecated_int96_timestamps": True}
PLAIN = {"use_dictionary": False}


def moments(unit: str, zone: str | None = None) -> pa.Array:
    """Moments around the ends of all calendars, as far as the unit has them in microseconds."""
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    seconds = (0, 1, -1, 1_769_860_800, 253_402_300_799, -62_135_596_800, 9_223_372_036, -9_223_372_036)
    ticks = [n * per_second for n in seconds if abs(n * per_second) < LARGEST]
    return pa.array([*ticks, 1_234_567, -1_234_567, None], pa.int64()).cast(pa.timestamp(unit, zone))


def raw(values: list[int], bits: int, kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int32() if bits == 32 else pa.int64()).view(kind)


COLUMNS: dict[str, tuple[pa.Array, dict[str, Any]]] = {
    **{f"{unit} {zone}": (moments(unit, zone), {}) for unit in ("ms", "us", "ns") for zone in (None, "UTC")},
    **{f"96 bits {unit} {zone}": (moments(unit, zone), INT96) for unit in ("us", "ns") for zone in (None, "UTC")},
    "96 bits plain": (moments("us"), INT96 | PLAIN),
    "text": (pa.array(["a", "", None, "é😀", "\0", "x" * 5000]), {}),
    "text plain": (pa.array(["a", "", None, "é😀", "\0", "x" * 5000]), PLAIN),
    "text in groups": (pa.array(["a", "b", "c", None, "d", "d"]), {"row_group_size": 2}),
    "long text": (pa.array(["a", None], pa.large_string()), {}),
    "delta text": (pa.array(["ab", "abc", "é"]), PLAIN | {"column_encoding": "DELTA_BYTE_ARRAY"}),
    "categories": (pa.array(["a", "b", None, "a"]).dictionary_encode(), {}),
    "bytes": (pa.array([b"a", b"\xff\0", None, b""]), {}),
    "fixed bytes": (pa.array([b"abcd", b"\xff\0\0\0"], pa.binary(4)), {}),
    "uuid": (pa.array([b"0123456789abcdef"], pa.uuid()), {}),
    "json": (pa.array(['{"a": 1}', "[]", None], pa.json_()), {}),
    "true": (pa.array([True, False, None]), {}),
    "half": (pa.array([1.5, float("inf"), None], pa.float16()), {}),
    "float": (pa.array([1.5, float("inf"), -0.0, 1e-45], pa.float32()), {}),
    "double": (pa.array([0.1, 1e300, None, 5e-324]), {}),
    **{
        f"{kind}": (pa.array([low, high, None], kind), {})
        for kind, low, high in (
            (pa.int8(), -128, 127), (pa.int16(), -(2**15), 2**15 - 1), (pa.int32(), -(2**31), 2**31 - 1),
            (pa.int64(), -(2**63), LARGEST), (pa.uint8(), 0, 255), (pa.uint16(), 0, 2**16 - 1),
            (pa.uint32(), 0, 2**32 - 1), (pa.uint64(), 0, 2**64 - 1),
        )
    },
    **{
        f"decimal {digits} {scale} {whole}": (
            pa.array([Decimal((0, (9,) * digits, -scale)), Decimal(0), None], pa.decimal128(digits, scale)),
            {"store_decimal_as_integer": whole},
        )
        for digits, scale in ((4, 0), (9, 2), (18, 18), (28, 10), (38, 0))
        for whole in (False, True)
    },
    "day": (raw([0, 2_932_897, -719_163, 2**31 - 2, -(2**31) + 2], 32, pa.date32()), {}),
    "time ms": (raw([0, DAY * 1000 - 1, 5], 32, pa.time32("ms")), {}),
    "time us": (raw([0, DAY * 10**6 - 1, 5], 64, pa.time64("us")), {}),
    "time ns": (raw([0, DAY * 10**9 - 1000, 5000], 64, pa.time64("ns")), {}),
    "duration": (pa.array([1, -1], pa.duration("us")), {}),
    "null": (pa.nulls(2), {}),
    "list": (pa.array([["a"], [], None]), {}),
    "struct": (pa.array([{"a": "x", "b": {"c": ["é"]}}]), {}),
    "map": (pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string())), {}),
}  # fmt: skip


def opened(file: str) -> BinaryIO:
    return cast(BinaryIO, open(file, "rb", buffering=0))


def rows(path: Path | str, careful: bool) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Types and values by one way of reading; moments as whole numbers, because Python's calendar is too short."""
    engine = embedded_duckdb()
    table, _ = parquet_table(engine, [str(path)], opened if careful else None)
    found = engine.con.sql(engine.compile(table))
    kinds = [*map(str, found.types)]
    quoted = ['"' + name.replace('"', '""') + '"' for name in found.columns]
    shown = [
        f"{'epoch_ns' if 'NS' in kind else 'epoch_us'}({name})" if kind.startswith("TIMESTAMP") else f"{name}::varchar"
        for name, kind in zip(quoted, kinds, strict=True)
    ]
    read = found.project(", ".join(shown)).fetchall()
    engine.disconnect()
    return kinds, read


@pytest.mark.parametrize("name", COLUMNS)
def test_both_ways_give_every_value_the_same_meaning(tmp_path: Path, name: str) -> None:
    column, options = COLUMNS[name]
    if "column_encoding" in options:
        options = options | {"column_encoding": {"v": options["column_encoding"]}}
    between = {"before": pa.array([["é"]] * len(column)), "v": column, "after": pa.array(["x"] * len(column))}
    pq.write_table(pa.table(between), tmp_path / "t.parquet", **options)
    assert rows(tmp_path / "t.parquet", True) == rows(tmp_path / "t.parquet", False)


def test_both_ways_read_what_duckdb_writes(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select 'é' as text, 'a'::enum('a', 'b') as choice, '\\xFF'::blob as bytes, uuid() as id, "
            "'2026-01-31'::date as day, '12:00:00'::time as clock, '2026-01-31 12:00'::timestamp as us, "
            "'2026-01-31 12:00'::timestamp_ms as ms, '2026-01-31 12:00'::timestamp_ns as ns, "
            "'2026-01-31 12:00Z'::timestamptz as zone, 1.5::decimal(9, 2) as price, 7::utinyint as small, "
            "interval 1 day as span, '[1]'::json as doc, {'a': 'x'} as pair, ['x'] as many, 2::hugeint as huge "
            f"from range(5000)) to '{path}' (format parquet)"
        )
    assert rows(path, True) == rows(path, False)


def test_both_ways_read_folders_that_name_values_and_odd_columns(tmp_path: Path) -> None:
    (tmp_path / "country=DE").mkdir()
    pq.write_table(pa.table({'q"x': ["a"], "a b": [1], "é": ["b"]}), tmp_path / "country=DE" / "t.parquet")
    found = rows(tmp_path / "country=DE" / "t.parquet", True)
    assert found == rows(tmp_path / "country=DE" / "t.parquet", False)
    assert found[1] == [("a", "1", "b")]  # a folder's name is no column, as in files of text


def test_what_duckdb_cannot_read_is_repaired_by_itself(tmp_path: Path) -> None:
    ends = [LARGEST, -LARGEST, 0]
    table = {
        "ms": raw(ends, 64, pa.timestamp("ms")),
        "zone": raw(ends, 64, pa.timestamp("ms", "UTC")),
        "clock ms": raw([DAY * 1000, -1, 0], 32, pa.time32("ms")),
        "clock us": raw([DAY * 10**6, LARGEST, 0], 64, pa.time64("us")),
        "clock ns": raw([DAY * 10**9, -LARGEST, 0], 64, pa.time64("ns")),
        "doc": pa.array(["broken", "\0", "0"], pa.json_()),
        "text": pa.array([b"\xff", b"caf\xe9", b"0"]).view(pa.string()),
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    _, found = rows(tmp_path / "t.parquet", True)
    assert [row[:6] for row in found[:2]] == [(None,) * 6] * 2
    assert found[2] == (0, 0, "00:00:00", "00:00:00", "00:00:00", "0", "0")
    assert [row[6] for row in found] == ["\ufffd", "caf\ufffd", "0"]


def test_bytes_have_the_label_that_python_gives_them(tmp_path: Path) -> None:
    """Every short string of bytes at which decoders differ, in row groups with and without valid text."""
    choose = random.Random(7)
    pieces = [bytes([n]) for n in (*b"a\0\x7f", *range(0x80, 0x100, 5), 0xC0, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4)]
    values = [b"".join(choose.choices(pieces, k=choose.randint(0, 6))) for _ in range(20_000)]
    pq.write_table(pa.table({"v": pa.array(values).view(pa.string())}), tmp_path / "t.parquet", row_group_size=3000)
    expected = [value.decode(errors="replace") for value in values]
    assert [row[0] for row in rows(tmp_path / "t.parquet", True)[1]] == expected


BAD = (b"\xff", b"caf\xe9", b"\xc3", b"a\xed\xa0\x80", b"ok")


@pytest.mark.parametrize("bad", BAD)
def test_one_byte_string_has_one_label_in_every_kind_of_source(tmp_path: Path, bad: bytes) -> None:
    column = pa.array([bad, bad, b"ok"]).view(pa.string())
    table = pa.table({"user": ["u", "v", "w"], "item": column})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_bytes(
        b"user,item\n" + b"".join(b"%s,%s\n" % row for row in zip(b"u v w".split(), (bad, bad, b"ok"), strict=True))
    )
    coded = table.set_column(1, "item", column.dictionary_encode())
    found = [
        labels(source) for source in (tmp_path / "t.parquet", tmp_path / "t.csv", table, coded, table.to_batches()[0])
    ]
    text = bad.decode(errors="replace")
    assert found == [{text: 2, "ok": 1} if text != "ok" else {"ok": 3}] * 5


def labels(source: object, **options: Any) -> dict[Any, int]:
    asked = Question.from_fields({"user": "user", "item": ("item",), "k": 1, "k_bar": 30, **options})  # type: ignore[typeddict-item] # options
    opened = open_source(source)  # type: ignore[arg-type] # a path or a frame
    opened.check(asked)
    found = opened.top_counts(asked, bytes(16))
    return {item: count for item, count in zip(found.items, found.counts, strict=True) if count}


UNTIL = [datetime(9999, 12, 31)] * 10 + [datetime(1, 1, 1), datetime(2026, 1, 31)]


@pytest.mark.long
@pytest.mark.parametrize("options", [INT96, INT96 | PLAIN, {}])
def test_one_byte_of_one_user_changes_no_moment_of_others(tmp_path: Path, options: dict[str, Any]) -> None:
    """Regression: a byte that is not UTF-8 sent all rows to a reader whose moments of 96 bits ended in 2262."""
    found = []
    for last in (b"x", b"\xff"):
        cities = pa.array([b"x"] * 11 + [last]).view(pa.string())
        users = [f"u{n}" for n in range(12)]
        table = {"user": users, "item": ["ok"] * 12, "city": cities, "until": pa.array(UNTIL, pa.timestamp("us"))}
        pq.write_table(pa.table(table), tmp_path / "t.parquet", **options)
        seen = [
            labels(tmp_path / "t.parquet", where=f"until > '2300-01-01' and city {sign} 'y'") for sign in ("<", "<>")
        ]
        seen += [labels(tmp_path / "t.parquet", where="until < '1700-01-01' and city <> 'y'")]
        found.append(seen)
    assert found[0] == found[1] == [{"ok": 10}, {"ok": 10}, {"ok": 1}]


TEXTS = [b"\xff", b"\xc3", b"caf\xe9", b"\xef\xbf\xbd", b"a", "é".encode(), "\U0001f600".encode(), b"zz", b"caf"]
FILTERS: dict[str, Callable[[str], bool]] = {
    "city = '\ufffd'": lambda text: text == "\ufffd",
    "city = 'caf\ufffd'": lambda text: text == "caf\ufffd",
    "city <> 'caf\ufffd'": lambda text: text != "caf\ufffd",
    "city >= 'é'": lambda text: text >= "é",
    "city < '\U0001f600'": lambda text: text < "\U0001f600",
    "city > '\ue000'": lambda text: text > "\ue000",
    "city > 'zz'": lambda text: text > "zz",
    "city < 'cag'": lambda text: text < "cag",
    "city like '%\ufffd'": lambda text: text.endswith("\ufffd"),
    "city like 'caf_'": lambda text: text.startswith("caf") and len(text) == 4,
    "city is not null": lambda text: True,
    "city in ('\ufffd', 'a')": lambda text: text in ("\ufffd", "a"),
}


@pytest.mark.parametrize("condition", FILTERS)
def test_a_filter_answers_for_each_row_by_that_row_alone(tmp_path: Path, condition: str) -> None:
    """In a row group of its own and beside the rows of others, a row passes a filter by its own text."""
    expected = sorted(text.hex() for text in TEXTS if FILTERS[condition](text.decode(errors="replace")))
    assert sorted(passing(tmp_path, [[text] for text in TEXTS], condition)) == expected
    assert sorted(passing(tmp_path, [TEXTS], condition)) == expected
    beside = [b"a", b"\xc3", "é".encode()]  # the ends of these are UTF-8, and end before the text that is repaired
    assert sorted(passing(tmp_path, [beside, [t for t in TEXTS if t not in beside]], condition)) == expected


@pytest.mark.parametrize("domain", [["\ufffd", "a"], "list.csv"])
def test_a_public_list_finds_repaired_text_in_every_row_group(tmp_path: Path, domain: Any) -> None:
    table = pa.table({"user": [text.hex() for text in TEXTS], "item": pa.array(TEXTS).view(pa.string())})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1)
    (tmp_path / "list.csv").write_text("item\n\ufffd\na\n")
    listed = str(tmp_path / domain) if isinstance(domain, str) else domain
    answer = cl.top_k(
        str(tmp_path / "t.parquet"), user="user", item="item", k=1, epsilon=100, delta="1e-6", domain=listed
    )
    assert answer.items == ("\ufffd",)  # three users to one: another answer has probability e^-100


def passing(folder: Path, groups: list[list[bytes]], condition: str) -> list[str]:
    """The texts in hexadecimal whose rows pass."""
    path = folder / f"{len(groups)}.parquet"
    tables = [
        pa.table({"user": [text.hex() for text in group], "city": pa.array(group).view(pa.string())})
        for group in groups
    ]
    with pq.ParquetWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return [*labels(str(path), item=("user",), where=condition)]


def set_old_statistics(path: Path, name: str, low: bytes, high: bytes) -> None:
    """Give a column the statistics of old writers, in the fields that they used."""
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    old = b"".join(b"\x18" + bytes([len(end)]) + end for end in (high, low)) + b"\0"

    def described(field: Any) -> bytes:
        fields, _ = parquet_footer._read_fields(footer, field.start)
        path_in_schema = next(f for f in fields if f.number == 3)
        if not footer[path_in_schema.start : path_in_schema.end].endswith(name.encode()):
            return footer[field.start : field.end]
        kept = [f for f in fields if f.number != 12]
        place = sum(f.number < 12 for f in kept)
        kept.insert(place, parquet_footer._Field(12, 12, 0, 0))
        return parquet_footer._write_fields(footer, kept, lambda f: old if f.number == 12 else footer[f.start : f.end])

    def structs(field: Any, value: Callable[[Any], bytes]) -> bytes:
        many, place = parquet_footer._read_list_header(footer, field.start)[1:]
        parts = [footer[field.start : place]]
        for _ in range(many):
            fields, place = parquet_footer._read_fields(footer, place)
            parts.append(parquet_footer._write_fields(footer, fields, value))
        return b"".join(parts)

    def changed(number: int, value: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        return lambda f: value(f) if f.number == number else footer[f.start : f.end]

    chunks = changed(1, lambda f: structs(f, changed(3, described)))
    made = parquet_footer._write_fields(
        footer, parquet_footer._read_fields(footer, 0)[0], changed(4, lambda f: structs(f, chunks))
    )
    path.write_bytes(content[: -8 - size] + made + len(made).to_bytes(4, "little") + b"PAR1")


# What old writers took for the smallest and the largest: bytes compared as if they had signs, and moments of 96 bits as
# texts. The last value is that of the one user.
DISORDERED: dict[str, tuple[pa.Array, dict[str, Any], bytes, bytes, str]] = {
    "text": (pa.array(["abc", "abc", "é"]), {}, "é".encode(), b"abc", "v = 'abc'"),
    "decimal": (
        pa.array([Decimal(384), Decimal(384), Decimal(383)], pa.decimal128(20, 0)),
        {}, (383).to_bytes(9, "big"), (383).to_bytes(9, "big"), "v > 383",
    ),
    "96 bits": (
        pa.array([datetime(2026, 1, 1), datetime(2026, 1, 1), datetime(1980, 1, 1)], pa.timestamp("us")), INT96,
        bytes(8) + (2_444_240).to_bytes(4, "little"), bytes(8) + (2_444_240).to_bytes(4, "little"), "v > '2025-01-01'",
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", DISORDERED)
def test_statistics_of_old_writers_are_not_believed(tmp_path: Path, name: str) -> None:
    """Regression: a value of one user made DuckDB skip the rows of others, whose statistics were in another order."""
    column, options, low, high, condition = DISORDERED[name]
    pq.write_table(pa.table({"user": ["u", "w", "z"], "v": column}), tmp_path / "t.parquet", **options)
    for where in (condition, f"not not ({condition})", f"{condition} and v is not null"):
        set_old_statistics(tmp_path / "t.parquet", "v", low, high)
        assert {*labels(tmp_path / "t.parquet", item=("user",), where=where)} == {"u", "w"}
        assert labels(tmp_path / "t.parquet", item=("v",), where="user <> 'z'") == labels(
            tmp_path / "t.parquet", item=("v",), where="user in ('u', 'w')"
        )


NUMBERS: dict[str, Callable[[float], bool]] = {
    "v > 5": lambda v: v > 5,
    "v < 5": lambda v: v < 5,
    "not (v < 5)": lambda v: v >= 5,
    "v <> 1": lambda v: v not in (1, math.nan) and v == v,
    "v not in (1, 2)": lambda v: v not in (1, 2) and v == v,
    "bucket(v, 2) >= 0": lambda v: v >= 0,
    "not (bucket(v, 2) > 5 or v < 0)": lambda v: 0 <= v < 6,
}


@pytest.mark.long
@pytest.mark.parametrize("condition", NUMBERS)
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_what_is_no_number_does_not_depend_on_the_rows_of_others(tmp_path: Path, condition: str, kind: Any) -> None:
    """Regression: statistics leave nan out, so that one user's number let the rows of others pass a filter."""
    for other in (6.0, -6.0, 1.0, None):
        values = {**{f"u{n}": math.nan for n in range(5)}, "x": 1.0, "y": -0.0, "z": other}
        table = pa.table({"user": [*values], "v": pa.array(values.values(), pa.float64()).cast(kind)})
        for size in (8, 5, 1):
            pq.write_table(table, tmp_path / "t.parquet", row_group_size=size)
            passed = labels(tmp_path / "t.parquet", item=("user",), where=condition)
            assert {*passed} == {user for user, v in values.items() if v is not None and NUMBERS[condition](v)}


@pytest.mark.parametrize("condition", ["at is null", "at is not null", "at <> '2026-01-01'", "not (at > '2020-01-01')"])
@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.timestamp("ms", "UTC")])
def test_a_filter_on_moments_does_not_depend_on_statistics(tmp_path: Path, condition: str, kind: Any) -> None:
    found = []
    for size in (1, 2, 4):
        at = pa.array([LARGEST, 0, None, -LARGEST], pa.int64()).view(kind)
        pq.write_table(pa.table({"user": ["a", "b", "c", "d"], "at": at}), tmp_path / "t.parquet", row_group_size=size)
        found.append(labels(tmp_path / "t.parquet", item=("user",), where=condition))
    assert found[0] == found[1] == found[2]
    missing = {"at is null": {"a", "c", "d"}}.get(condition, {"b"})
    assert {*found[0]} == missing


def test_a_footer_that_is_cut_is_refused() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": ["x"], "b": [[1]]}), sink)
    content = sink.getvalue().to_pybytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    for cut in range(60):
        with pytest.raises(ValueError, match=r"damaged|no field"):
            plain_footer(footer[:cut])


def test_threads_read_one_handle_without_disturbing_each_other(tmp_path: Path) -> None:
    """DuckDB seeks and reads in two calls, from several threads, on one handle."""
    from crestline.sources.files.engine_files import _Handle

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [f"{n}" for n in range(50_000)]}), path)
    handle = _Handle(open_physical_parquet(opened(str(path))))
    content = path.read_bytes()
    wrong: list[int] = []

    def read(start: int) -> None:
        for place in range(start, 20_000, 7):
            handle.seek(place)
            if handle.read(100) != content[place : place + 100]:
                wrong.append(place)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    handle.close()
    assert wrong == []


def test_the_switch_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crestline.sources.files import files

    seen: list[bool] = []
    open_parquet: Callable[..., Any] = vars(files)["open_parquet"]

    def noted(*given: Any, repair: bool) -> Any:
        seen.append(repair)
        return open_parquet(*given, repair=repair)

    monkeypatch.setattr(files, "open_parquet", noted)
    pq.write_table(pa.table({"user": ["u"], "item": ["a"]}), tmp_path / "t.parquet")
    with read_carefully():
        assert labels(tmp_path / "t.parquet") == {"a": 1}
    assert seen == [False, True]
