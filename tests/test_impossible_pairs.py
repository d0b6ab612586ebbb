"""A mechanism that cannot answer a question is refused before anything is charged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import crestline as cl
from crestline.cli.main import run
from crestline.errors import BudgetError, CrestlineError, MechanismError, QuestionError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy

KNOWN = [line.name for line in CATALOGUE if line.domain == "known"]
UNKNOWN = [line.name for line in CATALOGUE if line.domain == "unknown" and line.name != "Restricted"]
ITEMS = ["tea", "milk", "water"]
PAIRS = [(name, None) for name in KNOWN] + [(name, ITEMS) for name in UNKNOWN]
WORDS = "needs the public list|not publicly listed"


class Stranger:
    """A third party's mechanism with a promise and a domain of its own."""

    k = 1

    def __init__(self, promise: Any = None, **stated: Any) -> None:
        self.promise = cl.PureDP(Fraction(1, 100)) if promise is None else promise
        self.__dict__.update(stated)

    def guarantee(self) -> Any:
        return self.promise

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        raise AssertionError("nothing may be released")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "shop.csv"
    found.write_text("user,item\nu1,tea\nu2,tea\nu3,milk\n")
    return found


def shop(path: Path, budget: Any = None) -> Any:
    books = path.with_name("ledger.db")
    limit = cl.Budget(epsilon=5, delta="1e-4") if budget is None else budget
    return cl.connect(str(path), ledger=books).dataset("shop", user="user", budget=limit)


def refused(dataset: Any, says: str, error: type[CrestlineError] = MechanismError, **question: Any) -> None:
    """Asked and priced, in vain, and the ledger is as it was."""
    before, entries = dataset.remaining, list(dataset.ledger.history())
    for method in (dataset.price, dataset.top):
        with pytest.raises(error, match=says):
            method(k=1, item="item", **question)
    assert dataset.remaining == before
    assert list(dataset.ledger.history()) == entries


@pytest.mark.long
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize(("name", "domain"), PAIRS)
def test_a_named_mechanism_for_the_other_kind_of_domain(path: Path, name: str, domain: Any, counts: bool) -> None:
    dataset = shop(path)
    refused(dataset, WORDS, mechanism=name, domain=domain, counts=counts)
    with pytest.raises(MechanismError, match=WORDS):
        cl.top_k(
            path, k=1, epsilon=1, delta="1e-6", mechanism=name, domain=domain, counts=counts, ledger=dataset.ledger
        )


@pytest.mark.parametrize("stated", ["known", "unknown"])
def test_a_strangers_mechanism_for_the_other_kind_of_domain(path: Path, stated: str) -> None:
    domain = None if stated == "known" else ITEMS
    refused(shop(path), WORDS, mechanism=Stranger(domain=stated), k_bar=1, domain=domain)


def test_the_command_line_refuses_before_the_charge(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = shop(path)
    before = list(dataset.ledger.history())
    books = str(path.with_name("ledger.db"))
    question = [
        str(path),
        "--user",
        "user",
        "--item",
        "item",
        "-k",
        "1",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--ledger",
        books,
    ]
    assert run(["top", *question, "--mechanism", "Canonical"]) != 0
    assert "public list" in " ".join(capsys.readouterr().err.split())
    assert list(dataset.ledger.history()) == before


@pytest.mark.parametrize("promise", ["(1, 1e-6)", 1.0, object()])
def test_a_promise_that_is_none_is_refused_with_and_without_ledgers(path: Path, promise: Any) -> None:
    refused(shop(path), "guarantee\\(\\) must be", mechanism=Stranger(promise), k_bar=1)
    with pytest.raises(MechanismError, match="guarantee\\(\\) must be"):
        cl.top_k(path, k=1, k_bar=1, mechanism=Stranger(promise))


def test_a_cost_that_is_none_is_refused(path: Path) -> None:
    refused(shop(path), "cost\\(\\) must return a Cost", mechanism=Stranger(cost=lambda: 1), k_bar=1)


def test_a_promise_of_another_kind_than_the_budget_is_refused(path: Path) -> None:
    """A pure budget pays for no failure probability."""
    budget = cl.Budget(epsilon=5, delta=0, kind="pure")
    stranger = Stranger(cl.ApproxDP(Fraction(1, 10), Fraction(1, 10**6)))
    dataset = shop(path, budget)
    before = dataset.remaining
    with pytest.raises(BudgetError):
        dataset.top(k=1, item="item", mechanism=stranger, k_bar=1, epsilon=1, delta="1e-6")
    assert dataset.remaining == before
    assert [entry.kind for entry in dataset.ledger.history()].count("reserved") == 0


def test_a_whole_list_that_is_ready_is_a_public_list() -> None:
    ready = Histogram.over_domain({"tea": 900, "milk": 5, "water": 0})
    for name in (*KNOWN, "auto"):
        answer = cl.top_k(ready, k=1, epsilon=10, delta="1e-6", mechanism=name, entropy=cl.entropy.replay("ready"))
        assert set(answer.items) == {"tea"}
    with pytest.raises(MechanismError, match="not publicly listed"):
        cl.top_k(ready, k=1, epsilon=1, delta="1e-6", mechanism="LimitedDomain")


def test_a_list_that_was_cut_is_no_public_list() -> None:
    ready = Histogram.over_domain({"tea": 900, "milk": 500, "water": 0}, k_bar=2)
    question: dict[str, Any] = {"k": 1, "epsilon": 10, "delta": "1e-3", "mechanism": "LimitedDomain"}
    for k_bar in (1, 2):
        assert cl.top_k(ready, k_bar=k_bar, entropy=cl.entropy.replay("cut"), **question).items == ("tea",)
    with pytest.raises(QuestionError, match="cut at k_bar=2"):
        cl.top_k(ready, k_bar=3, **question)
    with pytest.raises(MechanismError, match="needs the public list"):
        cl.top_k(ready, **{**question, "mechanism": "Canonical"})
