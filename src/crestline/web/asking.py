"""One question over HTTP: who may ask it, what is asked, and the answer as JSON. Everything else happens in `ask`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer, Bill
from crestline.answer.explain import explain
from crestline.ask import ask
from crestline.charging import bill, served_again
from crestline.errors import LedgerError, ParameterError, QuestionError
from crestline.histogram.labels import label_order
from crestline.identity import Identity, find_stored
from crestline.ledger.entries import Entry
from crestline.ledger.periods import Reach
from crestline.ledger.report import used
from crestline.ledger.storage.records import Account
from crestline.parameters import decimal_text
from crestline.prepare import Prepared, prepare
from crestline.question import Limits as QuestionLimits
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources.engine.asker import asked_by
from crestline.sources.expression import where
from crestline.sources.expression.coarse import base_column
from crestline.web.config import OWNER, AnalystConfig, Limits
from crestline.web.problems import forbidden
from crestline.web.state import Served, ServiceState

# Nobody needs more or less, and numbers far outside take long to account for.
EPSILONS = (Fraction(1, 10**6), Fraction(100))
DELTAS = (Fraction(1, 10**40), Fraction(1, 10))


@dataclass(frozen=True)
class Caller:
    """Who asks.

    person   the analyst, as the configuration describes them
    token    the number of their token, which is no secret
    """

    person: AnalystConfig
    token: str

    @property
    def is_owner(self) -> bool:
        """Whether they own the data, and so see every budget."""
        return self.person.role == OWNER

    @property
    def payer(self) -> str | None:
        """The name in the ledger; an owner asks at the expense of the data set itself."""
        return None if self.is_owner else self.person.name

    def sees(self, state: ServiceState) -> list[Served]:
        """The data sets of an analyst are those they have a budget for; an owner's are all."""
        return [part for name, part in state.datasets.items() if self.is_owner or name in self.person.budgets]

    def accounts(self, state: ServiceState) -> list[Account]:
        """The accounts of everybody for an owner, one's own for an analyst."""
        found = [account for part in self.sees(state) for account in part.ledger.accounts]
        return [account for account in found if self.is_owner or account.analyst == self.payer]

    def dataset(self, state: ServiceState, name: str) -> Served:
        """One data set, or the one refusal."""
        for part in self.sees(state):
            if part.config.name == name:
                return part
        raise forbidden()


def answered(served: Served, caller: Caller, question: Question, limits: Limits, entropy: Entropy) -> dict[str, Any]:
    """Ask, and give the answer as JSON with its number. `entropy` must be this request's own."""
    with asked_by(caller.person.name):
        return _answered(served, caller, question, limits, entropy)


def _answered(served: Served, caller: Caller, question: Question, limits: Limits, entropy: Entropy) -> dict[str, Any]:
    who, ledger = caller.person.name, served.ledger
    before = served.remembered.find(who, question)
    ready = before or prepared(served, caller, question, limits)
    known = Identity(ready, served.source, entropy)
    found = None if before is None else find_stored(ledger, known, caller.payer, record=True)
    if found is not None:
        return answer_json(served_again(found), found.told)
    answer = ask(ready, source=served.source, entropy=entropy, ledger=ledger, analyst=caller.payer)
    served.remembered.keep(who, question, ready)
    if answer.bill is not None:
        return answer_json(answer, answer.bill.receipt)
    found = find_stored(ledger, known, caller.payer, record=False)
    return answer_json(answer, None if found is None else found.told)


def stored(state: ServiceState, caller: Caller, number: int) -> dict[str, Any]:
    """An answer that was paid for, as JSON."""
    answer, time = recalled(state, caller, number)
    return {**answer_json(answer, number), "stored": True, "time": time}


def recalled(state: ServiceState, caller: Caller, number: int) -> tuple[Answer, str]:
    """An answer with its bill, and when it was given: for whom it was given to, and for an owner.

    Analysts number their own questions; an owner uses the numbers of the ledger.
    """
    for part in caller.sees(state):
        found = part.ledger.answer(number, analyst=caller.payer)
        if found is not None:
            bill = replace(_bill(state, part, caller, found.number), receipt=number)
            return replace(Answer.from_dict(found.answer), bill=bill), found.time
    raise forbidden()


def _bill(state: ServiceState, served: Served, caller: Caller, number: int) -> Bill:
    """What was reserved and paid then, and what is left now."""
    reserved, settled = state.store.entry(number), state.store.settlement(number)
    assert reserved is not None, "a settlement has its reservation"
    assert settled is not None, "an answer is stored by its settlement"
    held, paid = (entry.charge_of(caller.payer) for entry in (reserved, settled))
    return bill(served.ledger, caller.payer, number, held, paid, _reach(reserved, served))


def _reach(reserved: Entry, served: Served) -> Reach | None:
    """The periods that an answer was about, where the budget is by period."""
    written = reserved.content.get("periods")
    return None if written is None else Reach.of_json(written, served.ledger.budget)


