"""One release on a restricted domain: every mechanism, against a plain NumPy Gumbel top-k, OpenDP and diffprivlib.

Everything that sees k_bar slots gets the same power law. Mechanisms of a public list get k_bar listed items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import crestline as cl
from benchmarks import peers
from benchmarks.measuring import Row, Work, human, interleaved, spread
from crestline.histogram.histogram import Histogram
from crestline.randomness.entropy import Entropy, system

TITLE = "One release on a restricted domain"
ACROSS = ("k", "k_bar")
SETTINGS = tuple((k, times * k) for k in (10, 100, 1000) for times in (1, 10, 50))
PLAIN, OURS, MANY = "plain NumPy Gumbel", "LimitedDomain", "LimitedDomain, `release_many`, a trial"
LOOP = "LimitedDomain, a loop of `release`, a trial"
MAIN = {"k": 100, "k_bar": 5000}
ROUND_SECONDS, REPETITIONS = 10.0, 60
# Trials in one call, and in one loop: about equally long, so that whatever else the machine does hits both alike.
BATCH, LOOPED = 400, 20
PEER_LIMIT = 12.0

m = cl.mechanisms
EPSILON, DELTA = "0.1", "1e-8"

UNKNOWN: dict[str, Callable[[int, int], Any]] = {
    OURS: lambda k, k_bar: m.LimitedDomain(k, k_bar, EPSILON, DELTA),
    "OptimalThreshold": lambda k, k_bar: m.OptimalThreshold(k, k_bar, EPSILON, DELTA),
    "LimitedDomainLaplace": lambda k, k_bar: m.LimitedDomainLaplace(k, k_bar, EPSILON, DELTA, 5),
    "LimitedDomainGauss": lambda k, k_bar: m.LimitedDomainGauss(k, k_bar, 10, DELTA),
    "RestrictedGumbel": lambda k, k_bar: m.RestrictedGumbel(k, k_bar, EPSILON, m.LaplaceTest(1, DELTA)),
    "RestrictedNormal": lambda k, k_bar: m.RestrictedNormal(k, k_bar, 10, m.LaplaceTest(1, DELTA)),
    "RestrictedPermuteAndFlip": lambda k, k_bar: m.RestrictedPermuteAndFlip(k, k_bar, 1, m.LaplaceTest(1, DELTA)),
    "RestrictedLaplace": lambda k, k_bar: m.RestrictedLaplace(k, k_bar, 1, m.LaplaceTest(1, DELTA)),
    "TopStable": lambda k, k_bar: m.TopStable(k, k_bar, 1, DELTA),
    "FixedThreshold": lambda k, k_bar: m.FixedThreshold(k, 1, DELTA),
    "CanonicalBottom": lambda k, k_bar: m.CanonicalBottom(k, k_bar, 1, DELTA),
    "RestrictedCanonical": lambda k, k_bar: m.RestrictedCanonical(k, k_bar, 1, "0.5", m.JointTest(1, DELTA)),
}
KNOWN: dict[str, Callable[[int], Any]] = {
    "Lipschitz": lambda k: m.Lipschitz(k, 1),
    "Canonical": lambda k: m.Canonical(k, 1, "0.5"),
    "JointExponential": lambda k: m.JointExponential(k, 1),
}


def slots(k_bar: int) -> Histogram:
    """A power law cut at k_bar."""
    return Histogram.from_counts({f"item {rank:06}": 10**6 // rank for rank in range(1, k_bar + 2)}, k_bar)


def plain(histogram: Histogram, k: int) -> Work:
    """What one would write without privacy engineering: neither exact nor cryptographically random."""
    scores, generator, size = histogram.array * float(EPSILON), np.random.default_rng(), histogram.k_bar

    def release() -> object:
        noisy = scores + generator.gumbel(size=size)
        best = np.argpartition(noisy, size - k)[size - k :]
        return [histogram.items[place] for place in best[np.argsort(-noisy[best])]]

    return release


def works(k: int, k_bar: int, batch: int, looped: int, entropy: Entropy) -> dict[str, Work]:
    """Everything that takes turns; so many trials in one call, and in one loop, where there are many."""
    histogram, first = slots(k_bar), slots(k)
    listed = Histogram.over_domain({f"item {rank:06}": 10**6 // rank for rank in range(1, k_bar + 1)})
    result: dict[str, Work] = {PLAIN: plain(histogram, k)}
    for name, make in UNKNOWN.items():
        mechanism, view = make(k, k_bar), first if name == "FixedThreshold" else histogram
        result[name] = partial(mechanism.release, view, entropy)
    for name, known in KNOWN.items():
        mechanism = known(k)
        result[name] = partial(mechanism.release, listed, entropy)
    ours = UNKNOWN[OURS](k, k_bar)
    result[LOOP] = lambda: [ours.release(histogram, entropy) for _ in range(looped)]
    result[MANY] = lambda: ours.release_many(histogram, batch, entropy)
    return result


def measure(quick: bool) -> Iterator[Row]:
    entropy = system()
    for k, k_bar in SETTINGS[:2] if quick else SETTINGS:
        setting = {"k": k, "k_bar": k_bar}
        batch, looped, repetitions = (4, 2, 2) if quick else (BATCH, LOOPED, REPETITIONS)
        times = interleaved(works(k, k_bar, batch, looped, entropy), repetitions, ROUND_SECONDS)
        trials = {MANY: batch, LOOP: looped}
        for name, values in times.items():
            each = [seconds / trials.get(name, 1) for seconds in values]
            ideal = name != PLAIN
            yield Row(name, setting, **spread(each), exact=ideal, cryptographic=ideal)
        for peer in () if quick else peers.REQUIREMENTS:
            found = peers.run(peer, k_bar, k, runs=5, seconds=2.0, limit=PEER_LIMIT)
            figures = spread(found.times) if found.times else {}
            yield Row(
                peers.NAMES[peer], setting, **figures, exact=peers.EXACT[peer], cryptographic=True, note=found.note
            )


def words(rows: list[Row]) -> list[str]:
    """How the bounds that matter were met."""
    at = {row.who: row.median for row in rows if row.setting == MAIN and row.median}
    if not {PLAIN, OURS, LOOP, MANY} <= set(at):
        return []
    ratio, gain, alone = at[OURS] / at[PLAIN], at[LOOP] / at[MANY], at[OURS] / at[MANY]
    return [
        f"k = 100, k_bar = 5000: `LimitedDomain.release` takes {human(at[OURS])}, {ratio:.2f} times plain NumPy Gumbel "
        f"({human(at[PLAIN])}; the bound is 2).",
        f"`release_many` takes {human(at[MANY])} a trial, {BATCH} trials in one call: {gain:.1f} times faster than a "
        f"loop of `release` ({human(at[LOOP])} a trial, {LOOPED} in one loop; the bound is 10), {alone:.1f} times "
        "faster than `release` measured one at a time.",
    ]
