"""The mutation runner: what it changes, what it leaves alone, and that it tells the killed from the survivors."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from tools.mutation import children, experience, mutants, report, run, trials
from tools.mutation.reasons import HARMLESS, UNMUTATED, followed, reasons, write

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The runner, with a small package of our own in the place of crestline's source."""
    for module in (mutants, trials, experience, run):
        monkeypatch.setattr(module, "SOURCE", tmp_path)
    monkeypatch.setattr(run, "UNMUTATED", tmp_path / "unmutated.txt")
    return run


SMALL = '''
"""A module."""

LIMIT: int = 3


def inside(x: int, y: int = 0) -> bool:
    if x < LIMIT and not y:
        return True
    return x - 1 == y  # its list says that it has no mutants
'''


WITHOUT = {"ledger/small.py: inside: return x - 1 == y": "for the test"}


def written(folder: Path, text: str = SMALL) -> Path:
    module = folder / "ledger" / "small.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text(text)
    return module


def test_every_constant_sign_and_comparison_is_changed_once(tools: Any, tmp_path: Path) -> None:
    found = list(mutants.mutants(written(tmp_path), WITHOUT))
    said = [mutant.words.split("  ", 1)[1] for mutant in found]
    assert "3 → 4" in said
    assert "x < LIMIT → x <= LIMIT" in said
    assert "x < LIMIT → x > LIMIT" in said
    assert "not y → y" in said
    assert "True → False" in said
    assert any(words.startswith("x < LIMIT and") for words in said)
    assert not any("x - 1" in words for words in said), "a line with a reason has no mutants"
    assert len({mutant.name for mutant in found}) == len(found)


def test_options_are_left_alone_and_arguments_are_not(tools: Any, tmp_path: Path) -> None:
    options = "@dataclass(frozen=True)\nclass A:\n    b: int = field(default=9)\n"
    text = "@lru_cache(maxsize=7)\ndef f():\n    return field(5)\n\n" + options
    said = [mutant.words.split("  ", 1)[1] for mutant in mutants.mutants(written(tmp_path, text))]
    assert said == ["5 → 6", "5 → 10"]


def test_annotations_and_the_strictness_of_a_zip_are_left_alone(tools: Any, tmp_path: Path) -> None:
    text = "Bit = Literal[0, 1]\n\nasync def f(x: Literal[2]) -> Literal[3]:\n"
    text += "    return zip(x, f(strict=True), strict=True)\n"
    said = [mutant.words.split("  ", 1)[1] for mutant in mutants.mutants(written(tmp_path, text))]
    assert said == ["True → False"]


def test_a_mutant_is_known_again_when_its_line_moves(tools: Any, tmp_path: Path) -> None:
    twice = SMALL + "\n\ndef also(x: int) -> bool:\n    if x < LIMIT and not y:\n        return True\n"
    before = {mutant.name for mutant in mutants.mutants(written(tmp_path, twice))}
    moved = {mutant.name: mutant for mutant in mutants.mutants(written(tmp_path, "# more\n\n" + twice))}
    assert moved.keys() == before
    assert len([name for name in before if "x < LIMIT → x <= LIMIT" in name]) == 2


def test_a_mutant_differs_from_its_module_in_one_place(tools: Any, tmp_path: Path) -> None:
    module = written(tmp_path)
    plain = ast.unparse(ast.parse(module.read_text()))
    for mutant in mutants.mutants(module):
        changed = ast.unparse(mutants.mutated(mutant))
        lines = [pair for pair in zip(plain.splitlines(), changed.splitlines(), strict=True) if pair[0] != pair[1]]
        assert len(lines) == 1, mutant


def test_a_sample_is_the_beginning_of_a_larger_one(tools: Any, tmp_path: Path) -> None:
    written(tmp_path)
    every = tools.drawn("ledger", 1.0, 0)
    assert tools.drawn("ledger", 0.5, 0) == every[: round(len(every) / 2)]
    assert tools.drawn("ledger", 1.0, 1) != every


def test_results_are_kept_and_the_last_word_counts(tools: Any, tmp_path: Path) -> None:
    written(tmp_path)
    first, second = tools.drawn("ledger", 1.0, 0)[:2]
    results = tools.Results(tmp_path / "results", "ledger")
    results.add(first, "survived", 1.0)
    results.add(second, "tests/x.py::test_it", 1.0)
    results.add(first, "time", 1.0)
    again = tools.Results(tmp_path / "results", "ledger")
    assert again.fates == {first.name: "time", second.name: "tests/x.py::test_it"}
    assert again.first == {first.name: "survived", second.name: "tests/x.py::test_it"}
    assert tools.scored("ledger", again, {}).killed == 2
    assert tools.scored("ledger", again, {}, first=True).killed == 1


