"""Who asked what, what came of it and what it cost: the entries of a ledger as one line for each question (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from crestline.config import DatasetConfig
from crestline.errors import CrestlineError
from crestline.exact_numbers import percent
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import fraction_of
from crestline.ledger.entries import ENDINGS, Entry
from crestline.question import Question
from crestline.question_fields import FIELDS, ValueKind
from crestline.web.pages.balances import title_of


@dataclass(frozen=True)
class HistoryLine:
    """One line: a question, or a budget that was opened.

    Attributes:
        answer: Number of its answer for the reader; None without one.
        number_of_analyst: The number that the analyst knows the answer by, where that is another.
        kind: Style of the outcome: free, held, stop, or none.
        cost: Part of the payer's budget that it took, in words; `units` is the same in the budget's units.
        again: Address of the form with the same question; None where that is not known.
    """

    sequence: int
    time: str
    dataset: str
    analyst: str | None
    words: str
    outcome: str
    kind: str = ""
    cost: str = ""
    units: str = ""
    answer: int | None = None
    number_of_analyst: int | None = None
    again: str | None = None

    @property
    def day(self) -> str:
        """The day on which it was asked."""
        return self.time[:10]

    @property
    def number(self) -> int | None:
        """The number that is shown: that of an answer of its own."""
        return None if self.kind == "free" else self.answer


@dataclass(frozen=True)
class HistoryWriter:
    """What is needed to write lines for one reader.

    Attributes:
        payer: Whose numbers and budgets are shown; None for the data set's.
        limits: The payer's own budget of each data set, as its end.
        datasets: What the owner says about each data set.
        served: Reservations that were answered again, by number; needed for an analyst.
    """

    payer: str | None
    limits: Mapping[str, Amount]
    datasets: Mapping[str, DatasetConfig] = field(default_factory=dict)
    served: Mapping[int | None, Entry] = field(default_factory=dict)

    def lines(self, entries: Sequence[Entry]) -> list[HistoryLine]:
        """The lines, the newest first."""
        settled = {entry.receipt: entry for entry in entries if entry.kind in ENDINGS}
        begun = {entry.receipt for entry in entries if entry.kind == "begun"}
        own = (
            entry for entry in entries if entry.kind not in ("begun", *ENDINGS)
        )  # those stand with their reservation
        found = [self._line(entry, settled.get(entry.sequence), entry.sequence in begun) for entry in own]
        return sorted(found, key=lambda line: line.sequence, reverse=True)

    def question_text(self, dataset: str, question: Mapping[str, Any]) -> str:
        """A question of a ledger as one sentence, in the owner's words."""
        try:
            config = self.datasets.get(dataset)
            return Question.from_json(question).words(None if config is None else config.words)
        except (CrestlineError, KeyError, TypeError, ValueError, AttributeError):
            return "A question in other words"  # asked by a program with words of its own

    def _line(self, entry: Entry, settled: Entry | None, begun: bool) -> HistoryLine:
        content, config = entry.content, self.datasets.get(entry.dataset)
        question = content.get("question") or {}
        made: dict[str, Any] = {
            "words": self.question_text(entry.dataset, question),
            "again": _address(entry.dataset, question),
        }
        if entry.kind == "opened":
            made = {"words": f"Budget of {Budget.from_json(content['budget'])}", "outcome": "opened"}
        elif entry.kind == "answered":
            number = entry.receipt if self.payer is None else self._number(self.served[entry.receipt])
            made = {"words": f"The same as answer {number}", "outcome": "free", "kind": "free", "answer": number}
        elif entry.kind == "refused":
            made |= {"outcome": "refused, nothing paid", "kind": "stop"}
        elif settled is None and entry.is_reserved_ahead and not begun:
            made |= {"outcome": "reserved ahead", "kind": "held"} | self._cost(entry, "reserved")
        elif settled is None:
            made |= {"outcome": "not ended", "kind": "held"} | self._cost(entry, "stays charged:")
        elif settled.kind == "voided":
            made |= {"outcome": "not asked, nothing paid", "kind": "stop"}
        else:
            number = self._number(entry)
            other = None if number == entry.analyst_number else entry.analyst_number
            made |= {"outcome": "answered", "answer": number, "number_of_analyst": other} | self._cost(settled, "paid")
        title = entry.dataset if config is None else title_of(config)
        return HistoryLine(entry.sequence, entry.time, title, entry.analyst, **made)

    def _cost(self, entry: Entry, words: str) -> dict[str, str]:
        """The part of the payer's budget that an entry charges, and the same in its own units."""
        charge = entry.charge_of(self.payer)
        return {"cost": f"{words} {percent(fraction_of(charge, self.limits[entry.dataset]))}", "units": str(charge)}

    def _number(self, reserved: Entry) -> int:
        """The number of an answer for the reader: analysts count their own questions, an owner sees the ledger's."""
        return reserved.sequence if self.payer is None else reserved.analyst_number

    def matches(self, words: Sequence[str], entry: Entry) -> bool:
        """Whether all words are in the question as it is shown, the data set, who asked, or what happened."""
        asked = entry.content.get("question") or {} if entry.kind in ("reserved", "refused") else {}
        config = self.datasets.get(entry.dataset)
        shown = (
            self.question_text(entry.dataset, asked) if asked else "",
            entry.dataset,
            "" if config is None else title_of(config),
            entry.analyst or "the data set itself",
            entry.kind,
        )
        return all(word in " ".join(shown) for word in words)

    def stored_words(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words that the ledger itself must hold: those that no sentence or name of ours has."""
        ours = " ".join([_SENTENCE, *(part for one in self.datasets.values() for part in _names(one))])
        return tuple(word for word in words if word not in ours)


_SENTENCE = (
    "The values of with the most users largest sum at from each user in on to for every where counting and group "
    "groups without fewer than combination combinations week January February March April May June July August "
    "September October November December the data set itself ' , ,"
)


def _names(dataset: DatasetConfig) -> Iterator[str]:
    """What the owner calls the data set, its users and its columns."""
    yield title_of(dataset)
    yield dataset.words.verb or ""
    for pair in dataset.words.nouns.values():
        yield from pair


def question_address(dataset: str, fields: Mapping[str, object]) -> str:
    """The address of the form with these fields filled in."""
    written: list[tuple[str, str]] = []
    for name, value in fields.items():
        values = list(value) if isinstance(value, list | tuple) else [value]
        flag = FIELDS[name].kind is ValueKind.FLAG
        written += [(name, ("yes" if one else "no") if flag else str(one)) for one in values]
    return f"/datasets/{quote(dataset, safe='')}?{urlencode(written)}"


def _address(dataset: str, question: Mapping[str, Any]) -> str | None:
    """The form with a question of the ledger; None where it cannot be read."""
    try:
        asked = Question.from_json(question)
        without = ("user", "k_bar", "mechanism")
        fields = {name: value for name, value in asked.to_fields().items() if name not in without}
        return question_address(dataset, {"k": asked.k, "item": asked.item, **fields})
    except (CrestlineError, KeyError, TypeError, ValueError, AttributeError):
        return None
