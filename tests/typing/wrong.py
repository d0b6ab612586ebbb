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


def views() -> None:
    histogram = cl.Histogram.from_counts({"a": 5, "b": 3}, k_bar=2)
    sieve, slots = cl.mechanisms.Sieve(2, 1, "1e-6"), cl.mechanisms.LimitedDomain(2, 2, 1, "1e-6")
    sieve.release(histogram, cl.entropy.system())  # type: ignore[arg-type]
    cl.mechanisms.NoisyCounts(sieve, scale=3)  # type: ignore[arg-type]
    cl.mechanisms.Routed(1, "1e-6", "0.1", 5, slots, slots)  # type: ignore[arg-type]


def fields() -> None:
    cl.mechanisms.LimitedDomain(2, 4, 1, "1e-6").k = 3  # type: ignore[misc]
