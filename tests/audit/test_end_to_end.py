"""The attack on whole programs catches those whose failures depend on a row, and leaves honest ones alone."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.audit.broken import programs

from crestline.audit.end_to_end import BROKEN_ROW, FAILING_FILTER, RunOptions, attack_program, repetitions_needed
from crestline.audit.program.report import ProgramReport


def attacked(program: object, folder: Path, **options: object) -> ProgramReport:
    return attack_program(program, folder, **({"seconds": 3_600.0} | options))  # type: ignore[arg-type]


def whys(report: ProgramReport, attack: str) -> set[str]:
    return {one.why for one in report.found if one.attack == attack}


def test_a_reader_of_whole_files_is_caught_by_an_open_quote(tmp_path: Path) -> None:
    report = attacked(programs.whole_file_reader, tmp_path)
    assert report.is_broken
    assert "a quote that is opened and never closed" in whys(report, BROKEN_ROW)
    worst = next(one for one in report.found if one.why == "a quote that is opened and never closed")
    assert (worst.with_user, worst.without) == ("the answer None", "the answer tea")
    assert any("only broken rows" in note for note in report.notes)


def test_a_reader_that_fails_on_a_byte_is_caught(tmp_path: Path) -> None:
    report = attacked(programs.strict_reader, tmp_path)
    assert whys(report, BROKEN_ROW) >= {"bytes that are no UTF-8", "half of a character at the end of a line"}
    assert all(one.with_user.startswith("UnicodeDecodeError") for one in report.found)


def test_a_filter_that_is_handed_to_the_engine_is_caught(tmp_path: Path) -> None:
    report = attacked(programs.built_statement, tmp_path, epsilon=0.1)
    caught = {one.where for one in report.found if one.attack == FAILING_FILTER}
    assert "user = 'mallory' and int64 in (0.00012345678901234567, 9223372036854775807)" in caught
    assert all(one.with_user == "RuntimeError: the engine did not answer" for one in report.found)


def test_an_honest_program_is_left_alone(tmp_path: Path) -> None:
    report = attacked(programs.honest, tmp_path)
    assert not report.is_broken
    assert report.ran
    assert report.verdict == "nothing was found"
    assert report.pairs > 150


def test_an_answer_that_varies_by_itself_is_no_finding(tmp_path: Path) -> None:
    turns = iter(range(10**9))
    report = attacked(lambda table: next(turns) % 3, tmp_path)
    assert not report.is_broken
    assert report.runs > 2 * report.pairs  # it was looked at more closely


def test_a_program_that_never_answers_is_said_to_be_none(tmp_path: Path) -> None:
    def broken(table: str) -> None:
        raise ValueError(f"no table at {table}")  # the path differs, and is no part of what is said

    report = attacked(broken, tmp_path)
    assert not report.is_broken
    assert not report.ran
    assert any("answered no question" in note for note in report.notes)


def test_what_there_is_no_time_for_is_left_out_and_said(tmp_path: Path) -> None:
    clock = iter(range(10**6))
    report = attacked(programs.honest, tmp_path, seconds=5, run=RunOptions(clock=lambda: float(next(clock))))
    assert report.pairs < 10
    assert any("left out" in note for note in report.notes)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-6), (5.0, 0.01)])
def test_an_honest_program_is_called_broken_as_seldom_as_promised(epsilon: float, delta: float) -> None:
    """The best that (ε, δ) allows: an event of chance p with the user and 1 - p without."""
    best = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    times = repetitions_needed(epsilon, delta, 1e-8)
    assert best ** (2 * times) <= 1e-8 < best ** (2 * (times - 1))
