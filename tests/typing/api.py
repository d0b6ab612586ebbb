"""Public usage that must type-check: the API as people write it. mypy reads this file; nothing runs it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import assert_type

import crestline as cl


def one_question() -> None:
    answer = cl.top_k("checkins.parquet", user="user", item="venue", k=20, epsilon=1, delta=1e-8)
    assert_type(answer, cl.Answer)
    assert_type(answer.stopped, bool)
    assert_type(answer.explain(), str)
    for item in answer.items:
        print(item)
    cl.top_k(Path("a.csv"), user="u", item=["a", "b"], k=5, epsilon="0.5", delta=Decimal("1e-9"), where="x = 1")


def many_questions() -> None:
    shop = cl.connect("postgresql://localhost/shop", ledger="ledger.db")
    sales = shop.dataset("sales", user="customer_id", budget=cl.Budget(epsilon=2, delta=1e-7))
    assert_type(sales.top(k=10, item="sku"), cl.Answer)
    assert_type(sales.top(k=10, item=["category", "brand"], contribution=5), cl.Answer)
    print(sales.remaining)


def books() -> None:
    with cl.Ledger.create("ledger.db", cl.Budget(epsilon=1, delta=Fraction(1, 10**6))) as ledger:
        cl.top_k("a.csv", user="u", item="i", k=3, epsilon=1, delta=1e-8, ledger=ledger)


def mechanisms() -> None:
    histogram = cl.Histogram.from_counts({"a": 5, "b": 3}, k_bar=2)
    assert_type(histogram.counts, tuple[int, ...])
    mechanism = cl.mechanisms.LimitedDomain(k=2, k_bar=2, epsilon="0.5", delta=1e-6)
    print(mechanism.guarantee(), mechanism.release(histogram, cl.entropy.system()))
    print(mechanism.margin(0.95), cl.mechanisms.NoisyCounts(mechanism, scale=3).k)
    assert_type(cl.mechanisms.Canonical.for_budget(k=1, epsilon=1, delta=0, gamma="0.5").gamma, Fraction)


class Mine:
    """A third party's mechanism: two methods are enough."""

    def guarantee(self) -> cl.PureDP:
        return cl.PureDP(epsilon=1)

    def release(self, histogram: cl.Histogram, entropy: cl.entropy.Entropy) -> cl.Selection:
        return cl.Selection((), True)


def third_party() -> None:
    cl.top_k("a.csv", user="u", item="i", k=3, k_bar=9, mechanism=Mine())
    cl.top_k("a.csv", user="u", item="i", k=3, mechanism=cl.mechanisms.Sieve(3, 1, "1e-6"))
    cl.top_k(
        "a.csv", user="u", item="i", k=3, mechanism=cl.mechanisms.Observed.for_budget(k=3, epsilon=1, delta="1e-6")
    )
    print(cl.ApproxDP(epsilon=1, delta=1e-6), cl.ZCDP(rho="0.1"), cl.BoundedRange(epsilon="1/3"))