def test_survivors_with_a_reason_are_counted_apart(tools: Any, tmp_path: Path) -> None:
    written(tmp_path)
    first, second, third = tools.drawn("ledger", 1.0, 0)[:3]
    results = tools.Results(tmp_path / "results", "ledger")
    for mutant, end in ((first, "survived"), (second, "not run"), (third, "time")):
        results.add(mutant, end, 1.0)
    found = tools.scored("ledger", results, {first.change: "it only costs time"})
    assert (found.tried, found.killed, found.matter) == (3, 1, 2)
    assert found.harmless == ((str(first), "it only costs time"),)
    assert found.alive == (str(second),)
    page = "\n".join(tools.said([found], [found]))
    assert f"| ledger | {found.size} | 3 | 1 | 1 | 1 | 33.3%, at least" in page
    assert f"`{first}`: it only costs time" in page


def test_packages_count_by_their_size(tools: Any) -> None:
    small, large = tools.Score("small", 10, 1, (), ("a",)), tools.Score("large", 30, 3, (("b", "why"),), ())
    row = [line for line in tools.said([], [small, large]) if line.startswith("| weighted")][-1]
    assert row.startswith("| weighted |  |  |  |  |  | 68.8%, at least ")
    assert " | 87.5%, at least " in row


def test_where_every_mutant_was_tried_nothing_is_left_to_bound(tools: Any) -> None:
    whole = [tools.Score("small", 10, 9, (), ("a",)), tools.Score("large", 30, 30, (), ())]
    page = tools.said([], whole)
    assert "| small | 10 | 10 | 9 | 0 | 1 | 90.0% | 90.0% |" in page
    assert page.index("| all | 40 | 40 | 39 | 0 | 1 | 97.5% | 97.5% |") > 0
    assert not any(
        line.startswith("| weighted") for line in page[page.index("## After the tests that the survivors asked for") :]
    )


def test_the_bound_of_all_packages_is_that_of_each_at_a_higher_confidence(tools: Any) -> None:
    small, large = tools.Score("small", 10, 9, (), ("a",)), tools.Score("large", 30, 50, (), ())
    mean, least = report.weighted([small, large], lambda one: one.matter)
    assert mean == pytest.approx(0.975)
    assert least == pytest.approx(0.25 * report.lower_bound(9, 10, 0.975) + 0.75 * report.lower_bound(50, 50, 0.975))


def test_marked_lines_are_counted_with_their_reasons(tools: Any, tmp_path: Path) -> None:
    marks = mutants.exempt(written(tmp_path), WITHOUT)
    assert marks == [("for the test", 4)]
    page = report.exempted({"ledger": [*marks, ("speed", 2)], "randomness": [("speed", 1)]})
    assert "| ledger | 2 | 6 |" in page
    assert page[-3:] == ["- speed (2)", "", "1 lines have a reason of their own."]


def test_reasons_are_of_mutants_that_exist() -> None:
    """A reason outlives its line otherwise, and could excuse another one later: `--follow` takes such reasons out."""
    every = [
        mutant for target in experience.PACKAGES for module in run.modules(target) for mutant in mutants.mutants(module)
    ]
    assert set(reasons(HARMLESS)) <= {mutant.change for mutant in every}
    assert set(reasons(UNMUTATED)) <= {mutant.place_of_line for mutant in every}


def test_a_reason_follows_its_line_to_another_module() -> None:
    known = {
        "mechanisms/a.py: f: x + 1": "it stays",
        "mechanisms/a.py: g: x + 2": "it moves",
        "mechanisms/a.py: h: x + 3": "it is gone",
        "mechanisms/a.py: i: x + 4": "it is in two places now",
        "mechanisms/a.py: -: X = 1": "both move",
        "mechanisms/b.py: -: X = 1": "both move",
    }
    existing = ["a.py: f: x + 1", "b/c.py: f: x + 1", "b/c.py: g: x + 2", "b.py: i: x + 4", "c.py: i: x + 4"]
    existing += ["c.py: -: X = 1", "d.py: -: X = 1"]
    moved, lost = followed(known, [f"mechanisms/{key}" for key in existing] + ["ledger/a.py: h: x + 3"])
    assert moved == {
        "mechanisms/a.py: f: x + 1": "it stays",
        "mechanisms/b/c.py: g: x + 2": "it moves",
        "mechanisms/c.py: -: X = 1": "both move",
        "mechanisms/d.py: -: X = 1": "both move",
    }
    assert lost == ["mechanisms/a.py: h: x + 3", "mechanisms/a.py: i: x + 4"]


