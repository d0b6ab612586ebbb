"""From a question to the mechanism that answers it: the rules of `auto`, what is refused, and what was chosen."""

from crestline.prepare.making import total_of
from crestline.prepare.prepared import Prepared, reach_of
from crestline.prepare.preparing import describe, prepare
from crestline.prepare.rules import automatic

__all__ = ["Prepared", "automatic", "describe", "prepare", "reach_of", "total_of"]
