"""`crestline explain`: the promise of an answer, and its limits."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.output import echo_lines, print_json
from crestline.errors import ParameterError

if TYPE_CHECKING:
    from crestline.answer.answer import Answer

# Numbers of theorems and accountants in a guarantee, such as P5.1 or B6.
_NUMBER = re.compile(r"\b[PB]\d+(?:\.\d+)?\b")
_THEOREMS = "reference/theorems"
_WIDTH = 88
_ODDS = ("belief before that a user is in", "after, at least", "after, at most")


class TextFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def explain(
    answer: Annotated[
        str, typer.Argument(help="An answer as `crestline top --format json` writes it; - reads a pipe.")
    ],
    form: Annotated[
        TextFormat, typer.Option("--format", help="Text for people, also in a pipe; or JSON.")
    ] = TextFormat.TEXT,
) -> None:
    """Explain the promise of an answer in words and in formulas, and what the promise does not include.

    Example: crestline top … --format json > answer.json && crestline explain answer.json
    """
    from crestline.answer.answer import Answer

    read = Answer.from_dict(_read_answer(answer))
    if form is TextFormat.JSON:
        print_json(explanation_to_dict(read))
    else:
        echo_lines(explanation_to_text(read))


def explanation_to_dict(answer: Answer) -> dict[str, Any]:
    """JSON values of the explanation."""
    from crestline.answer.belief_bounds import belief_bounds, best_guess_rate
    from crestline.answer.promise_text import exclusions, promise_in_formulas, promise_in_words

    return {
        "guarantee": str(answer.guarantee),
        "summary": answer.explain().splitlines(),
        "words": list(promise_in_words(answer)),
        "formulas": list(promise_in_formulas(answer)),
        "theorems": theorem_links(answer),
        "odds": [asdict(line) for line in belief_bounds(answer.guarantee)],
        "best_guess": best_guess_rate(answer.guarantee),
        "not_promised": list(exclusions(answer)),
    }


def explanation_to_text(answer: Answer) -> str:
    """The explanation in sections of text."""
    from crestline.answer.belief_bounds import belief_bounds
    from crestline.answer.printing import align
    from crestline.answer.promise_text import (
        exclusions,
        percent_rounded_down,
        percent_rounded_up,
        promise_in_formulas,
        promise_in_words,
    )
    from crestline.label_text import printable_lines

    odds = [
        (percent_rounded_up(line.before), percent_rounded_down(line.low), percent_rounded_up(line.high))
        for line in belief_bounds(answer.guarantee)
    ]
    sections = {
        "In words": _list(promise_in_words(answer)),
        "The odds an attacker can gain": align([_ODDS, *odds], [False] * len(_ODDS)),
        "In formulas": _list(promise_in_formulas(answer)),
        "Where it is proven": [f"- {number}: {address}" for number, address in theorem_links(answer).items()],
        "Not promised": _list(exclusions(answer)),
    }
    return printable_lines("\n\n".join("\n".join([name, *lines]) for name, lines in sections.items() if lines))


def theorem_links(answer: Answer) -> dict[str, str]:
    """Address of the entry of each theorem of the guarantee: claim, proof, code and test."""
    pages = metadata.metadata("crestline").get_all("Project-URL") or []  # the documentation is one of them
    found = [address for label, _, address in (page.partition(", ") for page in pages) if label == "Documentation"]
    base = found[0].rstrip("/") if found else "docs"
    numbers = dict.fromkeys(_NUMBER.findall(answer.guarantee.theorem))
    return {number: f"{base}/{_THEOREMS}/#{number.lower()}" for number in numbers}


def _list(sentences: Iterable[str]) -> list[str]:
    return [fill(sentence, _WIDTH, initial_indent="- ", subsequent_indent="  ") for sentence in sentences]


def _read_answer(path: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        value = json.loads(text)
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{path} cannot be read: is it there, and is it text?") from None
    except json.JSONDecodeError:
        raise ParameterError(f"{path} is not JSON: write the answer with `crestline top … --format json`") from None
    if not isinstance(value, dict):
        raise ParameterError(f"{path} holds no answer: write one with `crestline top … --format json`")
    return value
