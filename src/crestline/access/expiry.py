"""For how long a token holds: `90d`, as people write it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from crestline.errors import ParameterError

_SHAPE = re.compile(r"([1-9][0-9]{0,4})([hdw])", re.ASCII)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def expiry_time(text: str, now: datetime) -> datetime:
    """The moment until which a token holds that is made now: `12h`, `90d` or `8w` from now."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ParameterError(f"a token expires after hours, days or weeks, such as 12h, 90d or 8w, not {text!r}")
    number, unit = shape.groups()
    return now + timedelta(hours=int(number) * _HOURS[unit])
