"""Golden outputs: digests that a change of names, folders or layout must leave as they are.

    python -m tests.goldens           compares today's outputs with tests/vectors/goldens.json
    python -m tests.goldens --renew   writes them, after a change that alters outputs on purpose

Releases are made with replayed entropy, so a digest changes when a mechanism draws other bits, draws them in another
order, or reads another histogram. A changed digest is no proof of a fault: the laws and audits decide that.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

import crestline as cl
from crestline.answer_key import Identity
from crestline.audit.target import AuditSubject, Seen, prepare_subject
from crestline.mechanisms.third_party import release_many_or_none
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay, system
from crestline.sources import open_source
from tests.audit.ours import NAMES, made

STORED = Path(__file__).parent / "vectors" / "goldens.json"
HISTOGRAMS = 40
RELEASES = 20
QUESTIONS = 200


def digest(values: object) -> str:
    """Sixteen hex digits of a value's text."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def releases(name: str) -> list[str]:
    """One digest for each instance of a mechanism in `tests.audit.ours`: releases on 40 histograms."""
    return [digest(list(_outcomes(prepare_subject(instance, replay(bytes(32)))))) for instance in made(name)]


def _outcomes(tested: AuditSubject) -> Iterator[Any]:
    for number, counts in enumerate(_counts()):
        shape = tested.shapes[number % len(tested.shapes)]
        labels = dict(zip(shape.domain or "abcdef", counts, strict=False))
        present = {label: count for label, count in labels.items() if count or shape.k_bar is None}
        entropy = replay(number.to_bytes(32, "big"))
        for selection in _release(tested, tested.histogram(present, shape), entropy):
            outcome = tested.read(selection)
            yield outcome.names, outcome.ordered, outcome.numbers if outcome.names else outcome.key


def _release(tested: AuditSubject, histogram: Seen, entropy: Any) -> list[Any]:
    many = release_many_or_none(tested.mechanism)
    if many is not None:
        return list(many(histogram, RELEASES, entropy))
    return [tested.mechanism.release(histogram, entropy) for _ in range(RELEASES)]


@cache
def _counts() -> list[list[int]]:
    """40 lists of six counts, from nobody to leaders far ahead."""
    rng = np.random.default_rng(6)  # no release depends on it: the lists are the same in every run
    return [sorted(map(int, rng.integers(0, 2 + number, 6)), reverse=True) for number in range(HISTOGRAMS)]


def identities(folder: Path) -> list[str]:
    """The identity of 200 questions to one file, as the ledger knows them."""
    source = open_source(_loans(folder))
    return [_identity(fields, source) for fields in islice(_questions(), QUESTIONS)]


def _identity(fields: dict[str, Any], source: Any) -> str:
    try:
        prepared = prepare(Question.from_fields(fields), limits=source.limits)  # type: ignore[arg-type] # as people write it
    except cl.errors.CrestlineError as error:
        return type(error).__name__
    known = Identity(prepared, source, system(), "1")
    return digest(json.dumps({**known.question, "source": "loans"}, sort_keys=True, default=str))


def _questions() -> Iterator[dict[str, Any]]:
    varied: list[dict[str, Any]] = [
        {},
        {"contribution": 2},
        {"contribution": 2, "counts": True},
        {"where": "title <> 'Ponds'"},
        {"by": "city"},
        {"by": ["city"], "groups_per_user": 2, "floor": 5},
        {"coverage": True},
        {"score": "sum(days)", "clip": 3},
        {"domain": ["Rivers", "Bridges", "Ponds"]},
        {"ordered": False, "passes": 1},
    ]
    named = ["auto", "LimitedDomain", "RestrictedGumbel", "TopStable", "Sieve"]
    for mechanism, extra, (k, epsilon) in product(named, varied, [(1, 1), (3, "0.5"), (5, 2), (10, "0.1")]):
        fields = {"user": "reader", "item": "title", "delta": "1e-7", "k": k, "epsilon": epsilon}
        yield {**fields, "mechanism": mechanism, **extra}


def _loans(folder: Path) -> Path:
    path = folder / "loans.csv"
    rows = [
        f"r{reader},{title},{'Ulm' if reader % 3 else 'Hof'},{1 + reader % 4}"
        for reader in range(900)
        for title in ("Rivers", "Bridges", "Ponds")[: 1 + reader % 3]
    ]
    path.write_text("reader,title,city,days\n" + "\n".join(rows) + "\n")
    return path


def answers(folder: Path) -> dict[str, str]:
    """The JSON of answers made with replayed entropy, without what differs in every run."""
    path = _loans(folder)
    found = {}
    for number, fields in enumerate(islice(_questions(), 40)):
        try:
            answer = cl.top_k(path, **fields, entropy=replay(number.to_bytes(32, "big")))
        except cl.errors.CrestlineError as error:
            found[str(number)] = type(error).__name__
            continue
        written = json.loads(answer.to_json(), parse_float=_short)
        for name in ("source", "at", "asked_at", "elapsed", "time"):
            written.pop(name, None)
        found[str(number)] = digest(json.dumps(written, sort_keys=True).replace(str(folder), ""))
    return found


def _short(number: str) -> float:
    """A number with twelve digits: further ones depend on the processor."""
    return float(f"{float(number):.12g}")


def compute(folder: Path) -> dict[str, Any]:
    """All golden outputs."""
    return {
        "releases": {name: releases(name) for name in NAMES},
        "identities": identities(folder),
        "answers": answers(folder),
    }


def main(arguments: list[str]) -> int:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        today = compute(Path(folder))
    if arguments == ["--renew"]:
        STORED.write_text(json.dumps(today, indent=1) + "\n")
        return 0
    stored = json.loads(STORED.read_text())
    for room, outputs in stored.items():
        pairs = outputs.items() if isinstance(outputs, dict) else enumerate(outputs)
        print(room, "differ:", [name for name, value in pairs if today[room][name] != value] or "none")
    return int(stored != today)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
