"""The top 10 of a public list: crestline, listed and by multiplicities, against NumPy, OpenDP and diffprivlib.

By multiplicities only `{count: how many items have it}` is given, as a database can answer in one query; the others
need every item. NumPy is `argpartition` of `rate · count + gumbel`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.measuring import Row, Work, human, interleaved, spread
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.randomness.entropy import system

TITLE = "Full domain: the top 10 of d items"
ACROSS = ("d",)
K, EPSILON = 10, 1
SIZES = (10**4, 10**5, 10**6, 10**8, 10**10)
HEAD = 10**6
LARGEST_NUMPY, LARGEST_PEER = 10**8, 10**6
PLAIN, GROUPS = "NumPy over all items", "crestline, multiplicities"
TIES, DISTINCT = "crestline, listed, a power law with ties", "crestline, listed, all counts different"
SECONDS, REPETITIONS = 5.0, 40
# OpenDP needs more than half a minute for 10^6 items: one run is enough.
PEER_LIMIT = 150.0


def power_law(items: int) -> NDArray[np.int64]:
    return (10**6 / np.arange(1, items + 1)).astype(np.int64)


def multiplicities(items: int) -> Histogram:
    """The same shape at any size: the head of the power law, and the rest at zero."""
    head = power_law(min(items, HEAD))
    counts, sizes = np.unique(head, return_counts=True)
    how_many = dict(zip(counts.tolist(), sizes.tolist(), strict=True))
    how_many[0] = how_many.get(0, 0) + items - len(head)
    return Histogram.from_multiplicities(how_many)


def listed(counts: NDArray[np.int64]) -> Histogram:
    return Histogram(range(len(counts)), counts.copy(), None, domain_size=len(counts))


def over_all_items(counts: NDArray[np.int64]) -> Work:
    generator, rate = np.random.default_rng(), EPSILON / K

    def run() -> object:
        noisy = counts * rate + generator.gumbel(size=len(counts))
        best = np.argpartition(noisy, len(noisy) - K)[-K:]
        return best[np.argsort(-noisy[best])]

    return run


def works(items: int) -> dict[str, Work]:
    entropy, mechanism = system(), Lipschitz(K, EPSILON)
    views = {GROUPS: multiplicities(items)}
    if items <= HEAD:
        views[TIES] = listed(power_law(items))
        views[DISTINCT] = listed(np.arange(items, 0, -1, dtype=np.int64) * 3)
    result: dict[str, Work] = {name: partial(mechanism.release, view, entropy) for name, view in views.items()}
    if items <= LARGEST_NUMPY:
        result[PLAIN] = over_all_items(power_law(items))
    return result


def measure(quick: bool) -> Iterator[Row]:
    for items in SIZES[:1] if quick else SIZES:
        setting = {"d": items}
        for name, times in interleaved(works(items), 2 if quick else REPETITIONS, SECONDS).items():
            yield Row(name, setting, **spread(times), exact=name != PLAIN, cryptographic=name != PLAIN)
        if items > LARGEST_NUMPY:
            yield Row(PLAIN, setting, exact=False, cryptographic=False, note="needs 80 GB an array")
        for peer in () if quick else peers.REQUIREMENTS:
            yield _peer(peer, items)


def _peer(peer: str, items: int) -> Row:
    if items > LARGEST_PEER:
        found = peers.Timings([], "not run: wants a Python list of all items")
    else:
        found = peers.run(peer, items, K, runs=5, seconds=2.0, limit=PEER_LIMIT)
    figures = spread(found.times) if found.times else {}
    exact = peers.EXACT[peer]
    return Row(peers.NAMES[peer], {"d": items}, **figures, exact=exact, cryptographic=True, note=found.note)


def words(rows: list[Row]) -> list[str]:
    """How the bounds that matter were met."""
    at = {(row.who, row.setting["d"]): row.median for row in rows if row.median}
    groups = at.get((GROUPS, 10**6))
    if not groups:
        return []
    result = []
    for who, bound in ((PLAIN, "50"), (peers.NAMES["opendp"], "1,000")):
        if (who, 10**6) in at:
            ratio = at[who, 10**6] / groups
            result.append(
                f"10^6 items by multiplicities take {human(groups)}: {who} takes {ratio:,.0f} times as long "
                f"({human(at[who, 10**6])}; the bound is {bound})."
            )
    if (GROUPS, 10**10) in at:
        ratio = at[GROUPS, 10**10] / groups
        result.append(f"10^10 items take {ratio:.2f} times as long as 10^6 (the bound is 2).")
    lists = [at[who, 10**6] for who in (TIES, DISTINCT) if (who, 10**6) in at]
    if lists and (PLAIN, 10**6) in at:
        ratio = max(lists) / at[PLAIN, 10**6]
        result.append(f"From a plain list of 10^6 counts: at most {ratio:.2f} times NumPy (the bound is 2).")
    return result
