"""Real users and items: what a practitioner would otherwise use, against what `auto` chooses, at equal (ε, δ).

Thresholding libraries must bound how many items a user counts for; the bound is on the horizontal axis. How many of
the true top k does each return?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from crestline.histogram.histogram import Histogram
from crestline.histogram.relation import Relation as UsersItems
from crestline.histogram.view_kinds import SLOTS
from crestline.prepare import Prepared, prepare
from crestline.question import AUTO, Question, QuestionFields
from crestline.randomness.entropy import replay
from reproduction.bounded import Pairs, bounded_items, bounded_pairs, sampler
from reproduction.data import Shelf
from reproduction.experiment import Cell, Contest, Experiment, Numbers, Paper, Results, cell
from reproduction.metrics import estimate, score
from reproduction.papers.practice_page import (
    AUTO_BOUND,
    AUTO_FREE,
    BOUNDS,
    CAPS,
    DATA,
    DELTA,
    EPSILONS,
    KS,
    LIBRARIES,
    MISSING_MASS,
    OPENDP,
    OTHERS,
    OURS,
    PEERS,
    PIPELINEDP,
    SIEVE,
    SINGLE,
    THROUGH_FILES,
    Measured,
    hits,
    page,
)
from reproduction.peers import missing_mass, pipelinedp, thresholds
from reproduction.peers.missing_mass import Plan, weights_of
from reproduction.peers.setting import Setting
from reproduction.simulate import ranked

_RELEASES = 20  # of each sample: sampling users' items is the slow part
_TRIALS = {PIPELINEDP: 2, **dict.fromkeys(OPENDP, 5), MISSING_MASS: 10, AUTO_BOUND: 100, **dict.fromkeys(OURS, 20)}
TAKEN = {SIEVE: SIEVE, AUTO_FREE: AUTO}  # the mechanism that a line asks for
SHARES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))  # of the budget, for the discovery


def measure(cell: Cell, shelf: Shelf) -> Numbers:
    """Shares of the true top k; nothing where the library is not installed."""
    if cell.label in OURS:
        return _free(TAKEN[cell.label], cell, shelf)
    if cell.label == AUTO_BOUND:
        return _automatic(cell, shelf)
    if cell.label == MISSING_MASS:
        return _missing_mass(cell, shelf)
    return _peer(cell, shelf)


def measure_single(cell: Cell, shelf: Shelf) -> Numbers:
    """One mechanism of the catalogue, without a bound."""
    return _free(cell.label, cell, shelf)


def measure_files(cell: Cell, shelf: Shelf) -> Numbers:
    """`cl.top_k` on the file itself, as anybody would call it."""
    import crestline as cl

    names, file = shelf.names(cell.data), shelf.file(cell.data)
    best = set(names[: cell.k])
    shares = []
    for run in range(cell.trials):
        asked: QuestionFields = {"k": cell.k, "epsilon": cell.epsilon, "delta": cell.delta}
        asked["mechanism"] = TAKEN[cell.label]
        answer = cl.top_k(file, entropy=replay(f"{cell.key}|{run}"), **asked)
        shares.append(len(best & set(answer.items)) / cell.k)
    return {hits(cell.k): estimate(np.array(shares))}


def _free(name: str, cell: Cell, shelf: Shelf) -> Numbers:
    counts, prepared, entropy = shelf.counts(cell.data), _prepared(name, cell, None), replay(cell.key)
    if prepared.view == SLOTS:
        drawn = prepared.mechanism.release_seen(ranked(counts, prepared.question.slots), cell.trials, entropy)
    else:  # it looks at pairs, which takes longer
        pairs: Any = UsersItems(*shelf.events(cell.data))
        drawn = prepared.mechanism.release_seen(pairs, min(cell.trials, _RELEASES), entropy)
    return {hits(cell.k): score([one.items for one in drawn], counts, cell.k)["proportion"]}


def _automatic(cell: Cell, shelf: Shelf) -> Numbers:
    """`auto` with a contribution bound: what is kept of the users' items is released several times."""
    prepared = _prepared(AUTO, cell, _bound(cell))
    shares: list[float] = []
    for seen in _kept(prepared, cell, shelf, cell.trials // _RELEASES):
        drawn = prepared.mechanism.release_seen(seen, _RELEASES, replay(f"{cell.key}|{len(shares)}"))
        shares.append(float(np.mean([_share(tuple(one.items), cell.k) for one in drawn])))
    return {hits(cell.k): estimate(np.array(shares))}


def _kept(prepared: Prepared, cell: Cell, shelf: Shelf, many: int) -> Iterator[Histogram]:
    """What a mechanism sees, several times: other items of each user are kept every time."""
    if prepared.view == SLOTS:
        for sample in _samples(cell, shelf, many):
            yield _ranked_sample(sample, prepared.question.slots)
        return
    pairs, weights = UsersItems(*shelf.events(cell.data)), np.array(prepared.view.weights, dtype=np.int64)
    chance = sampler(cell.key)
    for _ in range(many):
        yield pairs.observed_items(chance.bytes(16), weights)


def _missing_mass(cell: Cell, shelf: Shelf) -> Numbers:
    """Every k, each with the share of the budget that turned out best: its oracle, beside that for the bound."""
    (users, items), counts = shelf.events(cell.data), shelf.counts(cell.data)
    chance = sampler(cell.key)
    found: dict[tuple[int, Fraction], list[float]] = {(k, share): [] for k in KS for share in SHARES}
    for _ in range(cell.trials):
        weights = weights_of(*bounded_pairs(users, items, _bound(cell), chance), len(counts))
        for (k, share), shares in found.items():
            plan = Plan(cell.epsilon, cell.delta, share, _bound(cell), k)
            shares.append(_share(missing_mass.noisy_top(weights, counts, plan, chance), k))
    estimates = {place: estimate(np.array(shares)) for place, shares in found.items()}
    return {hits(k): max((estimates[k, share] for share in SHARES), key=lambda one: one.value) for k in KS}


def _peer(cell: Cell, shelf: Shelf) -> Numbers:
    """A thresholding library; one release answers for every k, so the cell holds them all."""
    bound, samples = _bound(cell), list(_samples(cell, shelf, cell.trials))
    # PipelineDP leaves the noise to the caller: Gaussian is smaller where a user counts for many items
    noise = OPENDP.get(cell.label, "laplace" if bound <= 5 else "gaussian")
    setting = Setting(float(cell.epsilon), float(cell.delta), bound, noise, max(KS))
    if cell.label == PIPELINEDP:
        lists = pipelinedp.noisy_tops(samples, setting) if pipelinedp.available() else []
    else:
        known = thresholds.available()
        lists = [thresholds.noisy_top(np.bincount(sample).tolist(), setting) for sample in samples if known]
    if not lists:
        return {}
    return {hits(k): estimate(np.array([_share(one[:k], k) for one in lists])) for k in KS}


def _prepared(name: str, cell: Cell, bound: int | None) -> Prepared:
    asked: QuestionFields = {"k": cell.k, "epsilon": cell.epsilon, "delta": cell.delta, "contribution": bound}
    return prepare(Question.from_fields({**asked, "mechanism": name}))


def _bound(cell: Cell) -> int:
    return int(dict(cell.more)["bound"])


def _samples(cell: Cell, shelf: Shelf, many: int) -> Iterator[Pairs]:
    users, items = shelf.events(cell.data)
    chance = sampler(cell.key)
    for _ in range(many):
        yield bounded_items(users, items, _bound(cell), chance)


def _ranked_sample(sample: Pairs, k_bar: int) -> Histogram:
    """The sample's best slots; items keep the rank they have among all data, ties in that order."""
    counts = np.bincount(sample)
    order = np.argsort(-counts, kind="stable")[: k_bar + 1]
    return Histogram.from_ranked([(int(item), int(counts[item])) for item in order if counts[item]], k_bar)


def _share(items: Sequence[int], k: int) -> float:
    return sum(item < k for item in items if isinstance(item, int)) / k


def _cells(names: Sequence[str], peers: Sequence[str], bounded: bool) -> Iterator[Cell]:
    for data in names:
        for epsilon in EPSILONS:
            for k in KS:
                yield from (_cell(data, label, k, epsilon) for label in OURS)
                if bounded:
                    yield from (_cell(data, AUTO_BOUND, k, epsilon, bound=bound) for bound in BOUNDS)
            for label in peers:
                bounds = CAPS if label == MISSING_MASS else BOUNDS
                yield from (_cell(data, label, max(KS), epsilon, bound=bound) for bound in bounds)


def _cell(data: str, label: str, k: int, epsilon: Fraction, **more: int) -> Cell:
    bounds = tuple((name, str(value)) for name, value in more.items())
    return Cell(data, label, k, k, epsilon, DELTA, _TRIALS[label], bounds)


PRACTICE = Experiment(
    "practice",
    "real users and items: how many of the true top k, against the contribution bound",
    tuple(_cells(DATA, PEERS, bounded=True)),
    measure,
    quick=lambda cell: cell.data == "BMS_WEBVIEW1" and cell.label == AUTO_FREE,
)
ELSEWHERE = Experiment(
    "practice-others",
    "real users and items: the same on the nine data sets that constants were chosen on",
    tuple(_cells(OTHERS, (*OPENDP, MISSING_MASS), bounded=False)),
    measure,
)
FILES = Experiment(
    "practice-files",
    "real users and items: `cl.top_k` on the files themselves",
    tuple(cell(data, AUTO_FREE, k=50, epsilon=1, delta=DELTA, trials=20) for data in THROUGH_FILES),
    measure_files,
)
CHOICE = Experiment(
    "practice-auto",
    "real users and items: every mechanism for an unknown domain, beside the one `auto` takes",
    tuple(
        cell(data, name, k=k, epsilon=epsilon, delta=DELTA, trials=200)
        for data in DATA
        for k in KS
        for epsilon in EPSILONS
        for name in SINGLE
    ),
    measure_single,
)


def contests(results: Results) -> Iterator[Contest]:
    """`auto` without any bound against the libraries at each of their bounds, and with the same bound."""
    for one in PRACTICE.cells:
        if one.label != AUTO_BOUND:
            continue
        metric = hits(one.k)
        ours = results.of(PRACTICE, one).get(metric)
        # At one and the same bound; the rival that also divides its budget is compared on the page, at its oracle.
        rivals = {label: _cell(one.data, label, max(KS), one.epsilon, bound=_bound(one)) for label in LIBRARIES}
        others = {label: value for label, cell in rivals.items() if (value := results.of(PRACTICE, cell).get(metric))}
        if ours and others:
            place = f"{one.data} k={one.k} ε={float(one.epsilon):g} bound={_bound(one)}"
            yield Contest(place, metric, ours, AUTO_BOUND, others)


PAPER = Paper(
    "practice",
    "real users and items, against OpenDP, PipelineDP and weighted domain discovery",
    (PRACTICE, ELSEWHERE, FILES, CHOICE),
    partial(page, Measured(PRACTICE, ELSEWHERE, FILES, CHOICE)),
    contests=contests,
)
