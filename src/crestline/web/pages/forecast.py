"""What a question would cost and get, before it is asked: from the call, the ledger and guesses. No row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from crestline.config import PublicFacts
from crestline.errors import CrestlineError
from crestline.histogram.view_kinds import SLOTS
from crestline.mechanisms.catalogue import CATALOGUE, CatalogueEntry
from crestline.mechanisms.mechanism import KNOWN
from crestline.plan.count_models import bound_counts, ranked_histogram, read_shape
from crestline.plan.forecast import CHANCE, Estimate, ForecastInput, expected_result
from crestline.plan.synthetic_users import SyntheticUsers
from crestline.prepare import Prepared
from crestline.prepare.auto_rules import BOUNDED, FEW_ITEMS, KNOWN_CONTRIBUTION, MANY_ITEMS, PER_ITEM, WITH_LEDGER
from crestline.price.price import Price
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.web.permissions import Caller, prepare_checked, visible_price
from crestline.web.service_state import ServiceState

# Those that `auto` takes for an unknown domain. The others are slower to account for than a page may take.
USUAL = tuple(rule.name for rule in (WITH_LEDGER, BOUNDED, KNOWN_CONTRIBUTION, MANY_ITEMS, FEW_ITEMS, PER_ITEM))
PER_USER = 10
_MOST_ITEMS = 100_000  # the head decides
_TRIALS = 60

Prepare = Callable[[Question], Prepared]


@dataclass(frozen=True)
class ForecastLine:
    """One mechanism at the same (ε, δ). `returned` and `ratio` are None where nothing was guessed about the data."""

    name: str
    k_bar: int
    margin: float | None
    returned: Estimate | None
    ratio: Estimate | None


@dataclass(frozen=True)
class ForecastTable:
    """The price of a question, the mechanism that would answer it, and the lines of all: the first is that one.

    `complete` says that the price counts every account that pays: an analyst is not shown the data set's own.
    """

    question: Question
    prepared: Prepared
    price: Price
    lines: tuple[ForecastLine, ...]
    guess: PublicFacts | None
    complete: bool


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


def forecast(
    state: ServiceState, caller: Caller, name: str, question: Question, guess: PublicFacts | None, entropy: Entropy
) -> ForecastTable:
    """The forecast of a question that may be asked; refused in the words of the question itself where it may not."""
    served = caller.dataset(state, name)

    def prepare(asked: Question) -> Prepared:
        return prepare_checked(served, caller, asked, state.config.limits)

    ready = prepare(question)
    cost, complete = visible_price(state, caller, served, ready)
    lines = tuple(_lines(prepare, question, ready, guess, entropy))
    return ForecastTable(question, ready, cost, lines, guess, complete)


def _lines(
    prepare: Prepare, question: Question, taken: Prepared, guess: PublicFacts | None, entropy: Entropy
) -> Iterator[ForecastLine]:
    yield _line(taken, guess, entropy)
    if guess is None or question.domain is not None:
        return
    for name in USUAL:
        if name != _selecting_mechanism(taken):
            try:
                other = prepare(replace(question, mechanism=name))
            except CrestlineError:  # it cannot answer this: what can is listed
                continue
            yield _line(other, guess, entropy)


def _selecting_mechanism(prepared: Prepared) -> str:
    """The name of the mechanism that selects; noisy counts are a second release after another's selection."""
    return type(prepared.mechanism.selecting_mechanism).__name__


def _line(prepared: Prepared, guess: PublicFacts | None, entropy: Entropy) -> ForecastLine:
    name, question = _selecting_mechanism(prepared), prepared.question
    calculator = prepared.mechanism.margin
    margin = None if calculator is None else float(calculator(CHANCE))
    if guess is None or question.domain is not None:
        return ForecastLine(name, question.slots, margin, None, None)
    size = min(guess.items or guess.users, _MOST_ITEMS)
    shape = read_shape(guess.shape, users=guess.users, items=size, per_user=guess.per_user or PER_USER)
    counts = bound_counts(shape.counts(), users=guess.users, contribution=question.contribution)
    view, crowd = prepared.view, SyntheticUsers(counts, guess.users)
    if view == SLOTS:
        slots = ranked_histogram(counts, question.slots)
        shown = ForecastInput(slots, slots)
    elif (seen := crowd.view_data(view)) is None:  # too many to be made up for a page
        return ForecastLine(name, question.slots, margin, None, None)
    else:
        shown = ForecastInput(seen, crowd.true_histogram)
    found = expected_result(prepared.mechanism, shown, question.k, _TRIALS, entropy)
    return ForecastLine(name, question.slots, margin, *found)
