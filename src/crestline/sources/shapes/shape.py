"""The shape of a question: what is left of it when the texts in its filter are places. Questions of one shape share
their statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crestline.question import Question
from crestline.sources.engine.places import place
from crestline.sources.expression import where

MOST = 32
"""So many texts are bound; a filter with more is written out."""


@dataclass(frozen=True)
class Shape:
    """A question without its filter, the filter's tree with places in it, and what stands in them.

    Shapes are told apart by the text of their trees: Python takes true and the number 1 for equal.
    """

    question: Question
    tree: where.Condition | None = field(default=None, compare=False)
    values: dict[str, str] = field(default_factory=dict, compare=False)
    written: str = ""


def shape_of(question: Question, is_text: Callable[[str], bool]) -> Shape:
    """The shape of a question. A text that is compared with a column of texts (`is_text`) gets a place; other values
    decide how a comparison is written, and stay."""
    if question.where is None:
        return Shape(question)
    tree, bare = where.parse(question.where), replace(question, where=None)
    found = _Places(is_text)
    with_places = found.condition(tree)
    if len(found.values) > MOST:
        return Shape(bare, tree, written=repr(tree))
    return Shape(bare, with_places, found.values, repr(with_places))


class _Places:
    def __init__(self, is_text: Callable[[str], bool]) -> None:
        self._is_text = is_text
        self.values: dict[str, str] = {}

    def condition(self, tree: where.Condition) -> where.Condition:
        match tree:
            case where.Not(part):
                return where.Not(self.condition(part))
            case where.All(parts):
                return where.All(tuple(map(self.condition, parts)))
            case where.Any_(parts):
                return where.Any_(tuple(map(self.condition, parts)))
            case where.In(name, values):
                return where.In(name, tuple(self._placed(name, value) for value in values))
            case where.Between(name, low, high):
                return where.Between(name, self._placed(name, low), self._placed(name, high))
            case where.Compare(name, sign, value):
                return where.Compare(name, sign, self._placed(name, value))
        return tree

    def _placed(self, name: str, value: where.Value) -> where.Value:
        if not isinstance(value, str) or not self._is_text(name):
            return value
        own = place(len(self.values))
        self.values[own] = value
        return own
