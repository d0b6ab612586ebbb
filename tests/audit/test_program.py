"""The attack on the whole program: file, SQL, answer, books, errors, and what is left behind."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.audit.program import Program, Row, rows, table

import crestline as cl
from crestline.audit.neighbours import HistogramShape, NeighbourPair
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.special_pairs import SpecialPairs
from crestline.audit.testers.statistical import StatisticalTester
from crestline.errors import BudgetExhausted, MechanismError, QuestionError
from crestline.histogram.histogram import Histogram
from crestline.ledger.ledger import Ledger
from crestline.mechanisms.mechanism import BuiltIn
from crestline.question import Question
from crestline.randomness.entropy import replay
from crestline.sources import open_source
from crestline.sources.engine import runner
from crestline.sources.expression import counting

PAIRS = list(SpecialPairs(2, (9,))(HistogramShape(3), None))[::4]
QUESTION = Question(k=2, k_bar=3)


def as_file(folder: Path, made: list[Row]) -> Path:
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("user", "item"), *made])
    return path


def same(left: Histogram, right: Histogram) -> bool:
    return (left.items, left.counts, left.next_count) == (right.items, right.counts, right.next_count)


def test_what_the_mechanism_sees_is_the_model() -> None:
    """For every special pair, both tables: SQL ranks, cuts and pads exactly as the proofs assume."""
    for pair in PAIRS:
        for with_user, counts in ((True, pair.with_user), (False, pair.without)):
            seen = open_source(table(rows(pair, with_user))).top_counts(QUESTION)
            assert same(seen, Histogram.from_counts(counts, 3)), pair


def test_what_the_mechanism_sees_of_a_file_is_the_model(tmp_path: Path) -> None:
    pair = next(pair for pair in PAIRS if len(pair.items_of_user) > 1)
    seen = open_source(as_file(tmp_path, rows(pair, True))).top_counts(QUESTION)
    assert same(seen, Histogram.from_counts(pair.with_user, 3))


def most_moved(pair: NeighbourPair, contribution: int, key: bytes) -> int:
    """How many counts differ with and without the user, when both tables are counted with the same key."""
    wide = Question(k=2, k_bar=30, contribution=contribution)
    tables = [open_source(table(rows(pair, side))).top_counts(wide, key) for side in (True, False)]
    first, second = (dict(zip(seen.items, seen.counts, strict=True)) for seen in tables)
    moves = [first.get(label, 0) - second.get(label, 0) for label in first.keys() | second.keys()]
    assert set(moves) <= {0, 1}
    return sum(moves)


BUSY = NeighbourPair(
    dict.fromkeys("abcdefgh", 3), dict.fromkeys("abcdefgh", 2), HistogramShape(3), "a user in every item"
)


@pytest.mark.parametrize("contribution", [1, 3])
def test_one_user_moves_no_more_counts_than_the_bound(contribution: int) -> None:
    assert {most_moved(BUSY, contribution, replay(n).words(4).tobytes()) for n in range(3)} == {contribution}


def test_a_bound_that_is_not_enforced_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "bound_pairs", lambda pairs, *rest: pairs)
    assert most_moved(BUSY, 3, bytes(32)) == 8


def test_a_mechanism_may_not_assume_a_bound_that_is_not_enforced() -> None:
    """The promise of a mechanism with a contribution bound is void when the question does not enforce it."""
    bounded = cl.mechanisms.LimitedDomain(1, 3, 1, "0.01", 1)
    source = table(rows(BUSY, True))
    for loose in (None, 2):
        with pytest.raises(MechanismError, match="contribution=1"):
            cl.top_k(source, k=1, mechanism=bounded, contribution=loose)
    assert cl.top_k(source, k=1, mechanism=bounded, contribution=1).question.contribution == 1


@pytest.mark.slow
def test_the_whole_program_keeps_its_promise_and_the_attack_has_power() -> None:
    """A few hundred answers only: enough to see a gross leak, as the twin without a threshold shows."""

    class Open(BuiltIn):
        """Prints the true winner."""

        k, k_bar, theorem = 1, 3, "none"

        def cost(self) -> Any:
            return cl.mechanisms.LimitedDomain(1, 3, 1, "0.01").cost()

        def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
            return [cl.Selection(tuple(histogram.items[:1]), False)] * n

    pairs = [
        NeighbourPair({"a": 1, "b": 1, "c": 1}, {}, HistogramShape(3), "nothing but one user"),
        NeighbourPair({"a": 9, "b": 10}, {"a": 9, "b": 9}, HistogramShape(3), "a tie"),
        NeighbourPair({"a": 8}, {"a": 7}, HistogramShape(3), "at the edge"),
    ]
    honest = Program(cl.mechanisms.LimitedDomain(1, 3, 1, "0.01"), replay("honest"))
    found = StatisticalTester(1e-6, AttackLimits(560, 3_600.0)).test(honest, pairs)
    assert found is None or not found.broken
    leaking = StatisticalTester(1e-6, AttackLimits(560, 3_600.0)).test(Program(Open(), replay("open")), pairs)
    assert leaking is not None
    assert leaking.broken


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the releases that are made."""
    made: list[int] = []
    honest = cl.mechanisms.LimitedDomain.release_many

    def counted(self: Any, histogram: Any, n: int, entropy: Any) -> Any:
        made.append(n)
        return honest(self, histogram, n, entropy)

    monkeypatch.setattr(cl.mechanisms.LimitedDomain, "release_many", counted)
    return made


