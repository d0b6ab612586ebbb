"""An experiment as a value: cells to measure, and the pure function that measures one of them.

A paper is what one module below `papers` holds: experiments, the page drawn from their results, the published numbers
to check against, and the contests that decide who did better. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from crestline.errors import ParameterError
from crestline.exact_numbers import Exact, exact_number

if TYPE_CHECKING:
    from reproduction.data import Shelf
    from reproduction.published import Published
    from reproduction.render import Page


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error; 0 where it is computed and not simulated."""

    value: float
    error: float = 0.0


Numbers = Mapping[str, Estimate]


@dataclass(frozen=True)
class Cell:
    """One number of a table, or one point of a curve: what is run on which data.

    `data` is a file's name without its ending ("" where there is none), `label` a line of the experiment, `trials` is 0
    where the numbers are exact. `more` holds what else tells cells apart, as (name, value) pairs of text.
    """

    data: str
    label: str
    k: int
    k_bar: int
    epsilon: Fraction
    delta: Fraction
    trials: int
    more: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """A stable name: it finds a stored result, and seeds the randomness of the cell."""
        parts = [self.data, self.label, self.k, self.k_bar, self.epsilon, self.delta, self.trials]
        return "|".join([*map(str, parts), *(f"{name}={value}" for name, value in self.more)])


def cell(
    data: str, label: str, *, k: int, epsilon: Exact, delta: Exact = 0, k_bar: int = 0, trials: int = 0, **more: object
) -> Cell:
    """A cell from loose numbers; `k_bar` is k unless given."""
    extra = tuple((name, str(value)) for name, value in more.items())
    return Cell(
        data, label, k, k_bar or k, exact_number(epsilon, "epsilon"), exact_number(delta, "delta"), trials, extra
    )


Measure = Callable[[Cell, "Shelf"], Numbers]


@dataclass(frozen=True)
class Experiment:
    """Cells, and how one is measured. Raise `version` when measuring changes: stored cells are then run again.

    `quick` chooses the cells of `python -m reproduction --quick`.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    measure: Measure
    quick: Callable[[Cell], bool] = lambda cell: False
    version: int = 1


@dataclass(frozen=True)
class Check:
    """A published number and the cell that should give it.

    `trials` is how many the published mean was taken over (0: it is exact). `spread` is an experiment whose cell of the
    same name says, as its error, how much the number moves with data that were put together again. `known` explains a
    difference that is understood; such a check does not fail.
    """

    experiment: str
    cell: Cell
    metric: str
    published: float
    trials: int = 0
    spread: str = ""
    known: str = ""


@dataclass(frozen=True)
class Contest:
    """Our recommended mechanism against every published one, at one place and one measure (larger is better)."""

    place: str
    metric: str
    ours: Estimate
    label: str
    others: Mapping[str, Estimate]


class Results(dict[tuple[str, str], Numbers]):
    """What was measured, by (experiment, cell key)."""

    def of(self, experiment: Experiment | str, cell: Cell) -> Numbers:
        """The numbers of a cell; empty while it has not been run."""
        name = experiment if isinstance(experiment, str) else experiment.name
        return self.get((name, cell.key), {})


def _nothing(*_: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Paper:
    """One page of docs/results: experiments, the page, published numbers to check, contests for the summary."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    page: Callable[[Results, Published], Page]
    checks: Callable[[Published], Iterable[Check]] = field(default=_nothing)
    contests: Callable[[Results], Iterable[Contest]] = field(default=_nothing)


def chosen(papers: Iterable[Paper], names: Iterable[str]) -> Iterator[Experiment]:
    """The experiments that go by these names, or belong to the papers that do; all of them without a name."""
    shelf, wanted = tuple(papers), tuple(names)
    known = {paper.name for paper in shelf} | {one.name for paper in shelf for one in paper.experiments}
    for name in wanted:
        if name not in known:
            raise ParameterError(f"there is no experiment {name!r}; choose among: {', '.join(sorted(known))}")
    for paper in shelf:
        for one in paper.experiments:
            if not wanted or paper.name in wanted or one.name in wanted:
                yield one
