"""What a question would cost and get, before it is asked: from the call, the ledger and guesses. No row is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from crestline.config import DEFAULT_SHAPE, PublicFacts
from crestline.histogram.view_kinds import SLOTS
from crestline.ledger.budget_fractions import fraction_of, how_often_fits, usual_share
from crestline.ledger.report import fraction_used
from crestline.ledger.storage.rows import Account
from crestline.mechanisms.catalogue import CATALOGUE, CatalogueEntry
from crestline.mechanisms.mechanism import KNOWN
from crestline.plan.count_models import bound_counts, ranked_histogram, read_shape
from crestline.plan.forecast import CHANCE, Estimate, ForecastInput, expected_result
from crestline.plan.synthetic_users import SyntheticUsers
from crestline.prepare import Prepared
from crestline.price.price import Charge, Price
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.web.pages.balances import Remaining, remaining_of
from crestline.web.permissions import Caller, prepare_checked, visible_price
from crestline.web.service_state import ServiceState

PER_USER = 10
_MOST_ITEMS = 100_000  # the head decides
TRIALS = 60
SHAPES = {
    "power:0.5": "fairly even (1, 0.7, 0.6, …)",
    DEFAULT_SHAPE: "usual (1, 0.5, 0.33, …)",
    "power:1.5": "steep (1, 0.35, 0.19, …)",
}


@dataclass(frozen=True)
class Forecast:
    """The price of a question, and what it would name.

    Attributes:
        question: The question as it was asked.
        prepared: The question as it would be put to the data set, with its mechanism.
        price: What the accounts that the asker sees would pay.
        margin: Users by which an item must be ahead, or that it must have; None if it is not known before.
        returned: Number of items it would name; None where nothing was guessed about the data.
        guess: What is known in public, or guessed, about the data.
        is_complete: Whether the price counts every account: an analyst is not shown the data set's own.
        account: The account of the asker that has the least left of those that pay.
    """

    question: Question
    prepared: Prepared
    price: Price
    margin: float | None
    returned: Estimate | None
    guess: PublicFacts | None
    is_complete: bool
    account: Account

    @property
    def remaining(self) -> Remaining:
        """What is left of the account that pays, before the question."""
        return remaining_of(self.account, self.account.period)

    @property
    def _largest_charge(self) -> Charge:
        return max(self.price.charges, key=lambda charge: fraction_of(charge.most, charge.budget.limit))

    @property
    def share(self) -> str:
        """The part of the account's budget that the question would take at most."""
        return self._largest_charge.share

    @property
    def blocks_taken(self) -> int:
        """How many of the blocks that are left the question would take."""
        balance, most = self.account.balance, self._largest_charge.most
        if not most.fits_in(balance.remaining):
            return 0
        after = how_often_fits(usual_share(balance.budget), balance.remaining - most)
        return max(0, self.remaining.blocks - min(10, 10 if after is None else after))

    @property
    def names_text(self) -> str:
        """How many items to expect, in words."""
        if self.returned is None:
            return ""
        if self.returned.value < 1:
            return "Nothing at this price: raise ε, ask for fewer items, or filter less."
        return f"About {f'{self.returned.value:.1f}'.removesuffix('.0')} of {self.question.k} items."

    @property
    def mechanism_name(self) -> str:
        """The mechanism that would select, and the one that adds counts where that is another."""
        name, choice = type(self.prepared.mechanism.selecting_mechanism).__name__, self.prepared.choice.name
        return name if name == choice else f"{name} with {choice}"


def offered_mechanisms() -> tuple[str, ...]:
    """The mechanisms a question may name."""
    return tuple(line.name for line in CATALOGUE if reason_not_offered(line) is None)


@cache
def reason_not_offered(line: CatalogueEntry) -> str | None:
    """Why a mechanism cannot be named here, or None where it can."""
    if line.domain == KNOWN:
        return "needs a public list of all items"
    if not line.selects_items:
        return "answers other queries than top-k"
    return "needs a part of your own" if line.load().needs_a_part else None


def forecast(state: ServiceState, caller: Caller, name: str, question: Question, guess: PublicFacts | None) -> Forecast:
    """The forecast of a question that may be asked; refused in the words of the question itself where it may not."""
    served = caller.dataset(state, name)
    ready = prepare_checked(served, caller, question, state.config.limits)
    cost, complete = visible_price(state, caller, served, ready)
    seen = {one.analyst for one in caller.accounts(state)}
    parts = served.ledger.charged_accounts(caller.payer, ready.period_charge)
    paying = (part.account for part in parts if part.account.analyst in seen and part.account.span == 1)
    calculator = ready.mechanism.margin
    margin = None if calculator is None else float(calculator(CHANCE))
    returned = None if guess is None or question.domain is not None else _expected_items(ready, guess)
    return Forecast(question, ready, cost, margin, returned, guess, complete, max(paying, key=fraction_used))


def _expected_items(prepared: Prepared, guess: PublicFacts) -> Estimate | None:
    """How many items it would name in made-up data of this kind; None where too much had to be made up for a page."""
    question = prepared.question
    size = min(guess.items or guess.users, _MOST_ITEMS)
    shape = read_shape(guess.shape, users=guess.users, items=size, per_user=guess.per_user or PER_USER)
    counts = bound_counts(shape.counts(), users=guess.users, contribution=question.contribution)
    if prepared.view == SLOTS:
        slots = ranked_histogram(counts, question.slots)
        shown = ForecastInput(slots, slots)
    else:
        crowd = SyntheticUsers(counts, guess.users)
        seen = crowd.view_data(prepared.view)
        if seen is None:
            return None
        shown = ForecastInput(seen, crowd.true_histogram)
    return expected_result(prepared.mechanism, shown, question.k, TRIALS, system())[0]