def test_a_list_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("What it is.\n\nb | of b\n")
    write(path, {"b: int | None": "of b", "a": "of a"})
    assert path.read_text() == "What it is.\n\na | of a\nb: int | None | of b\n"
    assert reasons(path) == {"b: int | None": "of b", "a": "of a"}


def test_comments_are_no_part_of_a_line() -> None:
    assert mutants.code_lines("x = '# 1'  # one\n  # two\ny = 2\n") == ["x = '# 1'", "", "y = 2"]


def test_only_what_is_new_is_tried(tools: Any, tmp_path: Path) -> None:
    written(tmp_path)
    found = tools.drawn("ledger", 1.0, 0)[:3]
    results = tools.Results(tmp_path / "results", "ledger")
    results.add(found[0], "survived", 1.0)
    results.add(found[1], "time", 1.0)
    assert tools.untried(found, results, again=False) == [found[2]]
    assert tools.untried(found, results, again=True) == [found[0], found[2]]


def test_tests_near_a_module_come_first_and_the_quickest_of_them(tools: Any, tmp_path: Path) -> None:
    module = written(tmp_path)
    mutant = next(mutant for mutant in tools.drawn("ledger", 1.0, 0) if mutant.line == 8)
    seconds = {
        "tests/ledger/test_small.py::slow": 9.0,
        "tests/ledger/test_small.py::quick": 1.0,
        "tests/ledger/test_other.py::near": 0.1,
        "tests/mechanisms/test_far.py::far": 0.1,
        "tests/mechanisms/test_far.py::endless": 1e6,
        "tests/ledger/test_other.py::elsewhere": 0.1,
    }
    lines = {"ledger/small.py": {8: set(seconds) - {"tests/ledger/test_other.py::elsewhere"}, 4: {""}}}
    seen = experience.Experience(lines, seconds)
    assert [name.split("::")[1] for name in seen.tests(mutant)] == ["quick", "slow", "near", "far"]
    seen.found[module]["tests/ledger/test_small.py::slow"] = 9
    assert [name.split("::")[1] for name in seen.tests(mutant)] == ["slow", "quick", "near", "far"]
    assert trials.dotted(module) == "crestline.ledger.small"


def test_what_runs_on_import_concerns_all_tests_of_the_module(tools: Any, tmp_path: Path) -> None:
    """Constants and defaults are seen by the test that imported the module first, and used by the others."""
    written(tmp_path)
    lines = {"ledger/small.py": {4: {"tests/ledger/test_a.py::first"}, 8: {"tests/ledger/test_b.py::second"}}}
    seen = experience.Experience(lines, {name: 1.0 for each in lines["ledger/small.py"].values() for name in each})
    met = {mutant.line: seen.tests(mutant) for mutant in tools.drawn("ledger", 1.0, 0)}
    assert met[4] == met[7] == ["tests/ledger/test_a.py::first", "tests/ledger/test_b.py::second"]
    assert met[8] == ["tests/ledger/test_b.py::second"]


def test_the_bound_is_clopper_and_pearsons(tools: Any) -> None:
    assert report.lower_bound(0, 10) == 0.0
    assert report.lower_bound(10, 10) == pytest.approx(0.05 ** (1 / 10))
    assert report.lower_bound(480, 500) == pytest.approx(0.9424, abs=2e-3)


def endless() -> int:
    while True:
        pass


def test_a_test_that_takes_much_longer_fails(tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trials, "LONG", 0.2)
    before = signal.getsignal(signal.SIGPROF)
    try:
        chosen = trials.Chosen(["quick", "endless"], tmp_path / "note", {"quick": 1.0})
        chosen.pytest_runtest_logstart("quick", None)
        assert 5 < signal.getitimer(signal.ITIMER_PROF)[0] < 11
        chosen.pytest_runtest_logfinish("quick", None)
        assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
        chosen.pytest_runtest_logstart("endless", None)
        for _ in range(2):  # a test that is tried again must not be endless, either
            with pytest.raises(TimeoutError):
                endless()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_a_child_ends_well_or_badly_or_is_stopped(tools: Any) -> None:
    assert children.in_child(20, lambda: 0) == 0
    assert children.in_child(20, lambda: 3) == 3
    assert children.in_child(0, endless) is None
    assert children.in_child(20, lambda: len(bytearray(children.MEMORY))) is None


