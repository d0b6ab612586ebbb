"""The figures count what they say, and a figure above its ceiling fails the gate."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from tools.house import __main__ as house
from tools.house import figures, traces
from tools.house.ceilings import TABLE, previous_text, raised_without_reason
from tools.house.cycles import cycles


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "crestline"


def write(source: Path, **modules: str) -> None:
    """Modules by their path, with `__` for a slash."""
    for name, text in modules.items():
        path = source / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_functions_with_more_than_seven_parameters_are_found_and_commands_are_not(source: Path) -> None:
    seven = "a, b, c, *, d, e, f, g"
    write(
        source,
        ask=f"def fine({seven}): ...\nclass A:\n    def too(self, {seven}): ...\n    def wide(self, {seven}, h): ...\n",
        cli__top=f"def top({seven}, h: Annotated[int, typer.Option()]): ...\n",
    )
    assert figures.wide_functions(source) == ["ask.py:4  wide: 8"]


def test_annotations_that_are_any_are_found_and_those_that_hold_one_are_not(source: Path) -> None:
    write(
        source, ask="def ask(mechanism: Any, x: dict[str, Any]) -> Any:\n    y: Any = x\nclass A:\n    mechanism: Any\n"
    )
    assert sorted(figures.any_annotations(source)) == [
        "ask.py:1  ask(): Any",
        "ask.py:1  mechanism: Any",
        "ask.py:2  y: Any",
        "ask.py:4  mechanism: Any",
    ]
    assert figures.any_mechanisms(source) == ["ask.py:4  mechanism: Any", "ask.py:1  mechanism: Any"]


def test_probes_of_mechanisms_are_found_but_not_in_adopt_or_audit(source: Path) -> None:
    probe = "getattr(mechanism, 'k', None)"
    write(
        source,
        ask=f"def f():\n    hasattr(self.mechanism, 'law')\n    getattr(row, 'k')\ndef adopt():\n    {probe}\n",
        audit__claims=probe,
        mechanisms__third_party=probe,
        plan__plan=probe,
    )
    assert figures.probes(source) == ["ask.py:2  hasattr(self.mechanism, 'law')", f"plan/plan.py:1  {probe}"]


def test_lines_files_functions_and_imports_are_counted(source: Path) -> None:
    write(source, ask="import a\n\ndef f():\n    def g(): ...\n", web__page="from b import (\n    c,\n)\n")
    (source / "web" / "style.css").write_text("a {}\n")
    assert figures.lines(source) == 8
    assert figures.files(source) == 2
    assert figures.functions(source) == 2
    assert figures.import_share(source) == 57.1


def test_functions_named_by_a_participle_alone_are_found(source: Path) -> None:
    write(source, ask="def _kept(): ...\ndef named(): ...\ndef speed(): ...\ndef read_named(): ...\n")
    assert figures.participles(source) == ["ask.py:1  _kept", "ask.py:2  named"]


def test_modules_that_one_other_module_imports_are_found(source: Path) -> None:
    write(
        source,
        ask="from crestline.a import x\nfrom crestline.folder import b\n",
        top="import crestline.a\n",
        a="",
        folder__b="from crestline import c\n",
        c="",
    )
    assert figures.imported_once(source) == ["crestline.c", "crestline.folder.b"]


def test_aliases_of_any_are_found_outside_sources(source: Path) -> None:
    write(
        source,
        ask="Label: TypeAlias = Any\ndef f(x: Label) -> list[Label]: ...\n",
        sources__table="def g(x: Label): ...\n",
    )
    assert sorted(figures.any_aliases(source)) == ["ask.py:2  f(): list[Label]", "ask.py:2  x: Label"]


def test_names_of_mechanisms_and_readers_of_by_are_found(source: Path) -> None:
    write(
        source,
        mechanisms__catalogue="CATALOGUE = (CatalogueEntry('Sieve', 'a'),)\n",
        prepare__auto_rules="'Sieve'\n",
        answer__text="x = 'Sieve' if question.by else 'a'\n",
    )
    assert figures.mechanism_names(source) == ["answer/text.py:1  Sieve"]
    assert figures.readers_of_by(source) == ["answer/text.py"]


def test_packages_that_import_one_another_are_found_wherever_the_import_stands(source: Path) -> None:
    write(
        source,
        cli__main="from crestline.web.app import app\n",
        web__app="def f():\n    from crestline import cli\n",
        api="import crestline.cli.main\n",
        mechanisms__one__a="from crestline.mechanisms.two.b import x\n",
        mechanisms__two__b="from crestline.mechanisms.three import c\n",
        mechanisms__three__c="if TYPE_CHECKING:\n    from crestline.mechanisms.one.a import y\n",
        mechanisms__catalogue="from crestline.mechanisms.one.a import y\n",
        answer__answer="from crestline.answer.tabular import z\n",
        answer__views="from crestline.answer.answer import z\n",
    )
    assert cycles(source) == ["cli ↔ web", "mechanisms/one ↔ mechanisms/three ↔ mechanisms/two"]


def test_notes_to_the_mutation_runner_are_found(source: Path) -> None:
    write(source, ask="x = 1\ny = 2  # mutate: speed\n")
    assert figures.notes_to_tools(source) == ["ask.py:2"]


def test_a_figure_above_its_ceiling_fails_and_says_what_is_too_much(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(source, ask="x = 1  # mutate: speed\n")
    for ceiling, code in ((0, 1), (1, 0), (2, 0)):
        figure = house.Figure("notes", figures.notes_to_tools, ceiling, 0)
        monkeypatch.setattr(house, "FIGURES", (figure,))
        assert house.main([], source) == code
    said = capsys.readouterr().out
    assert "1  notes  (TOO MANY: at most 0" in said
    assert "ask.py:1" in said
    assert "1  notes  (goal 0)" in said
    assert "lower the ceiling of 2" in said


TABLE_TEXT = "(Figure('lines', count, {ceiling}, {goal}, reason={reason!r}), Figure('files', count, 5, 1))"


def table(ceiling: float, reason: str = "", goal: float = 1) -> str:
    return TABLE_TEXT.format(ceiling=ceiling, reason=reason, goal=goal)


def test_a_ceiling_is_raised_only_with_a_new_reason() -> None:
    before = table(10, "an old reason")
    assert raised_without_reason(before, table(11, "an old reason")) == ["lines"]
    assert raised_without_reason(before, table(11)) == ["lines"]
    assert raised_without_reason(before, table(10, "an old reason", goal=11)) == ["lines"]
    assert raised_without_reason(before, table(11, "a new reason")) == []
    assert raised_without_reason(before, table(9, "an old reason")) == []
    assert raised_without_reason("", table(11)) == []  # a figure that is new


def test_the_table_is_compared_with_the_last_commit_that_differs(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    path = tmp_path / TABLE
    path.parent.mkdir(parents=True)
    path.write_text(table(1))
    assert previous_text(tmp_path) == ""  # there is no commit
    git("init")
    git("add", "-A")
    git("commit", "-m", "one")
    path.write_text(table(2))
    assert previous_text(tmp_path) == table(1)
    git("commit", "-am", "two")
    assert previous_text(tmp_path) == table(1)


def test_a_ceiling_that_was_raised_without_a_reason_fails(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(source, ask="")
    monkeypatch.setattr(house, "FIGURES", ())
    assert house.main([], source) == 0
    monkeypatch.setattr(house, "raised_without_reason", lambda before, now: ["lines"])
    assert house.main([], source) == 1
    assert "the ceiling of 'lines' was raised without a new reason" in capsys.readouterr().out


def test_modules_of_tests_that_the_type_checker_passes_over_are_listed(tmp_path: Path) -> None:
    source = tmp_path / "src" / "crestline"
    source.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        "[[tool.mypy.overrides]]\nmodule = ['flint.*']\nignore_missing_imports = true\n"
        "[[tool.mypy.overrides]]\nmodule = ['tests.a', 'tests.b']\nignore_errors = true\n"
    )
    assert figures.unchecked_tests(source) == ["tests.a", "tests.b"]


def test_functions_of_a_question_are_counted_by_file_and_name() -> None:
    assert 40 < traces.modules_of_top_k(house.SOURCE) < traces.functions_of_top_k(house.SOURCE)
    assert traces.modules_of_top_k(house.SOURCE) < traces.modules_of_request(house.SOURCE)
    assert traces.modules_of_request(house.SOURCE) < traces.functions_of_request(house.SOURCE)
    with traces._record_calls(Path(__file__).parent) as called:
        write(Path(__file__).parent)
        thread = threading.Thread(target=table, args=(1,))
        thread.start()
        thread.join()
    assert {name for _, name in called} == {"write", "table"}
