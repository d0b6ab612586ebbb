"""The names that other people's tools rely on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest

import crestline as cl
from crestline.session import Connection


def test_every_public_name_exists() -> None:
    for name in cl.__all__:
        assert getattr(cl, name) is not None
    assert set(dir(cl)) == set(cl.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'top'"):
        _ = cl.top  # type: ignore[attr-defined]


def test_top_k_keeps_its_signature() -> None:
    wanted = [
        "user",
        "item",
        "k",
        "epsilon",
        "delta",
        "mechanism",
        "k_bar",
        "contribution",
        "where",
        "counts",
        "domain",
        "ledger",
    ]
    parameters = inspect.signature(cl.top_k).parameters
    assert next(iter(parameters)) == "source"
    for name in wanted:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["mechanism"].default == "auto"


def test_mechanisms_are_found_by_name() -> None:
    assert cl.mechanisms.LimitedDomain.__name__ == "LimitedDomain"
    assert "LimitedDomain" in dir(cl.mechanisms)
    with pytest.raises(AttributeError):
        _ = cl.mechanisms.NoSuchThing  # type: ignore[attr-defined]


@pytest.mark.parametrize("described", [cl.top_k, cl.connect, Connection.dataset], ids=lambda value: value.__name__)
def test_every_parameter_is_described(described: Callable[..., object]) -> None:
    text = described.__doc__ or ""
    names = [name for name in inspect.signature(described).parameters if name != "self"]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
