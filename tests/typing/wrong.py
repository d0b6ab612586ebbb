"""Public usage that must not type-check. mypy reads this file, and an ignore that is not needed is an error there."""

from __future__ import annotations

import crestline as cl


def names() -> None:
    cl.mechanisms.NoSuchMechanism()  # type: ignore[attr-defined]
    cl.no_such_name()  # type: ignore[attr-defined]


def parameters() -> None:
    cl.mechanisms.LimitedDomain(2, 4, 1, "1e-6", nonsense=3)  # type: ignore[call-arg]
    cl.mechanisms.LimitedDomain(k="two", k_bar=4, epsilon=1, delta="1e-6")  # type: ignore[arg-type]
    cl.mechanisms.LimitedDomain(2, 4, 1)  # type: ignore[call-arg]
    cl.mechanisms.TopStable(2, 4, 1, "1e-6", inner=cl.mechanisms.Lipschitz)  # type: ignore[arg-type]
    cl.mechanisms.Canonical.for_budget(k=1, epsilon=1, delta=0, gama=1)  # type: ignore[call-arg]


def fields() -> None:
    cl.mechanisms.LimitedDomain(2, 4, 1, "1e-6").k = 3  # type: ignore[misc]
