"""The shape of a question: what is left of it when the texts in its filter are places. Questions of one shape share
their statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crestline.question import Question
from crestline.sources.engine.bind_parameters import bind_parameter
from crestline.sources.expression import where

MOST = 32
"""So many texts are bound; a filter with more is written out."""


@dataclass(frozen=True)
class QueryTemplate:
    """A question without its filter, the filter's tree with places in it, and what stands in them.

    Shapes are told apart by the text of their trees: Python takes true and the number 1 for equal.
    """

    question: Question
    tree: where.Condition | None = field(default=None, compare=False)
    values: dict[str, str] = field(default_factory=dict, compare=False)
    text: str = ""


def query_template(question: Question, is_text: Callable[[str], bool]) -> QueryTemplate:
    """The shape of a question. A text that is compared with a column of texts (`is_text`) gets a place; other values
    decide how a comparison is written, and stay."""
    if question.where is None:
        return QueryTemplate(question)
    tree, bare = where.parse_filter(question.where), replace(question, where=None)
    found = _ParameterCollector(is_text)
    with_places = found.condition(tree)
    if len(found.values) > MOST:
        return QueryTemplate(bare, tree, text=repr(tree))
    return QueryTemplate(bare, with_places, found.values, repr(with_places))


class _ParameterCollector:
    def __init__(self, is_text: Callable[[str], bool]) -> None:
        self._is_text = is_text
        self.values: dict[str, str] = {}

    def condition(self, tree: where.Condition) -> where.Condition:
        match tree:
            case where.Not(part):
                return where.Not(self.condition(part))
            case where.And(parts):
                return where.And(tuple(map(self.condition, parts)))
            case where.Or(parts):
                return where.Or(tuple(map(self.condition, parts)))
            case where.In(name, values):
                return where.In(name, tuple(self._replace_text(name, value) for value in values))
            case where.Between(name, low, high):
                return where.Between(name, self._replace_text(name, low), self._replace_text(name, high))
            case where.Compare(name, sign, value):
                return where.Compare(name, sign, self._replace_text(name, value))
        return tree

    def _replace_text(self, name: str, value: where.Value) -> where.Value:
        if not isinstance(value, str) or not self._is_text(name):
            return value
        own = bind_parameter(len(self.values))
        self.values[own] = value
        return own
