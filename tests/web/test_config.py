"""The configuration: what is read, and mistakes that are named with file, line and remedy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from crestline.cli.main import run
from crestline.config import PublicFacts, line_of_setting, load_config
from crestline.errors import BudgetMismatch, CrestlineError, ParameterError
from crestline.question import Question
from crestline.web.service_state import open_state
from tests.web.conftest import CONFIG


def line(text: str, part: str) -> int:
    """The line that holds a part of the text."""
    return next(number for number, content in enumerate(text.splitlines(), 1) if part in content)


def test_a_configuration_is_read_exactly(folder: Path) -> None:
    config = load_config(folder / "crestline.toml")
    assert config.ledger == str(folder / "ledger.db")
    loans = config.datasets["loans"]
    assert (loans.user, loans.items, loans.filters) == ("reader", ("title", "genre"), ("country",))
    assert (loans.budget.epsilon, loans.budget.delta) == (8, Fraction(1, 10**4))
    assert config.analysts["olga"].role == "owner"
    assert config.analysts["ann"].budgets["loans"].epsilon == 4
    assert (config.limits.k, config.limits.seconds) == (50, 60)


def test_the_owners_words_are_read(folder: Path) -> None:
    path = folder / "crestline.toml"
    words = 'title = "Loans"\nwords = { user = "readers", title = ["book", "books"], verb = "borrowed by" }'
    path.write_text(CONFIG.replace('version = "2026-11"', words, 1))
    loans = load_config(path).datasets["loans"]
    assert (loans.title, loans.description) == ("Loans", None)
    question = Question.from_fields({"k": 3, "item": "title"})
    assert question.words(loans.words) == "The 3 books borrowed by the most readers"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('ledger = "ledger.db"', "ledger = 5", "ledger must be a text in double quotes"),
        ("k = 50", "k = 0", "limits.k must be a whole number of at least 1"),
        ("k = 50", "kk = 50", "limits.kk is not a setting; did you mean 'k'?"),
        ('filters = ["country"]', 'filter = ["country"]', "did you mean 'filters'?"),
        ('items = ["title", "genre"]', "items = [1]", "datasets.loans.items must be a list of texts"),
        ("budget = { epsilon = 8, delta = 1e-4 }", "budget = { epsilon = -8, delta = 1e-4 }", "larger than zero"),
        ("budget = { epsilon = 8, delta = 1e-4 }", "budget = { delta = 1e-4 }", "budget.epsilon is missing"),
        ("budget = { epsilon = 8, delta = 1e-4 }", "budget = 8", "budget must be a table"),
        ('version = "2026-11"', "public = { items = 9 }", "public.users is missing; write roughly how many users"),
        ('version = "2026-11"', 'public = { users = 9, shape = "round" }', "public.shape cannot be used: a shape is"),
        ('version = "2026-11"', "public = { users = 9, user = 3 }", "did you mean 'users'?"),
        ('version = "2026-11"', 'words = { titel = "book" }', "words.titel is not a setting; did you mean 'title'?"),
        ('version = "2026-11"', "words = { title = [] }", 'words.title must be one word, or two such as ["product"'),
        ('version = "2026-11"', 'title = "a\\nb"', "title must be a text of 1 to 100 printable characters"),
        ('role = "owner"', 'role = "king"', "must be one of 'analyst', 'owner', not 'king'"),
        ("[datasets.secret]", '[datasets."se cret"]', "must be a name of up to 64"),
    ],
)
def test_a_mistake_is_named_with_its_line(folder: Path, old: str, new: str, says: str) -> None:
    path, text = folder / "crestline.toml", CONFIG.replace(old, new, 1)
    path.write_text(text)
    with pytest.raises(ParameterError) as refusal:
        load_config(path)
    first = str(refusal.value).splitlines()[0]
    assert first.startswith(f"{path}:{line(text, new)}: ")
    assert says in first


def test_public_facts_are_optional(folder: Path) -> None:
    path = folder / "crestline.toml"
    assert load_config(path).datasets["loans"].public is None
    path.write_text(CONFIG.replace('version = "2026-11"', "public = { users = 3000, per_user = 2 }"))
    assert load_config(path).datasets["loans"].public == PublicFacts(users=3000, per_user=2)


def test_what_is_missing_is_named_with_the_line_of_its_table(folder: Path) -> None:
    path, text = folder / "crestline.toml", CONFIG.replace('user = "reader"\n', "", 1)
    path.write_text(text)
    with pytest.raises(ParameterError, match=r"datasets\.loans\.user is missing") as refusal:
        load_config(path)
    assert f":{line(text, '[datasets.loans]')}:" in str(refusal.value)


def test_every_section_is_checked_at_once(folder: Path) -> None:
    path = folder / "crestline.toml"
    path.write_text(CONFIG.replace('role = "owner"', "role = 1").replace("k = 50", "k = 1.5"))
    with pytest.raises(ParameterError) as refusal:
        load_config(path)
    assert len(str(refusal.value).splitlines()) == 2


def test_a_budget_for_a_data_set_that_is_not_served(folder: Path) -> None:
    path, text = folder / "crestline.toml", CONFIG.replace("loans = { epsilon = 4", "lones = { epsilon = 4", 1)
    path.write_text(text)
    with pytest.raises(ParameterError, match="the data sets are: loans, secret") as refusal:
        load_config(path)
    assert f":{line(text, 'lones')}:" in str(refusal.value)


def test_what_is_no_toml_is_said_with_its_line(folder: Path) -> None:
    path = folder / "crestline.toml"
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(ParameterError, match="line 2"):
        load_config(path)
    with pytest.raises(ParameterError, match="cannot be read"):
        load_config(folder)


def test_lines_of_settings_that_take_several_lines() -> None:
    text = '# first\na = [\n  "x = 1",\n]\n\n[b]\nc = """\n[d]\n"""\nd.e = { f = 1 }\n'
    assert [
        line_of_setting(text, path) for path in [("a",), ("b",), ("b", "c"), ("b", "d", "e", "f"), ("b", "z"), ("y",)]
    ] == [
        2,
        6,
        7,
        10,
        6,
        1,
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('source = "loans.csv"', 'source = "gone.csv"', "there is no file"),
        ('items = ["title", "genre"]', 'items = ["title", "gender"]', "names no column 'gender'"),
        ('filters = ["country"]', 'filters = ["county"]', "names no column 'county'"),
    ],
)
def test_what_the_file_names_must_be_there(folder: Path, old: str, new: str, says: str) -> None:
    path, text = folder / "crestline.toml", CONFIG.replace(old, new, 1)
    path.write_text(text)
    with pytest.raises(CrestlineError, match=says) as refusal:
        open_state(load_config(path))
    assert f"{path}:{line(text, new)}: " in str(refusal.value)


@pytest.mark.long
@pytest.mark.parametrize(("old", "new"), [("epsilon = 8", "epsilon = 9"), ("epsilon = 4", "epsilon = 3")])
def test_a_budget_is_never_changed(folder: Path, old: str, new: str) -> None:
    path = folder / "crestline.toml"
    open_state(load_config(path)).close()
    open_state(load_config(path)).close()  # the same again is fine
    text = CONFIG.replace(old, new, 1)
    path.write_text(text)
    with pytest.raises(CrestlineError, match="is never changed") as refusal:
        open_state(load_config(path))
    assert f"{path}:{line(text, new)}: " in str(refusal.value)


@pytest.mark.long
def test_serve_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "crestline.toml"
    assert run(["serve", str(path), "--check"]) == 0
    assert "2 data set(s), 3 analyst(s)" in capsys.readouterr().out
    path.write_text(CONFIG.replace("k = 50", "k = 0"))
    assert run(["serve", str(path), "--check"]) == 2
    assert "limits.k must be" in capsys.readouterr().err


def test_the_configuration_in_the_docs_is_read(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "service.md"
    text = page.read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "crestline.toml").write_text(text)
    shown = load_config(tmp_path / "crestline.toml")
    (tmp_path / "crestline.toml").write_text(text.replace("[limits]", "[limits]\n[limits_as_shown]"))
    with pytest.raises(ParameterError, match="limits_as_shown is not a setting"):
        load_config(tmp_path / "crestline.toml")
    start, end = text.index("[limits]"), text.index("[datasets")
    (tmp_path / "crestline.toml").write_text(text[:start] + text[end:])
    assert load_config(tmp_path / "crestline.toml").limits == shown.limits  # the defaults are as shown


@pytest.mark.long
def test_the_users_of_a_data_set_are_never_changed(folder: Path) -> None:
    open_state(load_config(folder / "crestline.toml")).close()
    changed = CONFIG.replace(
        'user = "reader"\nitems = ["title", "genre"]', 'user = "salary"\nitems = ["title", "genre"]'
    )
    (folder / "crestline.toml").write_text(changed)
    with pytest.raises(BudgetMismatch, match=r"toml:9: datasets.loans.user: .*column 'reader'.*column 'salary'"):
        open_state(load_config(folder / "crestline.toml"))


def test_paths_start_at_the_home_where_they_say_so_and_else_beside_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    path = folder / "crestline.toml"
    for written, found in (("~/x.csv", "home/x.csv"), ("x.csv", "x.csv"), ("delta:lake/x", "lake/x")):
        path.write_text(CONFIG.replace('source = "loans.csv"', f'source = "{written}"', 1))
        kind = "delta:" if written.startswith("delta:") else ""
        assert load_config(path).datasets["loans"].source == f"{kind}{folder / found}"


@pytest.mark.parametrize(
    ("source", "in_database"),
    [
        ("shop.duckdb", True),
        ("postgresql://db.example/shop", True),
        ("loans.csv", False),
        ("s3://lake/loans.parquet", False),
        ("iceberg://prod", False),
    ],
)
def test_a_public_list_is_a_table_of_a_database_or_a_file_beside_this_one(
    folder: Path, source: str, in_database: bool
) -> None:
    path = folder / "crestline.toml"
    listed = f'source = "{source}"\ndomains = {{ all = "titles.title" }}'
    path.write_text(CONFIG.replace('source = "loans.csv"', listed, 1))
    expected = "titles.title" if in_database else str(folder / "titles.title")
    assert load_config(path).datasets["loans"].domains == {"all": expected}


def test_every_mistake_is_named_with_its_line(folder: Path) -> None:
    path = folder / "crestline.toml"
    wrong = {
        'user = "reader"': "user = 3",
        'filters = ["country"]': 'filters = "country"',
        "budget = { epsilon = 8, delta = 1e-4 }": 'budget = { epsilon = 8, delta = 1e-4, kind = "zcpd" }',
        "loans = { epsilon = 4, delta = 1e-5 }": "loans = { epsilon = 4, dleta = 1e-5 }",
        "k = 50": "k = true",
    }
    text = CONFIG
    for old, new in wrong.items():
        text = text.replace(old, new, 1)
    path.write_text(text)
    with pytest.raises(ParameterError) as refusal:
        load_config(path)
    named = {said.rpartition(".toml:")[2].partition(":")[0] for said in str(refusal.value).splitlines()}
    assert named == {str(line(text, new)) for new in wrong.values()}
