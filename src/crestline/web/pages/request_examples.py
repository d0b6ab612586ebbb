"""The same question from a program: the body of its request, as a `curl_command` command and as Python (pure)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from crestline.answer.answer import Answer

_WITHOUT_SLOTS = ("Sieve", "Observed")  # mechanisms that look at every item: a number of slots would mean another one


def request_body(answer: Answer, lists: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What to send to ask the same again; what is as usual is left out. `lists` are its public lists."""
    question = answer.question
    without = {"user"} | ({"k_bar"} if _selecting_mechanism(answer) in _WITHOUT_SLOTS else set())
    written = {"k": question.k, "item": question.item[0] if len(question.item) == 1 else list(question.item)}
    written |= question.to_fields()
    return {name: value for name, value in written.items() if name not in without} | dict(lists or {})


def public_lists(answer: Answer, asked: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """The public lists of a question, as a request names them.

    An answer remembers no list. `asked` is the question in the ledger, which says where each was read, and `known` are
    the owner's lists by name. Groups that were given one by one are all in the answer.
    """
    names = {place: name for name, place in known.items()}
    found: dict[str, Any] = {one: names[asked[one]] for one in ("domain", "groups") if asked.get(one) in names}
    if asked.get("groups") is not None and "groups" not in found and answer.by_group is not None:
        found["groups"] = [group.label for group in answer.by_group]
    return found


def curl_command(url: str, body: dict[str, Any]) -> str:
    """A command for a shell; the token is in the variable TOKEN."""
    sent = shlex.quote(json.dumps(body, ensure_ascii=False))
    return (
        f'curl -s {shlex.quote(url)} \\\n  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n'
        f"  -d {sent}"
    )


def python_program(url: str, body: dict[str, Any]) -> str:
    """A program that needs nothing but Python; the token is in the variable TOKEN."""
    fields = "".join(f"    {name!r}: {value!r},\n" for name, value in body.items())
    return (
        "import json, os, urllib.request\n\n"
        f"question = {{\n{fields}}}\n"
        "request = urllib.request.Request(\n"
        f"    {url!r},\n"
        "    json.dumps(question).encode(),\n"
        '    {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json"},\n'
        ")\n"
        "answer = json.load(urllib.request.urlopen(request))\n"
        'print(answer["items"])'
    )


def _selecting_mechanism(answer: Answer) -> str:
    """The mechanism that selected; one that adds counts names it among its parameters."""
    return str(answer.mechanism.parameters.get("mechanism", answer.mechanism.name)).partition("(")[0]
