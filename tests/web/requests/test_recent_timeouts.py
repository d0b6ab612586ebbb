"""A question that took too long is not asked again for a while: by the same person, of the same data set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crestline.question import Question
from crestline.web.requests.recent_timeouts import SECONDS, RecentTimeouts


@pytest.mark.engines
def test_the_same_question_waits_and_no_other_does() -> None:
    now = [100.0]
    timeouts = RecentTimeouts(lambda: now[0])
    asked = Question(k=3, item=("title",))
    timeouts.note_timeout("ann", "loans", asked)
    assert timeouts.wait("ann", "loans", asked) == SECONDS
    for other in (("bob", "loans", asked), ("ann", "sales", asked), ("ann", "loans", replace(asked, k=4))):
        assert timeouts.wait(*other) == 0.0
    now[0] += SECONDS
    assert timeouts.wait("ann", "loans", asked) == 0.0
