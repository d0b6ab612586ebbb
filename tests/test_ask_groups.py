"""Questions with groups, from the table to the ledger and the answer (P15)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest

import crestline as cl
from crestline.answer.answer import Answer
from crestline.answer.promise_text import promise_in_formulas, promise_in_words
from crestline.errors import MechanismError, ParameterError, QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.relation import GroupedRelation
from crestline.histogram.view_kinds import View
from crestline.mechanisms import LimitedDomain
from crestline.mechanisms.selection import Selection
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay

pytestmark = pytest.mark.long

SIZES = {"FR": {"cup": 900, "bag": 500}, "DE": {"tea": 800, "cup": 300}, "LU": {"tea": 1}}
SALES = pd.DataFrame(
    [
        {"customer": f"{country}{place}", "product": product, "country": country, "month": place % 3, "price": 2.5}
        for country, products in SIZES.items()
        for product, many in products.items()
        for place in range(many)
    ]
)
ASKED: dict[str, Any] = {"user": "customer", "item": "product", "by": "country", "k": 2, "epsilon": 1, "delta": "1e-8"}


def top(**changes: Any) -> Answer:
    return cl.top_k(SALES, entropy=replay("groups"), **{**ASKED, **changes})


def test_the_top_of_every_group_and_nothing_about_a_group_of_one_user() -> None:
    answer = top()
    assert dict(answer.groups).keys() == {"DE", "FR"}
    assert answer.groups["FR"].items == ("cup", "bag")
    assert answer.groups["DE"].items == ("tea", "cup")
    assert answer.items == (("DE", "tea"), ("DE", "cup"), ("FR", "cup"), ("FR", "bag"))
    assert not answer.stopped
    assert "LU" not in answer.explain() + str(answer.to_dict())


def test_tables_have_the_group_first_and_ranks_within_it() -> None:
    frame = top().to_pandas()
    assert list(frame.columns) == ["country", "rank", "product"]
    assert frame.values.tolist() == [["DE", 1, "tea"], ["DE", 2, "cup"], ["FR", 1, "cup"], ["FR", 2, "bag"]]
    several = top(by=["country", "month"], counts=True, contribution=2).to_pandas()
    assert list(several.columns) == ["country", "month", "rank", "product", "count", "low", "high"]
    assert set(several.country) == {"DE", "FR"}


@pytest.mark.long
def test_an_answer_survives_the_way_to_json_and_back() -> None:
    for answer in (
        top(),
        top(counts=True),
        top(mechanism="Staircase"),
        top(groups=["LU", "FR"]),
        top(by=["country", "month"]),
    ):
        assert Answer.from_dict(answer.to_dict()) == answer


def test_the_explanation_says_in_how_many_groups_a_user_counts() -> None:
    text = " ".join(top(groups_per_user=2, floor=5, contribution=1).explain().split())
    assert "the 2 values of 'product' with the most users, for every value of 'country'" in text
    assert "each 'customer' counts in at most 2 groups by 'country'" in text
    assert "without looking at what fewer than 5 users have" in text
    assert "counting at most 1 value of 'product' of each user and group" in text
    assert "not even that it exists" in text
    one = top().groups["FR"].explain()
    assert "This is the group country = FR of a larger answer" in " ".join(one.split())


def test_the_promise_for_those_who_check_it_speaks_of_groups() -> None:
    answer = top(groups_per_user=2, floor=5, contribution=1)
    words, formulas = " ".join(promise_in_words(answer)), " ".join(promise_in_formulas(answer))
    assert "at most 2 in each of 2 groups, whose labels are released, too" in words
    assert "Each user keeps at most 2 of their groups, chosen by a keyed hash" in formulas
    assert (
        "if at least 5 users keep it there, and 4 is added to the threshold of M: a public floor (P17.6)." in formulas
    )
    assert "h is what a count exceeds 4 by" in " ".join(promise_in_formulas(top(floor=5)))
    assert "at most 1 items in each group" in formulas
    assert "which are all of a public list" in " ".join(promise_in_words(top(groups=["FR"])))


def test_public_groups_are_all_listed() -> None:
    answer = top(groups=["LU", "FR", "IT"])
    assert {label: part.items for label, part in answer.groups.items()} == {"FR": ("cup", "bag"), "IT": (), "LU": ()}
    assert "Every group of the public list" in " ".join(answer.explain().split())


@pytest.mark.parametrize("groups_per_user", [1, 2])
def test_the_sieve_names_what_stands_out_in_every_group(groups_per_user: int) -> None:
    answer = top(mechanism="Sieve", groups_per_user=groups_per_user)
    assert {label: set(part.items) for label, part in answer.groups.items()} == {
        "DE": {"tea", "cup"},
        "FR": {"cup", "bag"},
    }
    assert answer.guarantee.epsilon is not None
    assert 0.99 < answer.guarantee.epsilon <= 1
    assert answer.guarantee.delta == Fraction(1, 10**8)  # type: ignore[attr-defined] # it is approximate
    text = " ".join(answer.explain().split())
    assert "LU" not in text + str(answer.to_dict())
    assert "users in its group, or fewer, to be named with 95% probability. It follows from noisy queries" in text
    assert answer.margin is not None
    assert 20 < answer.margin < 200
    formulas = " ".join(promise_in_formulas(answer))
    assert "M reads all pairs of a user and an item, through noisy queries." in formulas
    assert "is named with probability about 0.95, estimated by noisy queries." in formulas
    assert top(mechanism="Sieve", where="country = 'LU'").margin is None  # nothing is said, of no group
    assert Answer.from_dict(answer.to_dict()) == answer
    public = top(mechanism="Sieve", groups=["LU", "FR", "IT"]).groups
    assert {label: set(part.items) for label, part in public.items()} == {
        "FR": {"cup", "bag"},
        "IT": set(),
        "LU": set(),
    }


def test_with_a_ledger_the_sieve_costs_a_users_groups_whatever_it_names(tmp_path: Path) -> None:
    shop = cl.connect(SALES, ledger=tmp_path / "ledger.db")
    sales = shop.dataset("sales", user="customer", budget=cl.Budget(epsilon=8, delta=1e-4))
    asked: dict[str, Any] = {"item": "product", "k": 2, "mechanism": "Sieve", "epsilon": 1, "delta": "1e-8"}
    flat = sales.price(**asked).charges[0]
    for groups_per_user, where in ((1, None), (2, None), (2, "country = 'LU'")):
        grouped = {**asked, "by": "country", "groups_per_user": groups_per_user, "where": where}
        price = sales.price(**grouped).charges[0]
        assert price.share == flat.share  # the total does not depend on the groups
        bill = sales.top(**grouped).bill
        assert bill is not None
        assert bill.share is not None
        assert bill.paid == bill.reserved
        assert 0.013 < bill.share < 0.014


LISTED = ["bag", "cup", "hat", "pen", "tea", "zip"]


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, "Lipschitz"),
        ({"k": 1}, "Lipschitz"),
        ({"k": 4, "ordered": False}, "CanonicalOrPeeling"),
        ({"groups_per_user": 3}, "Lipschitz"),
        ({"k": 4, "ordered": False, "groups_per_user": 3}, "CanonicalOrPeeling"),
        ({"mechanism": "JointExponential"}, "JointExponential"),
    ],
    ids=str,
)
def test_public_lists_of_groups_and_items_answer_every_group(changes: dict[str, Any], taken: str) -> None:
    answer = top(**{"domain": LISTED, "groups": ["LU", "FR", "IT"], "epsilon": 2, **changes})
    assert answer.mechanism.name == taken
    assert list(answer.groups) == ["FR", "IT", "LU"]
    for part in answer.groups.values():
        assert len(part.items) == len(set(part.items)) == changes.get("k", 2)
        assert set(part.items) <= set(LISTED)
    first = answer.groups["FR"].items
    assert "cup" in first
    assert answer.guarantee.epsilon is not None
    assert 1.99 < answer.guarantee.epsilon <= 2
    assert Answer.from_dict(answer.to_dict()) == answer
    assert "Every group of the public list is there" in " ".join(answer.explain().split())


def test_counts_of_public_lists_stay_with_their_items() -> None:
    answer = top(domain=LISTED, groups=["FR", "IT"], counts=True, contribution=2, epsilon=100)
    assert answer.groups["FR"].items == ("cup", "bag")
    assert answer.groups["FR"].counts == pytest.approx((900, 500), abs=5)
    assert answer.groups["IT"].counts == pytest.approx((0, 0), abs=5)


def test_with_a_ledger_public_lists_pay_for_a_users_groups(tmp_path: Path) -> None:
    shop = cl.connect(SALES, ledger=tmp_path / "ledger.db")
    sales = shop.dataset("sales", user="customer", budget=cl.Budget(epsilon=8, delta=1e-4))
    asked: dict[str, Any] = {
        "item": "product",
        "by": "country",
        "groups": ["FR", "DE", "LU"],
        "domain": LISTED,
        "k_bar": 6,
    }
    mechanism = cl.mechanisms.Lipschitz(2, "0.2", noise="gumbel")
    one, two = (sales.price(k=2, mechanism=mechanism, groups_per_user=many, **asked) for many in (1, 2))
    assert two.charges[0].most.loss == 2 * one.charges[0].most.loss
    before = sales.remaining
    assert len(sales.top(k=2, mechanism=mechanism, groups_per_user=2, **asked).groups) == 3
    assert before.loss - sales.remaining.loss == two.charges[0].most.loss


def test_a_threshold_in_groups_costs_the_same_whatever_comes_back(tmp_path: Path) -> None:
    shop = cl.connect(SALES, ledger=tmp_path / "ledger.db")
    sales = shop.dataset("sales", user="customer", budget=cl.Budget(epsilon=8, delta=1e-4))
    asked: dict[str, Any] = {"item": "product", "by": "country", "k": 2, "contribution": 2, "groups_per_user": 3}
    price = sales.price(**asked)
    assert price.charges[0].least == price.charges[0].most
    for where in (None, "country = 'nowhere'"):
        before = sales.remaining
        answer = sales.top(where=where, **asked)
        assert answer.mechanism.name == "Observed"
        assert before.loss - sales.remaining.loss == price.charges[0].most.loss
        assert before.failure - sales.remaining.failure == price.charges[0].most.failure
        assert len(answer.groups) == (2 if where is None else 0)


def test_a_floor_is_part_of_what_an_item_needs() -> None:
    low, high = (top(contribution=1, floor=floor) for floor in (1, 50))
    assert low.margin is not None
    assert high.margin == low.margin + 49
    assert high.groups["FR"].items == ("cup", "bag")


def test_a_floor_is_part_of_what_weighted_items_need() -> None:
    low, high = (top(mechanism=WEIGHTED, contribution=1, floor=floor) for floor in (1, 50))
    assert low.margin is not None
    assert high.margin == low.margin + 49
    assert high.groups["FR"].items == low.groups["FR"].items == ("cup", "bag")
    assert top(mechanism=WEIGHTED, contribution=1, floor=550).groups["FR"].items == ("cup",)
    listed = top(mechanism=WEIGHTED, contribution=1, floor=50, groups=["FR", "IT", "LU"])
    assert [part.items for part in listed.groups.values()] == [("cup", "bag"), (), ()]


def small_groups(many: int) -> pd.DataFrame:
    """Countries of 19 customers each, who buy nothing elsewhere; those of the others come before and after them."""
    countries = [f"{'AZ'[n % 2]}{n}" for n in range(many)]
    return pd.DataFrame(
        [
            {"customer": f"{country} {n}", "product": "tea", "country": country, "month": n % 3, "price": 1.0}
            for country in countries
            for n in range(19)
        ]
    )


@pytest.mark.parametrize("options", [{"mechanism": "Sieve"}, {"mechanism": "Sieve", "groups_per_user": 2}], ids=str)
def test_groups_below_a_floor_change_nothing_in_an_answer_whether_they_are_read_or_not(options: dict[str, Any]) -> None:
    """With the same randomness: such a group names nothing with certainty, so that it is not read."""
    more = pd.concat([small_groups(9), SALES], ignore_index=True)
    asked: dict[str, Any] = {**ASKED, **options, "floor": 20}
    for key in range(3):
        with_them, without = (cl.top_k(data, entropy=replay(key), **asked) for data in (more, SALES))
        assert with_them.by_group == without.by_group
        assert with_them.margin == without.margin
        assert {label: set(part.items) for label, part in with_them.groups.items()} == {
            "DE": {"tea", "cup"},
            "FR": {"cup", "bag"},
        }


def test_the_sieve_reads_only_groups_of_enough_users(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[tuple[list[Any], int]]()
    of = GroupedRelation.from_rows

    def spy(groups: Any, *given: Any) -> GroupedRelation:
        table = of(groups, *given)
        read.append((list(groups), len(table.rows.users)))
        return table

    monkeypatch.setattr(GroupedRelation, "from_rows", spy)
    for floor in (1, 2, 850, 901):
        top(mechanism="Sieve", floor=floor)
    assert read == [(["DE", "FR", "LU"], 2501), (["DE", "FR"], 2500), (["FR"], 1400), ([], 0)]


def test_a_floor_is_part_of_what_the_sieve_needs_and_says() -> None:
    low, high = (top(mechanism="Sieve", floor=floor) for floor in (1, 200))
    assert low.margin is not None
    assert high.margin is not None
    assert high.margin > low.margin + 199 - 1e-6  # as many, where every user weighs one
    text, formulas = " ".join(high.explain().split()), " ".join(promise_in_formulas(high))
    assert "without reading groups or naming items of fewer than 200 users" in text
    assert "199 is added to the threshold of M: a public floor (P17.6); groups of fewer users are not read." in formulas
    assert set(top(mechanism="Sieve", floor=600).groups["FR"].items) == {"cup"}


def test_a_floor_leaves_counts_what_they_are() -> None:
    exact = {"mechanism": cl.mechanisms.LimitedDomainGauss(2, 2, "0.01", "0.01", 2, counts=True), "contribution": 2}
    for floor in (1, 50):
        answer = top(floor=floor, **exact)
        assert answer.groups["FR"].counts == (900, 500)
    assert top(floor=600, **exact).groups["FR"].items == ("cup",)
    summed = top(floor=50, score="sum(price)", clip=2, **exact)
    assert summed.groups["FR"].counts == pytest.approx((1800, 1000), abs=1)


def test_what_one_user_may_touch_is_reserved_and_the_largest_bills_stay_charged(tmp_path: Path) -> None:
    shop = cl.connect(SALES, ledger=tmp_path / "ledger.db")
    sales = shop.dataset("sales", user="customer", budget=cl.Budget(epsilon=8, delta=1e-4))
    asked: dict[str, Any] = {"item": "product", "by": "country", "groups_per_user": 3}
    mechanism = cl.mechanisms.LimitedDomain(2, 10, "0.2", "1e-8")
    price = sales.price(k=2, mechanism=mechanism, **asked)
    step = Fraction("0.2") ** 2 / 8
    assert price.charges[0].most.loss == 6 * step  # two draws in each of three groups
    assert price.charges[0].least.loss == 3 * step  # a stop in each of three groups
    assert price.charges[0].most.failure == Fraction(3, 10**8)
    before = sales.remaining
    answer = sales.top(k=2, mechanism=mechanism, **asked)
    assert [len(part) for part in answer.groups.values()] == [2, 2]
    assert before.loss - sales.remaining.loss == 5 * step  # two full groups, and one without a name
    assert before.failure - sales.remaining.failure == Fraction(3, 10**8)
    assert sales.top(k=2, mechanism=mechanism, **asked).stored is False  # a table in memory has no version


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, "RestrictedGumbel"),
        ({"ordered": False}, "Staircase"),
        ({"ordered": False, "k": 20}, "RestrictedGumbel"),
        ({"contribution": 1, "groups_per_user": 3}, "Observed"),
        ({"contribution": 1, "groups_per_user": 3, "passes": 1}, "LimitedDomainLaplace"),
        ({"contribution": 2, "groups_per_user": 2, "k_bar": 50}, "LimitedDomainGauss"),
    ],
)
def test_auto_takes_one_pass_in_every_group(changes: dict[str, Any], taken: str) -> None:
    total = {"epsilon": Fraction(1), "delta": Fraction(1, 10**8)}
    assert prepare(Question(**{"k": 5, "by": ("c",), **total, **changes})).choice.name == taken


@pytest.mark.long
def test_the_usual_share_of_a_budget_is_for_all_groups_of_a_user() -> None:
    budget = cl.Budget(epsilon=2, delta=1e-6)
    one, three = (prepare(Question(k=2, by=("c",), groups_per_user=many), budget=budget) for many in (1, 3))
    assert float(three.cost.rho) == pytest.approx(float(one.cost.rho), rel=0.01)
    assert three.margin is not None
    assert one.margin is not None
    assert three.margin > one.margin


WEIGHTED = cl.mechanisms.Observed(2, 1, 20, "1e-8", cap=2)


@dataclass(frozen=True)
class Weighing:
    """A third-party mechanism for weighted scores."""

    k: int = 2
    contribution: int = 1
    domain: str = "unknown"
    view: ClassVar[View] = View("observed", (3, 2))

    def guarantee(self) -> cl.PureDP:
        return cl.PureDP("0.1")

    def release(self, histogram: Histogram, entropy: Any) -> Selection:
        return Selection((), True)


@dataclass(frozen=True)
class Mine:
    """A third-party mechanism, which states no domain."""

    k: int = 2
    k_bar: int = 4

    def guarantee(self) -> cl.PureDP:
        return cl.PureDP("0.1")

    def release(self, histogram: Histogram, entropy: Any) -> Selection:
        return Selection((), True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domain": ["cup"]}, "only if the list of groups is public too"),
        ({"domain": ["cup"], "groups": ["FR"], "floor": 3}, "leave floor or domain out"),
        ({"domain": ["cup"], "groups": ["FR"], "mechanism": "RestrictedGumbel"}, "leave domain out"),
        ({"mechanism": "Canonical"}, "needs the public list of all items"),
        ({"mechanism": "Routed"}, "with groups only Sieve can"),
        ({"mechanism": "Sieve", "groups": ["FR"], "floor": 5}, "leave floor or groups out"),
        ({"mechanism": Weighing(), "contribution": 1, "floor": 5}, "leave floor out"),
        ({"mechanism": Mine()}, "does not state domain='unknown'"),
    ],
)
def test_a_mechanism_that_would_tell_that_a_group_exists_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        top(**changes)


def test_with_a_public_list_of_groups_a_third_party_mechanism_may_be_run() -> None:
    answer = top(mechanism=Mine(), groups=["FR"])
    assert answer.groups["FR"].items == ()
    assert answer.guarantee.epsilon == Fraction(1, 10)
    assert top(mechanism=Mine(), groups=["FR"], groups_per_user=3).guarantee.epsilon == Fraction(3, 10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": None, "groups_per_user": 2}, "go with by"),
        ({"by": None, "groups": ["a"]}, "go with by"),
        ({"by": (), "floor": 3}, "go with by"),
        ({"by": "product"}, "named once, and is not the item"),
        ({"by": ["country", "country"]}, "named once"),
        ({"by": [""]}, "by must name"),
        ({"groups_per_user": 0}, "groups_per_user must be"),
        ({"floor": 0}, "floor must be"),
        ({"by": "contry"}, "no column 'contry'"),
        ({"groups": [1]}, "must be of the types of country"),
    ],
)
def test_slips_are_refused_with_what_would_be_right(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((QuestionError, ParameterError), match=message):
        top(**changes)


def test_a_ready_histogram_has_no_groups() -> None:
    with pytest.raises(QuestionError, match="cannot apply `by`"):
        cl.top_k(Histogram.from_counts({"a": 5}, 50), **ASKED)


def test_the_page_of_a_notebook_says_how_many_groups() -> None:
    assert "4 items in 2 groups" in top()._repr_html_()


@pytest.mark.long
def test_the_picture_has_a_panel_for_every_group(tmp_path: Path) -> None:
    picture = top(counts=True, contribution=2, groups=["FR", "LU"]).plot(tmp_path / "groups.svg")
    for words in ("for every value of", "FR", "cup", "LU", "nothing could be named", "2 items in 2 groups"):
        assert words in picture.svg()
    assert (tmp_path / "groups.svg").exists()
    assert "Nothing could be named in any group" in top(mechanism=LimitedDomain(2, 4, "0.001", "1e-9")).plot().svg()


@pytest.mark.long
def test_of_very_many_groups_the_picture_shows_the_first() -> None:
    many = top(groups=[f"{place:03}" for place in range(60)]).plot().svg()
    assert "The first 48 groups are shown" in many
    assert "047" in many
    assert "048" not in many
