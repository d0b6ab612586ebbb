"""Files of questions: JSON lines or a JSON list, TOML with a [[question]] for each, CSV with a header."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crestline.errors import ParameterError

if TYPE_CHECKING:
    from crestline.price.batch import BatchQuestion


def read_questions(path: Path) -> list[BatchQuestion]:
    """Questions of a file in the format of its suffix.

    Raises:
        ParameterError: The file cannot be read, or one of its questions is not valid.
    """
    from crestline.price.batch import parse_question

    readers = {
        ".jsonl": _parse_json,
        ".json": _parse_json,
        ".ndjson": _parse_json,
        ".toml": _parse_toml,
        ".csv": _parse_csv,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ParameterError(f"a file of questions ends in .jsonl, .json, .toml or .csv, not {path.name!r}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{path} cannot be read: is it there, and is it text?") from None
    found = []
    for number, values in enumerate(reader(text, path), start=1):
        try:
            found.append(parse_question(values))
        except ParameterError as error:
            raise ParameterError(f"{path}, question {number}: {error}") from None
    return found


def _parse_json(text: str, path: Path) -> Iterable[Mapping[str, Any]]:
    try:
        values = _values(text)
    except json.JSONDecodeError as error:
        raise ParameterError(f"{path} is not JSON lines (one question on each line) or a JSON list: {error}") from None
    if len(values) == 1 and isinstance(values[0], dict) and isinstance(values[0].get("questions"), list):
        values = values[0]["questions"]  # as `crestline price` writes them
    if not all(isinstance(value, dict) for value in values):
        raise ParameterError(f"{path}: every question is a JSON object with the arguments of top")
    return list(values)


def _values(text: str) -> list[Any]:
    """Values of a JSON list, of one JSON object, or of one object on each line."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return whole if isinstance(whole, list) else [whole]


def _parse_toml(text: str, path: Path) -> Iterable[Mapping[str, Any]]:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path} is not TOML: {error}") from None
    questions = value.get("question")
    if not isinstance(questions, list) or not all(isinstance(question, dict) for question in questions):
        raise ParameterError(f"{path}: write [[question]] before the arguments of each question")
    return questions


def _parse_csv(text: str, path: Path) -> Iterable[Mapping[str, Any]]:
    rows = list(csv.DictReader(text.splitlines()))
    if any(None in row for row in rows):
        raise ParameterError(f"{path}: a row has more cells than the header")
    return rows
