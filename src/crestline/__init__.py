"""crestline: differentially private top-k over any database.

question → sources → histogram → mechanisms (+ randomness) → guarantees → ledger → answer

    question     fields of a question
    sources      from any database to a ranked histogram; the only stage that sends statements to an engine
    histogram    all that a mechanism may see
    mechanisms   from a histogram to a selection
    randomness   exact noise, and exact comparisons of noisy keys
    guarantees   guarantees as values, and the theorems that add them up
    ledger       what has been charged
    answer       the released items, with their guarantee and bill
    ask          all stages in one function

Public names are imported on first use, so that `import crestline` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crestline import errors as errors
    from crestline import examples as examples
    from crestline import mechanisms as mechanisms
    from crestline.answer.answer import Answer as Answer
    from crestline.guarantees.guarantee import ZCDP as ZCDP
    from crestline.guarantees.guarantee import ApproxDP as ApproxDP
    from crestline.guarantees.guarantee import BoundedRange as BoundedRange
    from crestline.guarantees.guarantee import PureDP as PureDP
    from crestline.histogram.histogram import Histogram as Histogram
    from crestline.ledger.budget import Budget as Budget
    from crestline.ledger.budget import Window as Window
    from crestline.ledger.ledger import Ledger as Ledger
    from crestline.mechanisms.selection import Selection as Selection
    from crestline.randomness import entropy as entropy
    from crestline.session import connect as connect
    from crestline.session import report as report
    from crestline.session import sql as sql
    from crestline.session import top_k as top_k
    from crestline.sources.files.s3 import S3 as S3

__version__ = "0.1.0"

_HOMES = {
    "Answer": "crestline.answer.answer",
    "Budget": "crestline.ledger.budget",
    "Ledger": "crestline.ledger.ledger",
    "connect": "crestline.session",
    "report": "crestline.session",
    "sql": "crestline.session",
    "top_k": "crestline.session",
    "ApproxDP": "crestline.guarantees.guarantee",
    "BoundedRange": "crestline.guarantees.guarantee",
    "Histogram": "crestline.histogram.histogram",
    "PureDP": "crestline.guarantees.guarantee",
    "S3": "crestline.sources.files.s3",
    "Selection": "crestline.mechanisms.selection",
    "Window": "crestline.ledger.budget",
    "ZCDP": "crestline.guarantees.guarantee",
}
_MODULES = {
    "entropy": "crestline.randomness.entropy",
    "errors": "crestline.errors",
    "examples": "crestline.examples",
    "mechanisms": "crestline.mechanisms",
}

__all__ = [*sorted(_HOMES), *sorted(_MODULES), "__version__"]


if not TYPE_CHECKING:  # type checkers see the imports above, and refuse any other name

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            value = import_module(_MODULES[name])
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
