"""CRESTLINE_MEMORY is looked at before a question is charged."""

from __future__ import annotations

import pyarrow as pa
import pytest

import crestline as cl
from crestline.errors import QuestionError


def test_a_limit_that_is_no_number_is_refused_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"user": [1, 2], "item": ["a", "a"]})
    data = cl.connect(table).dataset("d", user="user", budget=cl.Budget(2, "1e-6"))
    monkeypatch.setenv("CRESTLINE_MEMORY", "4GB")
    with pytest.raises(QuestionError, match="CRESTLINE_MEMORY must be a whole number of bytes, such as 4294967296"):
        data.top(k=1, item="item")
    assert data.remaining.share == 1
