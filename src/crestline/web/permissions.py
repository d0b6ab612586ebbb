"""One question over HTTP: who may ask it, what is asked, and the answer as JSON. Everything else happens in `ask`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer, Bill
from crestline.answer.explain import explain
from crestline.answer_key import Identity, find_stored
from crestline.ask import ask, create_charging
from crestline.config import OWNER, AnalystConfig, Limits
from crestline.errors import ParameterError
from crestline.exact_numbers import decimal_text
from crestline.histogram.label_order import label_order
from crestline.ledger.entries import Entry
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.receipt import RequestKey
from crestline.ledger.storage.rows import Account
from crestline.payment import current_bill
from crestline.prepare import Prepared, prepare
from crestline.price.price import Price, paying_account, price
from crestline.question import Question
from crestline.randomness.entropy import Entropy, system
from crestline.sources.engine.cache_owner import use_cache_of
from crestline.sources.expression import where
from crestline.sources.expression.column_functions import base_column
from crestline.web.problems import forbidden_problem
from crestline.web.service_state import ServedDataset, ServiceState

# No question needs more or less, and numbers far outside take long to account for.
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

    def visible_datasets(self, state: ServiceState) -> list[ServedDataset]:
        """The data sets of an analyst are those they have a budget for; an owner's are all."""
        return [part for name, part in state.datasets.items() if self.is_owner or name in self.person.budgets]

    def accounts(self, state: ServiceState) -> list[Account]:
        """The accounts of everybody for an owner, one's own for an analyst."""
        found = [account for part in self.visible_datasets(state) for account in part.ledger.accounts]
        return [account for account in found if self.is_owner or account.analyst == self.payer]

    def dataset(self, state: ServiceState, name: str) -> ServedDataset:
        """One data set, or the one refusal."""
        for part in self.visible_datasets(state):
            if part.config.name == name:
                return part
        raise forbidden_problem()


