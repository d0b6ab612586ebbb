"""The audits of others: adapters that say what the library says, and a page that is what was found."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import crestline as cl
from crestline.audit.attack import audit
from crestline.audit.import_target import load
from crestline.randomness.entropy import replay
from reproduction.audits.__main__ import KEPT, RESULTS, ROOT, main
from reproduction.audits.opendp_top_k import as_issue_2911_says, under_pure_dp, under_zcdp, under_zcdp_two_items
from reproduction.audits.page import page
from reproduction.audits.subjects import AUDITED

FOUND = json.loads(KEPT.read_text(encoding="utf-8"))


def test_the_page_is_what_was_found() -> None:
    assert (RESULTS / "audits-of-others.md").read_text(encoding="utf-8") == page(FOUND)


def test_everything_on_the_list_was_audited_and_nothing_else() -> None:
    assert {one["target"] for one in FOUND.values()} == {one.target for one in AUDITED}


def test_printed_algorithms_are_broken_and_the_verdict_is_the_one_of_the_numbers() -> None:
    printed = {one.target for one in AUDITED if not one.library}
    assert all(one["broken"] for one in FOUND.values() if one["target"] in printed)
    assert all(one["found"] > one["claimed"] for one in FOUND.values() if one["broken"])


def test_opendp_promises_what_its_map_says() -> None:
    assert under_zcdp().guarantee() == cl.ZCDP(Fraction(1, 8))
    assert under_zcdp_two_items().guarantee() == cl.ZCDP(Fraction(1, 4))
    assert under_pure_dp().guarantee() == cl.PureDP(1)
    assert as_issue_2911_says().guarantee() == cl.ZCDP(Fraction(1, 8))


def test_opendp_names_items_of_the_list() -> None:
    histogram = cl.Histogram.over_domain({"a": 100, "b": 99, "c": 0})
    (said,) = under_zcdp_two_items().release_many(histogram, 1, replay("x"))
    assert sorted(said.items) == ["a", "b"]
    assert set(under_zcdp().release(histogram, replay("x")).items) < {"a", "b"}


@pytest.mark.parametrize("one", [one for one in AUDITED if not one.library], ids=lambda one: one.target)
def test_a_printed_algorithm_can_be_loaded(one: object) -> None:
    assert load(one.target, ROOT).guarantee() is not None  # type: ignore[attr-defined]


def test_the_attack_sees_permute_and_flip_that_is_charged_as_bounded_range() -> None:
    """The same law in crestline's own sampler, which is fast: at ε = 1 it needs twice what is charged."""

    class Charged:
        domain, k = "known", 1
        inner = cl.mechanisms.Lipschitz(1, 1, "exponential")

        def guarantee(self) -> cl.ZCDP:
            return cl.ZCDP("0.125")

        def law(self, histogram: cl.Histogram) -> object:
            return self.inner.law(histogram)

        def release(self, histogram: cl.Histogram, entropy: cl.entropy.Entropy) -> cl.Selection:
            return self.inner.release(histogram, entropy)

    report = audit(Charged(), seconds=20, releases=20_000)
    assert report.is_broken
    assert report.worst is not None
    assert 0.2 < report.worst.strength < 0.3


def test_only_the_page_is_written_when_nothing_is_to_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    before = KEPT.read_text(encoding="utf-8")
    assert main(["--page"]) == 0
    assert KEPT.read_text(encoding="utf-8") == before
    assert capsys.readouterr().out == ""
