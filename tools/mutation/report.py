"""The score of a mutation run, as a page: what was killed at first sight, what since, and why the rest survives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.mutation.mutants import Mutant

ALIVE = ("survived", "not run")
HEAD = """# Mutation run

`python -m tools.mutation` changes one constant, sign or comparison at a time in `mechanisms/`, `randomness/`,
`guarantees/` and `ledger/`, and runs the fast tests that meet the changed line, those that mirror the module first,
until one fails. A mutant survives for a reason when no test can tell it apart, or when only speed, memory, the
sharpness of a certified bound or the text of a message changes; the reasons are in `tools/mutation/harmless.txt`, one
for each. A line of which every mutant would be such (sizes of batches, working precision, brackets of searches) has
none; those lines are in `tools/mutation/unmutated.txt`. Where only a sample was tried, "at least" is the one-sided
Clopper–Pearson bound at confidence 95%, and "weighted" is the mean over the packages, each counted by how many
mutants it has; its bound is that of all packages together (each at confidence 98.75%).
""".splitlines()


@dataclass(frozen=True)
class Score:
    """What became of the mutants of one target that were tried; `harmless` survived, and it is known why.

    `size` is how many mutants the target has in all.
    """

    target: str
    size: int
    killed: int
    harmless: tuple[tuple[str, str], ...]
    alive: tuple[str, ...]

    @property
    def tried(self) -> int:
        return self.killed + len(self.harmless) + len(self.alive)

    @property
    def matter(self) -> int:
        return self.killed + len(self.alive)


def score(target: str, every: Sequence[Mutant], fates: Mapping[Mutant, str], known: Mapping[str, str]) -> Score:
    """`known` says why a change is harmless."""
    alive = [mutant for mutant, end in fates.items() if end in ALIVE]
    harmless = sorted((str(mutant), known[mutant.change]) for mutant in alive if mutant.change in known)
    rest = sorted(str(mutant) for mutant in alive if mutant.change not in known)
    return Score(target, len(every), len(fates) - len(alive), tuple(harmless), tuple(rest))


def together(scores: Sequence[Score]) -> Score:
    harmless = tuple(pair for one in scores for pair in one.harmless)
    alive = tuple(name for one in scores for name in one.alive)
    return Score("all", sum(one.size for one in scores), sum(one.killed for one in scores), harmless, alive)


def table(scores: Sequence[Score]) -> list[str]:
    """One line for each target and one for all; of a sample, also the weighted shares."""
    head = ("package", "mutants", "tried", "killed", "survive for a reason", "survive")
    lines = [_row(*head, "killed of all", "killed of those that matter"), _row(*["---"] * 8)]
    for one in scores:
        shown = share if one.tried < one.size else _plain
        lines.append(_row(*_counts(one), shown(one.killed, one.tried), shown(one.killed, one.matter)))
    whole = together(scores)  # not drawn in proportion to the sizes of the packages: shares of it bound nothing
    lines.append(_row(*_counts(whole), _plain(whole.killed, whole.tried), _plain(whole.killed, whole.matter)))
    if whole.tried == whole.size:
        return lines
    means = (weighted(scores, lambda one: one.tried), weighted(scores, lambda one: one.matter))
    return [*lines, _row("weighted", *[""] * 5, *(f"{mean:.1%}, at least {least:.1%}" for mean, least in means))]


def said(first: Sequence[Score], now: Sequence[Score]) -> list[str]:
    """Both tables, and every survivor."""
    lines = ["## At first sight", "", *table(first), ""]
    lines += ["## After the tests that the survivors asked for", "", *table(now), ""]
    lines += ["Survivors without a reason:", ""]
    lines += [f"- `{name}`" for one in now for name in one.alive] or ["none"]
    lines += ["", "Survivors with a reason:", ""]
    return lines + [f"- `{name}`: {reason}" for one in now for name, reason in one.harmless]


def exempted(marks: Mapping[str, Sequence[tuple[str, int]]]) -> list[str]:
    """How many lines of each package have no mutants, and the reasons that are given most."""
    lines = ["## Lines without mutants", "", _row("package", "lines", "mutants they would have"), _row(*["---"] * 3)]
    lines += [_row(package, len(found), sum(many for _, many in found)) for package, found in marks.items()]
    counted = Counter(reason for found in marks.values() for reason, _ in found)
    often = [f"- {reason} ({many})" for reason, many in counted.most_common() if many > 1]
    once = len(counted) - len(often)
    return [*lines, "", "Reasons of several lines:", "", *often, "", f"{once} lines have a reason of their own."]


def share(part: int, whole: int) -> str:
    return f"{_plain(part, whole)}, at least {lower_bound(part, whole):.1%}"


def weighted(scores: Sequence[Score], whole: Callable[[Score], int]) -> tuple[float, float]:
    """The mean over the packages, each counted by its size, and a bound: all their own bounds hold together."""
    tried = [one for one in scores if whole(one)]
    size, confidence = max(1, sum(one.size for one in tried)), 1 - 0.05 / max(1, len(tried))
    bounds = [one.size * lower_bound(one.killed, whole(one), confidence) for one in tried]
    return sum(one.size * one.killed / whole(one) for one in tried) / size, sum(bounds) / size


def lower_bound(killed: int, tried: int, confidence: float = 0.95) -> float:
    """Clopper–Pearson: the smallest share of all mutants that still explains so many killed, one-sided."""
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, killed, tried - killed + 1)) if killed else 0.0


def _counts(one: Score) -> tuple[object, ...]:
    return one.target, one.size, one.tried, one.killed, len(one.harmless), len(one.alive)


def _plain(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.1%}"


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