def ask_as_json(
    dataset: ServedDataset,
    caller: Caller,
    question: Question,
    limits: Limits,
    request: RequestKey | None = None,
    before_charge: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Ask, and give the answer as JSON with its number.

    Args:
        dataset: Data set that is asked.
        caller: Analyst or owner who asks.
        question: Question as it was sent.
        limits: What one request may ask for.
        request: Key under which it is asked once.
        before_charge: Called before anything is charged; it may refuse the question.
    """
    who = caller.person.name
    prepared = dataset.prepared_cache.find(who, question) or prepare_permitted(dataset, caller, question, limits)
    charge = create_charging(dataset.ledger, analyst=caller.payer, request=request)
    answer = ask(
        prepared, source=dataset.source, entropy=system(), charge=charge, asker=who, before_charge=before_charge
    )
    dataset.prepared_cache.keep(who, question, prepared)
    return answer_json(_with_title(answer, dataset), answer.number)


def stored_answer_json(state: ServiceState, caller: Caller, number: int) -> dict[str, Any]:
    """An answer that was paid for, as JSON."""
    answer, time = find_answer(state, caller, number)
    return {**answer_json(answer, number), "stored": True, "time": time}


def find_answer(state: ServiceState, caller: Caller, number: int) -> tuple[Answer, str]:
    """An answer with its bill, and when it was given: for whom it was given to, and for an owner.

    Analysts number their own questions; an owner uses the numbers of the ledger.
    """
    for part in caller.visible_datasets(state):
        found = part.ledger.answer(number, analyst=caller.payer)
        if found is not None:
            bill = replace(_bill_of_answer(state, part, caller, found.number), receipt=number)
            return _with_title(replace(Answer.from_dict(found.answer), bill=bill), part), found.time
    raise forbidden_problem()


def _with_title(answer: Answer, dataset: ServedDataset) -> Answer:
    """The answer with its question in the words of the owner, as they are now."""
    return answer.replace_fields(title=answer.question.words(dataset.config.words))


def _bill_of_answer(state: ServiceState, dataset: ServedDataset, caller: Caller, number: int) -> Bill:
    """What was reserved and paid then, and what is left now."""
    reserved, settled = state.store.entry(number), state.store.settlement(number)
    assert reserved is not None, "a settlement has its reservation"
    assert settled is not None, "an answer is stored by its settlement"
    held, paid = (entry.charge_of(caller.payer) for entry in (reserved, settled))
    return current_bill(dataset.ledger, caller.payer, number, held, paid, _period_charge_of(reserved, dataset))


def _period_charge_of(reserved: Entry, dataset: ServedDataset) -> PeriodCharge | None:
    """The periods that an answer was about, where the budget is by period."""
    written = reserved.content.get("periods")
    return None if written is None else PeriodCharge.from_json(written, dataset.ledger.budget)


def answer_json(answer: Answer, number: int | None) -> dict[str, Any]:
    """An answer as JSON, with its number and its explanation; where the ledger is, is not the analyst's business."""
    body = answer.to_dict()
    if body["bill"] is not None:
        body["bill"] = {name: value for name, value in body["bill"].items() if name != "ledger"}
    return {"id": number, **body, "title": answer.heading, "explanation": explain_without_address(answer)}


def explain_without_address(answer: Answer, width: int = 100) -> str:
    """The explanation, without the address of the ledger."""
    return explain(_without_address(answer), width)


def _without_address(answer: Answer) -> Answer:
    if answer.bill is None:
        return answer
    return replace(answer, bill=replace(answer.bill, ledger=""))


def prepare_permitted(dataset: ServedDataset, caller: Caller, question: Question, limits: Limits) -> Prepared:
    """The question as it is put to the data set, once it is sure that it may be asked, and its mechanism.

    Whether the source can answer it is checked by `ask`.

    The user column is the data set's, and its bound on the items of one user may only be made smaller. What is
    remembered of mechanisms is kept apart for each caller: no caller learns from a time what others have asked.
    """
    _check_permitted(dataset, question)
    _check_limit("k", question.k, limits.k)
    if question.k_bar is not None:
        _check_limit("k_bar", question.k_bar, limits.k_bar)
    _check_range("epsilon", question.epsilon, EPSILONS)
    _check_range("delta", question.delta, DELTAS)
    asked = replace(
        question,
        user=dataset.config.user,
        contribution=_contribution_bound(dataset, question),
        passes=limits.passes or question.passes,
        domain=None if question.domain is None else dataset.config.domains[str(question.domain)],
        groups=_groups(dataset, question.groups),
    )
    budget = dataset.ledger.payers(caller.payer)[-1].balance.budget
    public = dataset.config.public
    within = replace(dataset.source.limits, slots=limits.k_bar, users=None if public is None else public.users)
    now = dataset.ledger.now()
    ready = prepare(asked, budget=budget, limits=within, asker=caller.person.name, now=now)
    if asked.domain is None:
        _check_limit("k_bar", ready.question.slots, limits.k_bar)
    return ready


def prepare_checked(dataset: ServedDataset, caller: Caller, question: Question, limits: Limits) -> Prepared:
    """The same for a question that is not asked, once it is sure that the source can answer it."""
    prepared = prepare_permitted(dataset, caller, question, limits)
    dataset.source.check(prepared.question, prepared.view)
    return prepared


def visible_price(
    state: ServiceState, caller: Caller, dataset: ServedDataset, ready: Prepared, *, stored: bool = False
) -> tuple[Price, bool]:
    """The price for the accounts that a caller may see, and whether these are all that pay."""
    seen = {one.analyst for one in caller.accounts(state)}
    parts = dataset.ledger.charged_accounts(caller.payer, ready.period_charge)
    accounts = [part for part in parts if part.account.analyst in seen]
    payers = [paying_account(part, part.account.title) for part in accounts]
    return price(ready, payers, stored=stored), len(accounts) == len(parts)


def price_question(
    state: ServiceState, caller: Caller, dataset: ServedDataset, question: Question, entropy: Entropy
) -> Price:
    """The price of a question for its caller, nothing where its answer is stored; nothing is charged."""
    with use_cache_of(caller.person.name):
        ready = prepare_checked(dataset, caller, question, state.config.limits)
        known = Identity(ready, dataset.source, entropy)
        stored = find_stored(dataset.ledger, known, caller.payer, record=False) is not None
        return visible_price(state, caller, dataset, ready, stored=stored)[0]


def _groups(dataset: ServedDataset, listed: object) -> object:
    """A public list of groups, by its place; one that was written out in order, as it does not matter in which."""
    if isinstance(listed, str):
        return dataset.config.domains[listed]
    return sorted(listed, key=label_order) if isinstance(listed, list | tuple) else listed


def _contribution_bound(dataset: ServedDataset, question: Question) -> int | None:
    most, asked = dataset.config.contribution, question.contribution
    if most is not None and asked is not None and asked > most:
        raise ParameterError(f"contribution is {asked}, and this data set counts at most {most} items of each user")
    return most if asked is None else asked


def _check_permitted(dataset: ServedDataset, question: Question) -> None:
    """Only what the owner listed: another column or list is refused like a data set that is not there."""
    config = dataset.config
    if not all(item in config.items or base_column(item) in config.items for item in question.item):
        raise forbidden_problem()
    if question.where is not None and not filter_columns(where.parse_filter(question.where)) <= set(config.filters):
        raise forbidden_problem()
    if question.score is not None and question.score.column not in config.sums:
        raise forbidden_problem()
    if question.domain is not None and question.domain not in config.domains:
        raise forbidden_problem()
    if not all(group in config.groups or base_column(group) in config.groups for group in question.by):
        raise forbidden_problem()
    if isinstance(question.groups, str) and question.groups not in config.domains:
        raise forbidden_problem()


def filter_columns(tree: where.Condition) -> set[str]:
    """Every column a filter names."""
    match tree:
        case where.Not(part):
            return filter_columns(part)
        case where.And(parts) | where.Or(parts):
            return {name for part in parts for name in filter_columns(part)}
        case _:
            return {base_column(tree.column)}


def _check_limit(name: str, value: int, most: int) -> None:
    if value > most:
        raise ParameterError(f"{name} is {value}, and this service answers up to {most}: ask for less")


def _check_range(name: str, value: Fraction | None, ends: tuple[Fraction, Fraction]) -> None:
    low, high = ends
    if value is not None and not low <= value <= high:
        raise ParameterError(f"{name} must lie between {decimal_text(low)} and {decimal_text(high)} here")
