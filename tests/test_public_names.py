"""The names that other people's tools rely on."""

from __future__ import annotations

import inspect

import pytest

import crestline as cl


def test_every_public_name_exists() -> None:
    for name in cl.__all__:
        assert getattr(cl, name) is not None
    assert set(dir(cl)) == set(cl.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'top'"):
        _ = cl.top


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
        _ = cl.mechanisms.NoSuchThing
