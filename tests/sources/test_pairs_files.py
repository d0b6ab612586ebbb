"""The pair suite on files: lines that one user adds to a CSV or to JSON lines, and files that one adds to a glob."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.audit.program.broken_rows import CSV_LINES, GLOBS, JSON_LINES, BrokenRow
from crestline.audit.program.failing_filters import Column
from crestline.audit.program.neighbouring_files import arrow_column, csv_bytes, json_bytes
from crestline.question import Question
from crestline.sources import open_source
from tests.sources.pairs import Outcome, Pair, PairSuite, difference, failed, outcome, question

pytestmark = [pytest.mark.statistics, pytest.mark.usefixtures("way"), pytest.mark.sample(of="way")]

Added = tuple[str, str, object, str, object]

USERS = 6
WRITERS = {"csv": csv_bytes, "jsonl": json_bytes}
LINES = [(kind, line) for kind, lines in (("csv", CSV_LINES), ("jsonl", JSON_LINES)) for line in lines]
QUESTIONS = (
    question(),
    question(where="item <> 'x' and value < 100"),
    question(item=("item", "value"), contribution=2),
)
OWN = Column("value", "string", ("1", "2", "3"), ())


def lines(folder: Path, kind: str, broken: BrokenRow | None) -> str:
    path = folder / ("with" if broken else "without") / f"events.{kind}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(WRITERS[kind](broken, USERS))
    return str(path)


def outcomes(path: str, questions: Sequence[Question]) -> list[Outcome]:
    """What the questions come to, the words of a refusal included but for the folder's name."""
    try:
        source = open_source(path)
    except Exception as error:  # opening reads the first line: what it says is an outcome, too
        return [(type(error).__name__, str(error).replace(str(Path(path).parent), ""))] * len(questions)
    return [outcome(source, asked) for asked in questions]


def told_by(with_user: list[Outcome], without: list[Outcome]) -> list[str]:
    """What some outcomes with one user tell beside those without."""
    told = [difference(*both) or failed(both[0]) for both in zip(with_user, without, strict=True)]
    return [one for one in told if one]


def told_by_a_line(folder: Path, kind: str, broken: BrokenRow) -> list[str]:
    with_user, without = (outcomes(lines(folder, kind, line), QUESTIONS) for line in (broken, None))
    return told_by(with_user, without)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Outcome]]:
    """What the questions come to without the one user, for each kind of file."""
    folder = tmp_path_factory.mktemp("others")
    return {kind: outcomes(lines(folder, kind, None), QUESTIONS) for kind in WRITERS}


@pytest.mark.parametrize(("kind", "broken"), LINES, ids=[f"{kind}: {line.why}" for kind, line in LINES])
def test_a_line_changes_nothing_for_other_users(
    tmp_path: Path, without: dict[str, list[Outcome]], kind: str, broken: BrokenRow
) -> None:
    assert told_by(outcomes(lines(tmp_path, kind, broken), QUESTIONS), without[kind]) == []


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_one_line_is_not_told_from_none(tmp_path: Path, kind: str) -> None:
    """A table of one user, and one of nobody: no refusal tells which is which."""
    for number, line in enumerate([line for of, line in LINES if of == kind][::2]):
        alone = [WRITERS[kind](line, 0), WRITERS[kind](None, 0)]
        paths = [tmp_path / f"{number}-{side}" / f"events.{kind}" for side in ("with", "without")]
        for path, content in zip(paths, alone, strict=True):
            path.parent.mkdir()
            path.write_bytes(content)
        first, second = (outcomes(str(path), [question()]) for path in paths)
        assert told_by(first, second) == [], line.why


@pytest.mark.parametrize("added", GLOBS, ids=[one[0] for one in GLOBS])
def test_a_file_of_another_type_in_a_glob_tells_nothing_of_its_rows(tmp_path: Path, added: Added) -> None:
    assert told_by_a_file(tmp_path, added) == []


def told_by_a_file(folder: Path, added: Added) -> list[str]:
    """Types of files are public; which values a file holds is not. The user's file is there, with a row or without."""
    _, kind, value, other, strange = added
    seen = []
    for side, rows in (("with", 1), ("without", 0)):
        place = folder / side
        place.mkdir()
        write(place / "a.parquet", ["u1", "u2"], kind, [value, value])
        write(place / "b.parquet", ["mallory"] * rows, other, [strange] * rows)
        seen.append(outcomes(str(place / "*.parquet"), GLOB_QUESTIONS))
    return told_by(*seen)


GLOB_QUESTIONS = (question(), question(item=("value",)), question(where="user = 'mallory' and not (value is null)"))


def write(path: Path, users: list[str], kind: str, values: list[object]) -> None:
    columns = {"user": pa.array(users, pa.string()), "item": pa.array(["tea"] * len(users), pa.string())}
    pq.write_table(pa.table({**columns, "value": arrow_column(kind, values)}), path)


class TestCSV(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Pair:
        return untyped(tmp_path_factory.mktemp("pairs"), "csv", 0)


class TestJSON(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Pair:
        return untyped(tmp_path_factory.mktemp("pairs"), "jsonl", 1)


def untyped(folder: Path, kind: str, start: int) -> Pair:
    """A column without a type; the one user has a number in it that no literal of the battery equals."""
    broken = {"csv": CSV_LINES[0], "jsonl": JSON_LINES[0]}[kind]
    first, second = (open_source(lines(folder, kind, line)) for line in (broken, None))
    return Pair(first, second, (OWN,), every=3, start=start, untyped=True)