def shares_left(state: ServiceState) -> dict[str, float]:
    """How much of its own budget each data set has left; nothing of budgets by period, or while the ledger is away."""
    try:
        accounts = [part.ledger.account() for part in state.datasets.values()]
    except LedgerError:
        return {}
    return {one.dataset: 1 - used(one) for one in accounts if one.balance.budget.calendar is None}


def answer_json(answer: Answer, number: int | None) -> dict[str, Any]:
    """An answer as JSON, with its number and its explanation; where the ledger is, is not the analyst's business."""
    body = answer.to_dict()
    if body["bill"] is not None:
        body["bill"] = {name: value for name, value in body["bill"].items() if name != "ledger"}
    return {"id": number, **body, "explanation": explained(answer)}


def explained(answer: Answer, width: int = 100) -> str:
    """The explanation, without the address of the ledger."""
    return explain(_without_address(answer), width)


def _without_address(answer: Answer) -> Answer:
    if answer.bill is None:
        return answer
    return replace(answer, bill=replace(answer.bill, ledger=""))


def prepared(served: Served, caller: Caller, question: Question, limits: Limits) -> Prepared:
    """The question as it is put to the data set, once it is sure that it may be asked, and its mechanism.

    The user column is the data set's, and its bound on the items of one user may only be made smaller. What is
    remembered of mechanisms is kept apart for each caller: nobody learns from a time what others have asked.
    """
    _permitted(served, question)
    _limited("k", question.k, limits.k)
    if question.k_bar is not None:
        _limited("k_bar", question.k_bar, limits.k_bar)
    _within("epsilon", question.epsilon, EPSILONS)
    _within("delta", question.delta, DELTAS)
    asked = replace(
        question,
        user=served.config.user,
        contribution=_bound(served, question),
        passes=limits.passes or question.passes,
        domain=None if question.domain is None else served.config.domains[str(question.domain)],
        groups=_groups(served, question.groups),
    )
    budget = served.ledger.payers(caller.payer)[-1].balance.budget
    public = served.config.public
    slots = QuestionLimits(slots=limits.k_bar, users=None if public is None else public.users)
    now = served.ledger.now()
    ready = prepare(asked, budget=budget, limits=slots, asker=caller.person.name, now=now)
    if asked.domain is None:
        _limited("k_bar", ready.question.slots, limits.k_bar)
    _answerable(served, ready, caller.person.name)
    return ready


def _groups(served: Served, listed: object) -> object:
    """A public list of groups, by its place; one that was written out in order, as it does not matter in which."""
    if isinstance(listed, str):
        return served.config.domains[listed]
    return sorted(listed, key=label_order) if isinstance(listed, list | tuple) else listed


def _bound(served: Served, question: Question) -> int | None:
    most, asked = served.config.contribution, question.contribution
    if most is not None and asked is not None and asked > most:
        raise ParameterError(f"contribution is {asked}, and this data set counts at most {most} items of each user")
    return most if asked is None else asked


def _permitted(served: Served, question: Question) -> None:
    """Only what the owner listed: another column or list is refused like a data set that is not there."""
    config = served.config
    if not all(item in config.items or base_column(item) in config.items for item in question.item):
        raise forbidden()
    if question.where is not None and not filter_columns(where.parse(question.where)) <= set(config.filters):
        raise forbidden()
    if question.score is not None and question.score.column not in config.sums:
        raise forbidden()
    if question.domain is not None and question.domain not in config.domains:
        raise forbidden()
    if not all(group in config.groups or base_column(group) in config.groups for group in question.by):
        raise forbidden()
    if isinstance(question.groups, str) and question.groups not in config.domains:
        raise forbidden()


def filter_columns(tree: where.Condition) -> set[str]:
    """Every column a filter names."""
    match tree:
        case where.Not(part):
            return filter_columns(part)
        case where.All(parts) | where.Any_(parts):
            return {name for part in parts for name in filter_columns(part)}
        case _:
            return {base_column(tree.column)}


def _answerable(served: Served, ready: Prepared, asker: str) -> None:
    """Refuse what the source refuses, in words that name no column which the caller did not."""
    try:
        with asked_by(asker):
            served.source.check(ready.question, ready.view)
        return
    except QuestionError:
        pass
    raise QuestionError(
        "the question cannot be asked of this data set: compare a column with values of its own type (text and dates "
        "in single quotes, such as '2026-01-31'; numbers and true/false without), and name each item column once"
    )


def _limited(name: str, value: int, most: int) -> None:
    if value > most:
        raise ParameterError(f"{name} is {value}, and this service answers up to {most}: ask for less")


def _within(name: str, value: Fraction | None, ends: tuple[Fraction, Fraction]) -> None:
    low, high = ends
    if value is not None and not low <= value <= high:
        raise ParameterError(f"{name} must lie between {decimal_text(low)} and {decimal_text(high)} here")