def ask(source: Any, books: Any = None, **changes: Any) -> cl.Answer:
    call: dict[str, Any] = {"k": 2, "epsilon": "0.5", "delta": "1e-6", "mechanism": "LimitedDomain", "ledger": books}
    return cl.top_k(source, **{**call, **changes})


NEAR = NeighbourPair({"a": 30, "b": 30, "c": 1}, {"a": 30, "b": 29, "c": 1}, HistogramShape(3), "near")


def test_repeating_a_question_does_not_average_the_noise_away(tmp_path: Path, releases: list[int]) -> None:
    path, books = as_file(tmp_path, rows(NEAR, True)), tmp_path / "ledger.db"
    Ledger.create(books, cl.Budget(epsilon=1, delta="1e-5")).close()
    answers = {(ask(path, books).items, ask(path, books).stopped) for _ in range(10)}
    assert len(answers) == 1
    assert releases == [1]
    with Ledger.open(books) as ledger:
        assert len([entry for entry in ledger.history() if entry.kind == "settled"]) == 1


def test_every_release_is_charged_before_it_is_made(tmp_path: Path, releases: list[int]) -> None:
    """Questions that differ in anything are new releases; each has its own charge, and in the end all are refused."""
    path, books = as_file(tmp_path, rows(NEAR, True)), tmp_path / "ledger.db"
    Ledger.create(books, cl.Budget(epsilon=1, delta="1e-5")).close()
    refused = 0
    for number in range(12):
        try:
            ask(path, books, where=f"user <> 'x{number}'")
        except BudgetExhausted:
            refused += 1
    with Ledger.open(books) as ledger:
        kinds = [entry.kind for entry in ledger.history()]
    assert 0 < len(releases) == kinds.count("reserved") < 12
    assert refused == 12 - len(releases)


def test_nothing_that_was_not_released_is_left_in_the_ledger(tmp_path: Path) -> None:
    secret = NeighbourPair({"zebra-secret": 1}, {}, HistogramShape(3), "secret")
    common: list[Row] = [(f"u{n}", "common") for n in range(10_317)]
    path, books = as_file(tmp_path, rows(secret, True) + common), tmp_path / "ledger.db"
    Ledger.create(books, cl.Budget(epsilon=4, delta="1e-5")).close()
    assert ask(path, books).items == ("common",)
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file != path)
    assert b"common" in left
    for private in (b"zebra", b"the user", b"u10316"):
        assert private not in left
    # Hashes hold any digits: a count would stand by itself. Of other random bytes, some thousand, five in a row are
    # these with probability 10^-9.
    assert not re.search(rb"(?<![0-9a-f])10317(?![0-9a-f])", left)


WRONG: dict[str, Callable[[Any], Any]] = {
    "no such column": lambda source: ask(source, user="owner"),
    "no such item": lambda source: ask(source, item="thing"),
    "bad filter": lambda source: ask(source, where="item ="),
    "filter on nothing": lambda source: ask(source, where="price > 3"),
    "filter of another type": lambda source: ask(source, where="item > 3"),
    "k above k_bar": lambda source: ask(source, k=5, k_bar=4),
    "no epsilon": lambda source: ask(source, epsilon=0),
    "no mechanism": lambda source: ask(source, mechanism="Best"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_the_same_on_neighbours(name: str) -> None:
    said = []
    for pair in (NEAR, NeighbourPair({"zebra-secret": 1}, {}, HistogramShape(3), "secret")):
        for side in (True, False):
            with pytest.raises(cl.errors.CrestlineError) as error:
                WRONG[name](table(rows(pair, side)))
            said.append(f"{type(error.value).__name__}: {error.value}")
            assert "zebra" not in said[-1]
    assert len(set(said)) == 1


def test_no_more_than_k_bar_and_one_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counting(honest: Any) -> Any:
        def counted(self: Any, *asked: Any) -> Any:
            found = list(honest(self, *asked))
            read.append(len(found))
            return found

        return counted

    for way in ("rows", "run_prepared"):
        monkeypatch.setattr(runner.Runner, way, counting(getattr(runner.Runner, way)))
    names = [f"i{n}" for n in range(60)]
    many = NeighbourPair(dict.fromkeys(names, 2), dict.fromkeys(names, 1), HistogramShape(3), "many")
    source = open_source(table(rows(many, True)))
    source.top_counts(Question(k=2, k_bar=7))
    source.top_counts(Question(k=2, k_bar=7, contribution=2), bytes(32))
    assert read == [8, 8]


def test_a_ready_histogram_without_padding_is_refused_alike() -> None:
    """Its number of rows is private: no refusal may depend on it."""
    said = []
    for counts in ({"a": 3}, {"a": 3, "b": 1}, {"a": 3, "b": 1, "c": 1}):
        with pytest.raises(QuestionError) as error:
            ask(cl.Histogram.from_counts(counts, 3, pad=False), k=2, k_bar=2)
        said.append(str(error.value))
    assert len(set(said)) == 1
