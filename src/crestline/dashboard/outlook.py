"""What a question would cost and get, before it is asked: from the call, the books and guesses. No row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature

from crestline.choose import (
    AUTO,
    FEW_ITEMS,
    KNOWN_CONTRIBUTION,
    MANY_ITEMS,
    WITH_BOOKS,
    Chosen,
    automatic,
)
from crestline.errors import CrestlineError
from crestline.mechanisms.catalogue import CATALOGUE, Entry
from crestline.plan.candidates import KNOWN
from crestline.plan.forecast import CHANCE, Estimate, expected
from crestline.plan.shapes import kept, ranked, read_shape
from crestline.price.price import Price, price
from crestline.randomness.entropy import Entropy
from crestline.service.asking import Caller, Wanted, prepared
from crestline.service.config import PublicFacts
from crestline.service.house import House

# Those that `auto` takes for an unknown domain. The others are slower to account for than a page may take.
USUAL = tuple(rule.name for rule in (WITH_BOOKS, KNOWN_CONTRIBUTION, MANY_ITEMS, FEW_ITEMS))
PER_USER = 10
_MOST_ITEMS = 100_000  # the head decides
_TRIALS = 60

Prepare = Callable[[Wanted], Chosen]


@dataclass(frozen=True)
class Line:
    """One mechanism at the same (ε, δ). `returned` and `ratio` are None where nothing was guessed about the data."""

    name: str
    k_bar: int
    margin: float | None
    returned: Estimate | None
    ratio: Estimate | None


@dataclass(frozen=True)
class Outlook:
    """The price of a question, the mechanism that would answer it, and the lines of all: the first is that one.

    `complete` says that the price counts every account that pays: an analyst is not shown the data set's own.
    """

    wanted: Wanted
    chosen: Chosen
    price: Price
    lines: tuple[Line, ...]
    guess: PublicFacts | None
    complete: bool


def offered() -> tuple[str, ...]:
    """The mechanisms a question may name."""
    return tuple(line.name for line in CATALOGUE if why_not(line) is None)


@cache
def why_not(line: Entry) -> str | None:
    """Why a mechanism cannot be named here, or None where it can."""
    if line.domain == KNOWN:
        return "needs a public list of all items"
    maker = getattr(line.load(), "for_budget", None)
    if maker is None:
        return "answers other queries than top-k"
    return None if "k" in signature(maker).parameters else "needs a part of your own"


def outlook(
    house: House, caller: Caller, name: str, wanted: Wanted, guess: PublicFacts | None, entropy: Entropy
) -> Outlook:
    """The forecast of a question that may be asked; refused in the words of the question itself where it may not."""
    served = caller.dataset(house, name)

    def prepare(question: Wanted) -> Chosen:
        return prepared(served, caller, question, house.config.limits)[1]

    chosen = prepare(wanted)
    payers, shown = served.ledger.payers(caller.payer), caller.accounts(house)
    accounts = [account for account in payers if account in shown]
    cost = price(chosen, [(account.title, account.balance) for account in accounts])
    lines = tuple(_lines(prepare, wanted, served.config.contribution, guess, entropy))
    return Outlook(wanted, chosen, cost, lines, guess, len(accounts) == len(payers))


def _lines(
    prepare: Prepare, wanted: Wanted, contribution: int | None, guess: PublicFacts | None, entropy: Entropy
) -> Iterator[Line]:
    taken = wanted.mechanism
    if taken == AUTO:
        taken = automatic(wanted.k, contribution, books=True, known_domain=False).name
    yield _line(taken, prepare(wanted), wanted.k, contribution, guess, entropy)
    if guess is None:
        return
    for name in USUAL:
        if name != taken:
            try:
                chosen = prepare(replace(wanted, mechanism=name))
            except CrestlineError:  # it cannot answer this: what can is listed
                continue
            yield _line(name, chosen, wanted.k, contribution, guess, entropy)


def _line(
    name: str, chosen: Chosen, k: int, contribution: int | None, guess: PublicFacts | None, entropy: Entropy
) -> Line:
    calculator = getattr(chosen.mechanism, "margin", None)
    margin = None if calculator is None else float(calculator(CHANCE))
    if guess is None:
        return Line(name, chosen.k_bar, margin, None, None)
    size = min(guess.items or guess.users, _MOST_ITEMS)
    shape = read_shape(guess.shape, users=guess.users, items=size, per_user=guess.per_user or PER_USER)
    counts = kept(shape.counts(), users=guess.users, contribution=contribution)
    found = expected(chosen.mechanism, ranked(counts, chosen.k_bar), k, _TRIALS, entropy)
    return Line(name, chosen.k_bar, margin, *found)
