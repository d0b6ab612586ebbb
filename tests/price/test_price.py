"""Never charged more than the price: over mechanisms, questions, kinds of budgets, and what happened before."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crestline as cl
from crestline.errors import BudgetError, BudgetExhausted, BudgetMismatch, MechanismError, ParameterError
from crestline.ledger.ledger import Ledger
from crestline.mechanisms.catalogue import CATALOGUE, CatalogueEntry
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.price.price import Price
from crestline.question import NO_LIMITS
from crestline.randomness.entropy import replay
from crestline.session import Dataset
from crestline.sources import open_source

COUNTS = {f"item{i}": 400 // (i + 1) for i in range(40)}

BUDGETS = st.sampled_from(
    [
        cl.Budget(epsilon=2, delta="1e-6"),
        cl.Budget(epsilon="0.3", delta="1e-6"),
        cl.Budget(epsilon=1, delta="1e-6", kind="pure"),
        cl.Budget(epsilon=3, delta="1e-5", kind="homogeneous", items=12, questions=4),
    ]
)


def dataset(budget: cl.Budget, key: Any = 0, counts: dict[str, int] = COUNTS) -> Dataset:
    return cl.connect(cl.Histogram.from_counts(counts, k_bar=30)).dataset(
        "shop", user="user", budget=budget, entropy=replay(key)
    )


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """A question with a mechanism of its own: fast to make, so that many can be tried."""
    k = draw(st.integers(1, 5))
    k_bar = draw(st.integers(k, 20))
    epsilon = draw(st.sampled_from(["0.02", "0.1", "0.25", "1/3"]))
    delta = draw(st.sampled_from(["1e-9", "1e-7", "2e-6"]))
    bound = draw(st.sampled_from([None, 1, 3]))
    return {"k": k, "mechanism": LimitedDomain(k, k_bar, epsilon, delta, bound), "contribution": bound}


def asked_within_its_price(data: Dataset, question: dict[str, Any]) -> None:
    """Price it, ask it, and hold the charge against the price, exactly."""
    before = data.remaining
    try:
        price = data.price(item="item", **question)
    except BudgetMismatch:
        with pytest.raises(BudgetMismatch):
            data.top(item="item", **question)
        return
    assert data.remaining == before  # asking for a price costs nothing
    if not price.fits:
        with pytest.raises(BudgetExhausted):
            data.top(item="item", **question)
        assert data.remaining == before
        return
    data.top(item="item", **question)
    paid = before - data.remaining
    assert paid.fits_in(price.most)
    assert price.least.fits_in(paid)
    low, high = price.charges[0].remaining_after
    assert low.fits_in(data.remaining)
    assert data.remaining.fits_in(high)


@pytest.mark.statistics
@settings(max_examples=25)
@given(budget=BUDGETS, asked=st.lists(questions(), min_size=1, max_size=6), key=st.integers(0, 10**6))
def test_no_answer_is_charged_more_than_its_price(budget: cl.Budget, asked: list[dict[str, Any]], key: int) -> None:
    data = dataset(budget, key)
    for question in asked:
        asked_within_its_price(data, question)


@pytest.mark.parametrize(
    "line", [line for line in CATALOGUE if hasattr(line.load(), "for_budget")], ids=lambda line: line.name
)
@pytest.mark.parametrize("contribution", [None, 2])
def test_every_mechanism_of_the_catalogue_keeps_its_price(line: CatalogueEntry, contribution: int | None) -> None:
    counts = cl.Histogram.over_domain(COUNTS) if line.domain == "known" else cl.Histogram.from_counts(COUNTS, k_bar=4)
    for kind in ("zcdp", "pure"):
        data = cl.connect(counts).dataset(
            "shop", user="user", budget=cl.Budget(2, "1e-5", kind=kind), entropy=replay(f"{line.name} {kind}")
        )
        question: dict[str, Any] = {"k": 2, "k_bar": 4, "epsilon": "0.5", "delta": "1e-6", "mechanism": line.name}
        try:
            data.price(item="item", **question, contribution=contribution)
        except (MechanismError, ParameterError):
            continue  # not for this contribution: `top` refuses it in the same words, before anything is charged
        except BudgetMismatch:
            assert kind == "pure"  # Gaussian noise has no pure price
        asked_within_its_price(data, {**question, "contribution": contribution})


def test_a_stop_is_paid_the_least() -> None:
    data = dataset(cl.Budget(epsilon=2, delta="1e-6"), counts={"a": 1})
    question: dict[str, Any] = {"k": 4, "mechanism": LimitedDomain(4, 8, "0.1", "1e-8")}
    price = data.price(item="item", **question)
    before = data.remaining
    assert len(data.top(item="item", **question)) == 0
    assert before - data.remaining == price.least
    assert price.most.loss == 4 * price.least.loss
    assert price.most.failure == price.least.failure


def test_a_price_reads_no_row() -> None:
    class Sealed:
        name = "sealed"
        limits = NO_LIMITS

        def check(self, question: object, view: object) -> None:
            """Anything may be asked."""

        def version(self) -> None:
            return None

        def reading(self, question: object, key: bytes, view: object) -> object:
            raise AssertionError("a row was read")

    ledger = Ledger.in_memory(cl.Budget(epsilon=1, delta="1e-6"))
    data = Dataset(Sealed(), "user", ledger, None, replay(0))  # type: ignore[arg-type] # it must never get that far
    assert data.price(k=3, item="item", epsilon="0.1", delta="1e-7").fits


def test_a_stored_answer_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    path.write_text("user,item\n" + "".join(f"u{i},a\n" for i in range(300)))
    data = cl.connect(path).dataset("loans", user="user", budget=cl.Budget(epsilon=1, delta="1e-6"))
    question: dict[str, Any] = {"k": 1, "item": "item", "epsilon": "0.2", "delta": "1e-7"}
    before = data.price(**question)
    assert not before.stored
    data.top(**question)
    after = data.price(**question)
    assert after.stored
    assert after.fits
    assert (after.most.loss, after.most.failure) == (0, 0)
    assert str(after) == "nothing: the answer to this question on these data is stored"
    left = data.remaining
    data.top(**question)
    assert data.remaining == left


def test_an_analyst_and_the_data_set_both_pay() -> None:
    frame = pandas.DataFrame({"user": [f"u{i}" for i in range(300)], "item": ["a"] * 300})
    ledger = Ledger.in_memory(cl.Budget(epsilon=2, delta="1e-6"))
    ledger.add_analyst("ann", cl.Budget(epsilon="0.5", delta="1e-7", kind="pure"))
    data = Dataset(open_source(frame), "user", ledger, None, replay("ann"))
    question: dict[str, Any] = {"k": 1, "item": "item", "mechanism": LimitedDomain(1, 2, "0.3", "1e-9")}
    price: Price = data.price(**question, analyst="ann")
    assert [charge.account for charge in price.charges] == ["the data set", "ann"]
    assert price.charges[1].most.loss == Fraction("0.3")
    assert (
        data.top(**question, analyst="ann").remaining
        == "40.0% (worth epsilon 0.2) is left, not enough for another like it"
    )
    assert not data.price(**question, analyst="ann").fits  # the data set could pay; ann cannot
    with pytest.raises(BudgetExhausted):
        data.top(**question, analyst="ann")
    with pytest.raises(BudgetError, match="has no budget"):
        data.price(**question, analyst="bob")


def test_a_named_analyst_without_a_budget_of_their_own_is_shown_that_of_the_data_set() -> None:
    data = dataset(cl.Budget(epsilon=1, delta="1e-6", kind="pure"))
    answer = data.top(k=1, item="item", mechanism=LimitedDomain(1, 2, "0.25", "1e-9"), analyst="ann")
    assert answer.remaining == "75.0% (worth epsilon 0.75) is left, about 3 more like it"


def test_a_price_in_words() -> None:
    data = dataset(cl.Budget(epsilon=1, delta="1e-6", kind="pure"))
    assert str(data.price(k=2, item="item", mechanism=LimitedDomain(2, 4, "0.25", "1e-9"))) == (
        "at most 50.0% of the budget, at least 25.0%; the data set has 100.0% left (worth epsilon 1), enough for 2 "
        "like it\n"
        "promise: (0.5, 1e-09)-DP by LimitedDomain\n"
        "named with 95% probability: an item that leads rank 5 by about 102 users"
    )


def test_a_price_says_how_sure_counts_would_be_and_what_does_not_fit() -> None:
    data = dataset(cl.Budget(epsilon=1, delta="1e-6", kind="pure"))
    said = str(
        data.price(
            k=2, item="item", contribution=1, counts=True, epsilon=4, delta="1e-9", mechanism="LimitedDomainLaplace"
        )
    )
    assert "has 100.0% left (worth epsilon 1), which does not pay for it" in said
    assert "counts: ±" in said
    charge = data.price(k=2, item="item", mechanism=LimitedDomain(2, 4, "0.25", "1e-9")).charges[0]
    assert charge.detail_text == (
        "at most epsilon 0.5, delta 1e-09; at least epsilon 0.25, delta 1e-09; the data set has epsilon 1, "
        "delta 1e-06, then epsilon 0.5, delta 9.99e-07 to epsilon 0.75, delta 9.99e-07"
    )
