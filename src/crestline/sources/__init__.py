"""Stage 1: any database to a ranked histogram. The only place that speaks to an engine."""

from crestline.sources.open import open_source
from crestline.sources.source import Source

__all__ = ["Source", "open_source"]
