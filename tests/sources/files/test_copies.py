"""Copies of private rows: no file with a name, whatever the rows hold and whatever ends the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.question import Question
from crestline.sources import open_source

ASK = """
import sys, time
from crestline.question import Question
from crestline.sources import open_source
source = open_source(sys.argv[1])
with source.reading(Question(k=1, k_bar=2), bytes(16)) as reading:
    print(reading.histogram.counts, flush=True)
    time.sleep(60)
"""


def write_csv(path: Path, item: bytes) -> None:
    path.write_bytes(b"user,item\nu,a\nv," + item + b"\nw,a\n")


def write_json(path: Path, item: bytes) -> None:
    path.write_bytes(
        b'{"user": "u", "item": "a"}\n{"user": "v", "item": "' + item + b'"}\n{"user": "w", "item": "a"}\n'
    )


def write_parquet(path: Path, item: bytes) -> None:
    items = pa.array([b"a", item, b"a"]).view(pa.string())
    pq.write_table(pa.table({"user": ["u", "v", "w"], "item": items}), path)


def write_delta(path: Path, item: bytes) -> None:
    from deltalake import convert_to_deltalake

    path.mkdir()
    write_parquet(path / "t.parquet", item)
    convert_to_deltalake(path)


WRITERS: dict[str, Callable[[Path, bytes], None]] = {
    "t.csv": write_csv, "t.jsonl": write_json, "t.parquet": write_parquet, "table": write_delta,
}  # fmt: skip


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")  # of deltalake
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("name", WRITERS)
def test_a_process_that_is_killed_leaves_no_copy(tmp_path: Path, name: str, end: signal.Signals) -> None:
    """Regression: copies stayed in the folder for temporary files, and existed only where a line was irregular."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    WRITERS[name](tmp_path / name, b"\xff")
    with subprocess.Popen(
        [sys.executable, "-c", ASK, str(tmp_path / name)],
        stdout=subprocess.PIPE, cwd=folder, env=os.environ | {"TMPDIR": str(folder)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"(2, 1)\n"
        while_it_runs = names_below(folder)
        process.send_signal(end)
        process.wait()
    assert while_it_runs == names_below(folder) == []


def names_below(folder: Path) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names
    )


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_which_temporary_files_are_made_does_not_depend_on_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also on systems where a file without a name has one for an instant."""
    seen: dict[bytes, list[Any]] = {}
    make: Callable[..., Any] = tempfile.TemporaryFile
    for item in (b"b", b"\xff", b'"', b"x" * 3_000_000):
        made = seen.setdefault(item, [])

        def noted(*given: Any, made: list[Any] = made, **options: Any) -> Any:
            made.append((given, options))
            return make(*given, **options)

        monkeypatch.setattr(tempfile, "TemporaryFile", noted)
        WRITERS[name](tmp_path / name, item)
        open_source(tmp_path / name).top_counts(Question(k=1, k_bar=2))
    assert len({str(made) for made in seen.values()}) == 1


def test_a_copy_is_closed_with_its_source(tmp_path: Path) -> None:
    from crestline.sources.files.open_table import find_text_files

    write_csv(tmp_path / "t.csv", b'"open')
    found = find_text_files(str(tmp_path / "t.csv"), [str(tmp_path / "t.csv")]).lazy_scan()()
    assert found.copies is not None
    stream = found.copies.stream
    assert not stream.closed
    del found
    assert stream.closed
