"""A question that is asked again is answered from the ledger without being prepared or checked anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.web.test_keep import opened

from crestline.ledger.budget import Budget
from crestline.prepare import prepare
from crestline.question import Question
from crestline.web import permissions
from crestline.web.permissions import Caller, ask_as_json
from crestline.web.requests.prepared_cache import PreparedCache
from crestline.web.service_state import ServiceState


def ask(state: ServiceState, name: str, where: str) -> dict[str, Any]:
    fields = {"k": 1, "item": "item", "where": where, "epsilon": 1, "delta": "1e-5"}
    asked = Question.from_fields(fields)  # type: ignore[arg-type] # spelled out above
    caller = Caller(state.config.analysts[name], "1")
    return ask_as_json(state.datasets["loans"], caller, asked, state.config.limits)


@pytest.mark.long
def test_it_is_prepared_once_for_each_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = opened(tmp_path, 'version = "1"')
    prepared: list[str] = []
    original = permissions.prepare_permitted

    def spy(served: Any, caller: Caller, *more: Any) -> Any:
        prepared.append(caller.person.name)
        return original(served, caller, *more)

    monkeypatch.setattr(permissions, "prepare_permitted", spy)
    first, again, other, owner = (ask(state, *one) for one in [
        ("ann", "country = 'DE'"), ("ann", "country = 'DE'"), ("ann", "country = 'FR'"), ("olga", "country = 'DE'")
    ])  # fmt: skip
    assert prepared == ["ann", "ann", "olga"]
    assert (first["stored"], again["stored"], other["stored"], owner["stored"]) == (False, True, False, False)
    assert (again["id"], again["items"], again["bill"]) == (first["id"], first["items"], None)
    kinds = [entry.kind for entry in state.datasets["loans"].ledger.history()]
    assert kinds.count("answered") == 1
    assert kinds.count("settled") == 3
    state.close()


def test_questions_over_different_public_lists_are_different() -> None:
    remembered, ready = PreparedCache(), prepare(Question(k=1, item=("a",)), budget=Budget(epsilon=1, delta="1e-6"))
    remembered.keep("ann", Question(k=1, item=("a",), domain="one list"), ready)
    assert remembered.find("ann", Question(k=1, item=("a",), domain="one list")) is ready
    for other in ("another", None):
        assert remembered.find("ann", Question(k=1, item=("a",), domain=other)) is None
