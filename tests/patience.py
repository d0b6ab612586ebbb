"""How long a test waits for another process before it calls it stuck.

Nothing is measured by it: it only ends what would hang for ever, and is far beyond what a machine needs that is ten
times slower than a laptop.
"""

from __future__ import annotations

PATIENCE = 1800.0
