"""From a question to the mechanism that answers it: the rules of `auto`, and what was chosen with its cost."""

from crestline.prepare.prepared import Prepared, describe, prepare, reach_of, total_of
from crestline.prepare.rules import automatic

__all__ = ["Prepared", "automatic", "describe", "prepare", "reach_of", "total_of"]
