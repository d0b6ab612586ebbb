"""The attack on a whole program: from a file with private rows to the value that the program returns.

Two attacks. *Broken row*: one user adds a row that a reader may fail to parse. *Failing filter*: the question selects
one user and compares a column with a value that an engine may be unable to compare. Each makes two tables that differ
by that user; the program is run on both, and its outputs must not distinguish them.

An error is an output: its class and message count. Answers are random: where the first two outcomes differ, the program
is run again, and it is called broken when the event "the outcome is the first one with the user" happens every time
with the user and never without. Under (ε, δ)-DP this happens in `n` runs of each with probability at most `p^(2n)`,
where `p = (e^ε + δ) / (1 + e^ε)`.

Crestline reads files in two ways, and a byte of one user decides which. So the table without the user is read in both:
neither outcome may differ from that of the table with the user. Programs that do not read through crestline run a third
time.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

from crestline.audit.outcomes import Outcome, OutcomeReader
from crestline.audit.program.failing_filters import COLUMNS, KNOWN, ONLY_THE_USER, comparison_chains, sort_literals
from crestline.audit.program.neighbouring_files import (
    OLD_MOMENTS,
    NeighbouringFiles,
    columns_of,
    write_line_files,
    write_old_moments,
    write_plain_files,
    write_typed_files,
)
from crestline.audit.program.report import Difference, ProgramReport
from crestline.sources.files.files import read_carefully

FAILING_FILTER = "failing filter"
BROKEN_ROW = "broken row"

USERS = 400
"""Ordinary users of each table: enough that their items are far more popular than any item of the one user."""

_UNTYPED = sort_literals(("5", "'a'", "'5'", "1e300", "0.00012345678901234567", "9223372036854775807", "'2500-01-01'"))

Program = Callable[..., Any]
Tell = Callable[[str, float], None]
Way = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

    Attributes:
        name: Name of the program in the report; by default that of the function.
        clock: Returns the time in seconds.
        tell: Called with the name of the attack and the share of all trials that is done.
    """

    name: str = ""
    clock: Callable[[], float] = perf_counter
    tell: Tell = lambda what, share: None


UNWATCHED = RunOptions()

_WAYS: tuple[Way, ...] = (nullcontext, read_carefully)
"""The ways in which the table without the user is read."""


@dataclass(frozen=True)
class Trial:
    """A question that is asked of two neighbouring tables."""

    attack: str
    files: NeighbouringFiles
    where: str | None = None


def attack_program(
    program: Program,
    folder: Path,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    seconds: float = 40.0,
    significance: float = 1e-6,
    run: RunOptions = UNWATCHED,
) -> ProgramReport:
    """Attack a program with tables that are written below a folder.

    Args:
        program: Called as `program(table)`, or as `program(table, where)` if it takes a filter.
        folder: Folder for the tables.
        epsilon: The ε that the program promises for one question.
        delta: The δ that it promises for one question.
        seconds: Approximate time limit; trials that are not reached are left out, and a note gives their number.
        significance: Largest probability that a program which keeps that promise is called broken.
        run: Name, clock and progress callback.

    Returns:
        The report, with every pair of tables that the program distinguished.
    """
    start_time = run.clock()
    run.tell("writing tables", 0.0)
    every = list(generate_trials(folder, filters=_takes_filters(program)))
    runner = _ProgramRunner(program, folder)
    enough = repetitions_needed(epsilon, delta, significance / max(1, len(_WAYS) * len(every)))
    differences: list[Difference] = []
    number_tried = 0
    for number_tried, trial in enumerate(every, 1):
        run.tell(trial.attack, number_tried / len(every))
        differences += [one for one in [_run_trial(runner, trial, enough)] if one]
        if run.clock() - start_time > seconds:
            break
    notes = [] if _takes_filters(program) else ["the program takes no filter: only broken rows were tried"]
    if number_tried < len(every):
        notes.append(f"{len(every) - number_tried} of {len(every)} pairs were left out for lack of time (--seconds)")
    if not runner.answered:
        notes.append("the program answered no question at all: nothing can be said of it")
    return ProgramReport(
        program=run.name or getattr(program, "__name__", "a program"),
        promise=(epsilon, delta),
        found=tuple(differences),
        significance=significance,
        pairs=number_tried,
        runs=runner.runs,
        seconds=run.clock() - start_time,
        notes=tuple(notes),
        ran=runner.answered > 0,
    )


