"""axe-core finds nothing on any page, light and dark; and it does find a fault that is there."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

from tests.web.pages.browser.conftest import TELEPHONE, Window, Windows

pytestmark = pytest.mark.slow

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


# The elements of a page are the same in the dark and on a telephone; their colours and sizes are not.
SEEN = ("color-contrast", "scrollable-region-focusable", "target-size")


def faults(window: Window, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds, by some rules or by all."""
    window.page.evaluate(AXE)
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    result: dict[str, Any] = window.page.evaluate("options => axe.run(document, options)", options)
    return [f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html']}" for fault in result["violations"]]


COUNTED = "The 5 values of 'title' with the most users"  # of the past: with numbers
PAGES = (
    "/",
    "/datasets/loans",
    "/budget",
    "/history",
    "/how",
    "/owner",
    "/history?find=DE",
    "/answers/0",
    "/nowhere",
    "/docs",
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_has_a_fault(windows: Windows, dark: bool) -> None:
    window = windows(dark=dark, size=TELEPHONE if dark else None)
    name = "dark" if dark else "light"
    rules = SEEN if dark else ()
    window.open()
    found = {"sign in": faults(window, rules)}
    window.keep(f"sign-in-{name}")
    window.sign_in("olga")
    for path in PAGES:
        window.open(path)
        found[path] = faults(window, rules)
        window.keep(f"page{path.replace('/', '-').partition('?')[0]}-{name}")
    window.open("/history")
    window.page.get_by_role("link", name=COUNTED).first.click()
    window.page.get_by_role("heading", name="What came back").wait_for()
    for code in ("As curl", "As Python"):
        window.page.get_by_text(code, exact=True).click()
    found["answer"] = faults(window, rules)
    window.keep(f"whole-answer-{name}")
    window.ask("visits", "Forecast")
    window.page.get_by_text("Nothing was asked yet").wait_for()
    found["forecast"] = faults(window, rules)
    window.ask("visits", epsilon="50")
    window.page.get_by_role("alert").wait_for()
    found["refusal"] = faults(window, rules)
    window.ask("visits", "Forecast", k="1000")
    window.page.locator("#k-error").wait_for()
    found["error"] = faults(window, rules)
    window.keep(f"error-{name}")
    assert {page: fault for page, fault in found.items() if fault} == {}


def test_a_fault_that_is_there_is_found(windows: Windows) -> None:
    window = windows()
    window.open()
    window.page.evaluate("document.querySelector('label').remove()")
    window.page.evaluate("document.documentElement.removeAttribute('lang')")
    ids = {fault.partition(":")[0] for fault in faults(window)}
    assert {"label", "html-has-lang"} <= ids


def test_a_colour_that_cannot_be_read_in_the_dark_is_found(windows: Windows) -> None:
    window = windows(dark=True, size=TELEPHONE)
    window.open()
    assert faults(window, SEEN) == []
    window.page.evaluate("document.querySelector('h1').style.color = '#444'")
    assert [fault.partition(":")[0] for fault in faults(window, SEEN)] == ["color-contrast"]