def test_only_what_a_child_sleeps_counts_against_its_patience(tools: Any) -> None:
    """On a busy machine a child waits for a processor, and one that works must not be stopped for that."""
    busy = children.started("busy", 20, endless)
    waiting = children.started("waiting", 20, lambda: signal.pause() or 0)
    try:
        patient = [replace(child, patience=1.0) for child in (busy, waiting)]
        while patient[1].asleep < 1:
            time.sleep(0.05)
        assert patient[0].asleep < 0.5 * patient[1].asleep
        assert patient[0].done() == (False, None)
        assert patient[1].done() == (True, None)
    finally:
        os.killpg(busy.number, signal.SIGKILL)
        os.waitpid(busy.number, 0)


def test_several_children_work_at_a_time_and_are_stopped_with_the_run(tools: Any) -> None:
    quick = (children.started(number, 20, lambda: 0) for number in range(5))
    assert sorted(child.what for child, _ in children.ended(quick, 2)) == list(range(5))
    begun: list[int] = []

    def following() -> Iterator[Any]:
        for task in (lambda: 0, endless, endless, endless):
            child = children.started(task, 20, task)
            begun.append(child.number)
            yield child

    work: Any = children.ended(following(), 3)  # a generator, which can be closed
    assert next(work)[1] == 0
    assert len(begun) == 3
    work.close()
    assert {os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in begun[1:]} == {-signal.SIGTERM}


PACKAGE = {
    "pyproject.toml": """
[tool.pytest.ini_options]
pythonpath = ["src"]
addopts = "--import-mode=importlib"
markers = ["slow: so"]
""",
    "src/crestline/__init__.py": "",
    "src/crestline/ledger/__init__.py": "",
    "src/crestline/ledger/small_test.py": """
import functools

LIMIT = 3
WIDE = LIMIT + 1


def inside(x):
    return x < LIMIT


@functools.lru_cache
def twice(x):
    return x + x


def nobody():
    return 5
""",
    "tests/servers.py": """
import contextlib
GIVEN = "NOBODY"
running_postgres = lambda: contextlib.nullcontext("none")
""",
    "tests/ledger/test_a.py": """
from crestline.ledger.small_test import inside, twice


def test_inside():
    assert inside(2) and not inside(4)
    assert twice(0) == 0


def test_twice():
    assert twice(0) == 0
    assert twice(3) == 6
""",
    "tools/mutation/harmless.txt": "",
}


@pytest.mark.slow
def test_a_whole_run_tells_the_killed_from_the_survivors(tools: Any, tmp_path: Path) -> None:
    """In a package of its own: changes in functions, on import, in what a function keeps, and what no test runs."""
    others = (name.replace("/", "-") for name in experience.TESTS if name != "ledger")
    nothing = json.dumps({"lines": {}, "seconds": {}})
    empty = {f"results/experience-{name}.json": nothing for name in others}
    scripts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "tools").rglob("*.py")}
    for name, text in {**PACKAGE, **empty, **scripts}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "tools.mutation", "ledger", "--results", "results", "--least", "0.9"]
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV", "PYTHONPATH"))}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, env=plain, check=False
    )
    notes = [json.loads(line) for line in (tmp_path / "results" / "ledger.jsonl").read_text().splitlines()]
    ends = {note["place"].split("  ")[1]: note["fate"].split("::")[-1] for note in notes}
    assert ends == {
        "3 → 4": "survived",
        "3 → 6": "test_inside",
        "LIMIT + 1 → LIMIT - 1": "survived",
        "1 → 2": "survived",
        "1 → 0": "survived",
        "x < LIMIT → x <= LIMIT": "survived",
        "x < LIMIT → x > LIMIT": "test_inside",
        "x + x → x - x": "test_twice",
        "5 → 6": "not run",
        "5 → 10": "not run",
    }, done.stdout + done.stderr
    assert done.returncode == 1
    control = [sys.executable, "-m", "tools.mutation", "ledger", "--results", "results", "--control"]
    done = subprocess.run(
        control, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, env=plain, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "tests" / "ledger" / "test_a.py"
    broken.write_text(broken.read_text().replace("== 6", "== 7"))
    shutil.rmtree(tmp_path / "results" / "control")
    done = subprocess.run(
        control, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, env=plain, check=False
    )
    assert done.returncode == 1, "a test that fails without any change kills nothing"