def repetitions_needed(epsilon: float, delta: float, error: float) -> int:
    """Number of repetitions for which a false alarm has probability at most `error` under (ε, δ)-DP."""
    chance = (1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon))
    return math.ceil(math.log(error) / (2.0 * math.log(min(chance, 1 - 1e-12))))


def generate_trials(folder: Path, *, filters: bool) -> Iterator[Trial]:
    """Every trial; kinds of files and attacks alternate, so that a short attack includes some of each."""
    typed = [write_typed_files(folder, kind, USERS) for kind in ("parquet", "duckdb")]
    groups = [
        [Trial(BROKEN_ROW, files) for files in write_line_files(folder, kind, USERS)] for kind in ("csv", "jsonl")
    ]
    groups.append([Trial(BROKEN_ROW, files) for files in typed])
    if filters:
        plain = [write_plain_files(folder, kind, USERS) for kind in ("csv", "jsonl")]
        groups += [[Trial(BROKEN_ROW, write_old_moments(folder, USERS), where) for where in OLD_MOMENTS]]
        groups += [[Trial(FAILING_FILTER, files, where) for where in _untyped_filters()] for files in plain]
        groups += [[Trial(FAILING_FILTER, files, where) for where in _typed_filters(files.kind)] for files in typed]
    return (trial for turn in zip_longest(*groups) for trial in turn if trial is not None)


def _untyped_filters() -> Iterator[str]:
    yield f"{ONLY_THE_USER} and value in (5, 'a')"
    yield from (f"{ONLY_THE_USER} and {condition}" for condition in comparison_chains("value", _UNTYPED))


def _typed_filters(kind: str) -> Iterator[str]:
    """The filters known to have failed before, then two comparisons with every column."""
    names = {column.name for column in columns_of(kind)}
    yield from (f"{ONLY_THE_USER} and {condition}" for name, condition in KNOWN if name in names)
    for place, column in enumerate(column for column in COLUMNS if column.name in names and column.literals):
        chains = list(comparison_chains(column.name, column.literals))
        yield from (f"{ONLY_THE_USER} and {chains[(place + step) % len(chains)]}" for step in (0, 5))


@dataclass
class _ProgramRunner:
    """Runs the program and reads its outcome; paths of the tables are removed from error messages."""

    program: Program
    folder: Path
    runs: int = 0
    answered: int = 0

    def __post_init__(self) -> None:
        self._read = OutcomeReader()

    def __call__(self, trial: Trial, with_user: bool) -> Outcome:
        place = trial.files.with_user if with_user else trial.files.without
        self.runs += 1
        try:
            value = self.program(place) if trial.where is None else self.program(place, trial.where)
        except Exception as error:  # code of another author may raise anything
            words = str(error).replace(str(Path(place).parent), "…")
            return Outcome(("raises", type(error).__name__, words))
        self.answered += 1
        return self._read(value)


def _run_trial(run: _ProgramRunner, trial: Trial, enough: int) -> Difference | None:
    """The difference between the tables of a trial, if every repetition confirms it; ignores printed numbers."""
    first = run(trial, True)
    return next((found for way in _WAYS if (found := _compare(run, trial, enough, first, way))), None)


def _compare(run: _ProgramRunner, trial: Trial, enough: int, first: Outcome, way: Way) -> Difference | None:
    """The difference between `first` and the outcomes without the user, whose table is read in this way."""

    def run_without() -> Outcome:
        with way():
            return run(trial, False)

    second = run_without()
    if first.key == second.key:
        return None
    for _ in range(enough):
        if run(trial, True).key != first.key or run_without().key == first.key:
            return None
    return Difference(
        trial.attack, trial.files.kind, trial.files.why, trial.where, outcome_text(first), outcome_text(second), enough
    )


def outcome_text(outcome: Outcome) -> str:
    """Text of an outcome, at most 300 characters of it."""
    key = outcome.key
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "raises":
        return f"{key[1]}: {key[2]}"[:300]
    return f"the answer {key}"[:300]


def _takes_filters(program: Program) -> bool:
    """Whether the program takes a second argument, the filter."""
    try:
        inspect.signature(program).bind("table", "where")
    except (TypeError, ValueError):
        return False
    return True
