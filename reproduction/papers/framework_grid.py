"""The settings of [FW]: data, labels, and the cells of its figures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reproduction.experiment import Cell, cell

EPSILONS = ("0.01", *(f"{i / 20:g}" for i in range(1, 21)))
KS = (10, 50, 100)
MULTIPLES = (1, 10, 50)
RARE = "explained: one of their 100 trials named an item, none of ours did"
TRIALS = 400
THEIR_TRIALS = 100
DELTA_BOUND = 8
EXTRA = (0, 10**8, 10**9, 10**10)
EXTRA_EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.6", "0.8", "1")

RG, LD, OUR_RG, AUTO = "RG, published", "LD, published", "RestrictedGumbel", "auto"
TS, EM, LISTED = "TS, private", "EM, public items", "auto, public list"
LL, RN, BOUNDED = "LL, published", "RN, published", "auto, Δ = 8"

CURVES, SPREAD, AUTOS, RIVALS, BOUNDS, EXTRAS = (
    "framework-curves",
    "framework-spread",
    "framework-auto",
    "framework-rivals",
    "framework-bounded",
    "framework-extra",
)


@dataclass(frozen=True)
class Set:
    """A data set: its file, its number in the published figures, its name, its users; `own` if it is the paper's."""

    file: str
    figure: str
    paper: str
    users: int
    own: bool

    @property
    def name(self) -> str:
        return self.paper if self.own else f"{self.paper} (stand-in)"


FOURSQUARE = Set("FOURSQUARE_NYC_TKY_RECON", "2", "Foursquare", 2293, True)
DATA = (
    FOURSQUARE,
    Set("YELP_TIPS_SYNTH", "1", "Yelp tips", 365869, False),
    Set("GOWALLA_SYNTH", "3", "Gowalla", 107092, False),
)


def place(data: Set, label: str, k: int, k_bar: int, epsilon: str, trials: int = TRIALS, **more: object) -> Cell:
    """The cell of a setting: δ = 1/(2n), as in the paper."""
    delta = Fraction(1, 2 * data.users)
    return cell(data.file, label, k=k, k_bar=k_bar, epsilon=epsilon, delta=delta, trials=trials, **more)


def _all(*labels: str, multiples: tuple[int, ...]) -> tuple[Cell, ...]:
    return tuple(
        place(data, label, k, many * k, epsilon)
        for data in DATA
        for k in KS
        for many in multiples
        for epsilon in EPSILONS
        for label in labels
    )


def curves() -> tuple[Cell, ...]:
    """Figures 4 and 5: RG against LD at three k_bar, and ours at the same."""
    return _all(RG, LD, OUR_RG, multiples=MULTIPLES)


def autos() -> tuple[Cell, ...]:
    """What `auto` does with the same question; it decides on k_bar itself."""
    return _all(AUTO, multiples=(1,))


def rivals() -> tuple[Cell, ...]:
    """TS, and the exponential mechanism over a public list of all items."""
    return _all(TS, EM, LISTED, multiples=(1,))


def bounded() -> tuple[Cell, ...]:
    """Users of at most eight items: LimitDomain-Laplace, RestrictedNormal, and what `auto` takes."""
    return _all(LL, RN, BOUNDED, multiples=(10,))


def extras() -> tuple[Cell, ...]:
    """Figure 7: the exponential mechanism when the public list holds many more items of count one."""
    return tuple(
        place(data, EM, k, k, epsilon, trials=100, extra=extra)
        for data in DATA
        for k in KS
        for extra in EXTRA
        for epsilon in EXTRA_EPSILONS
    )
