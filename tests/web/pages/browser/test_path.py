"""The whole path in a real browser: sign in, ask, see the chart, run out of budget, see the refusal."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.pages.browser.conftest import TELEPHONE, Window, Windows

pytestmark = pytest.mark.slow

QUESTION = re.compile(r"^The ([0-9]+ )?values? of")
COUNTED = "The 5 values of 'title' with the most users"  # of the past: with numbers


def heading(page: Page, words: str | re.Pattern[str]) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


def walk(window: Window, who: str, name: str) -> None:
    """From the token to the refusal; nothing but clicks and keys."""
    page = window.page
    window.open("/history")
    heading(page, "Sign in to ask")
    window.sign_in(who)
    page.get_by_role("link", name="loans", exact=True).click()
    heading(page, "Ask loans")
    page.locator("#k").fill("4")
    page.get_by_label("With numbers").check()
    page.get_by_text("More:").click()
    page.get_by_label("Filter").fill("country = 'DE'")
    page.get_by_label("ε of this answer").fill("2")
    page.get_by_label("Users, roughly").fill("1000")
    page.locator("aside").get_by_role("button", name="Forecast").click()
    said = page.locator("#said")
    expect(said).to_contain_text("The 4 values of 'title' with the most users, where country = 'DE'")
    expect(said).to_contain_text("Nothing was asked yet. It fits what is left.")
    expect(said).to_contain_text("of 4 items")
    window.keep(f"forecast-{name}")
    page.locator("button[value=ask]").click()
    heading(page, QUESTION)
    see_the_chart(page)
    window.keep(f"answer-{name}")
    page.get_by_role("link", name="History").click()
    expect(page.locator("main li").first).to_contain_text(
        "The 4 values of 'title' with the most users, where country = 'DE'"
    )
    run_out(window)
    window.keep(f"refused-{name}")
    page.get_by_role("link", name="Budget", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text("% used")
    page.get_by_role("button", name="Sign out").click()
    heading(page, "Sign in to ask")


def see_the_chart(page: Page) -> None:
    """Bars fall with the counts of the table, and every bar has its whisker."""
    # all at once: a page that is still being laid out may change its width between one bar and the next
    widths = page.locator("svg .bar").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    counts = [float(value.inner_text().replace(",", "")) for value in page.locator(".bars .value").all()]
    assert len(widths) == len(counts) >= 3
    for width, count in zip(widths, counts, strict=True):
        assert abs(width / widths[0] - count / counts[0]) < 0.02
    assert page.locator(".bars .whisker").count() == len(counts)
    text = page.get_by_role("main").inner_text()
    for words in ("Paid:", "questions left", "95% interval", "What was promised:"):
        assert words in text


def run_out(window: Window) -> None:
    """What is left does not cover this, and the page says so; the question stands as it was written."""
    window.ask("loans", k="7", epsilon="5")
    expect(window.page.get_by_role("alert")).to_contain_text("Refused, and nothing was charged. The budget of")
    expect(window.page.locator("#k")).to_have_value("7")
    assert "/datasets/loans" in window.page.url


def test_the_whole_path(windows: Windows) -> None:
    walk(windows(), "ann", "desk-light")


def test_the_whole_path_without_a_script_on_a_telephone_in_the_dark(windows: Windows) -> None:
    window = windows(script=False, dark=True, size=TELEPHONE)
    walk(window, "bob", "telephone-dark")


def test_a_forecast_loads_no_page_where_scripts_run(windows: Windows) -> None:
    window = windows()
    window.sign_in("cyd")
    window.open("/datasets/visits")
    window.page.evaluate("window.mark = 1")
    button = window.page.locator("aside").get_by_role("button", name="Forecast")
    window.page.locator("#k").fill("3")
    button.click()
    expect(window.page.locator("#said")).to_contain_text("The 3 values")
    assert window.page.evaluate("window.mark") == 1
    window.page.get_by_text("More:").click()
    window.page.get_by_label("ε of this answer").fill("nonsense")
    button.click()
    expect(window.page.get_by_role("alert")).to_contain_text("Epsilon must be a number")
    expect(window.page.get_by_label("ε of this answer")).to_have_attribute("aria-invalid", "true")
    expect(window.page.locator("#epsilon-error")).to_contain_text("Epsilon must be a number")
    window.page.context.clear_cookies()
    button.click()
    heading(window.page, "Sign in to ask")


@pytest.mark.parametrize("arrives", [False, True], ids=["before the charge", "after it"])
def test_a_question_that_runs_can_be_cancelled(windows: Windows, arrives: bool) -> None:
    """The answer does not come back to the page; the question reaches the service, or does not."""
    window = windows()
    page = window.page
    window.sign_in("cyd")
    window.open("/datasets/visits")
    reached: list[int] = []

    def hold(route: Route) -> None:
        if arrives:
            reached.append(route.fetch(max_redirects=0).status)

    page.route("**/datasets/visits*", hold)
    page.get_by_text("More:").click()
    page.get_by_label("ε of this answer").fill("0.02" if arrives else "0.01")  # no stored answer
    page.locator("button[value=ask]").click()
    said = page.locator("#said")
    expect(said).to_contain_text("The question waits for its turn, or runs")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    window.keep(f"running-{arrives}")
    while arrives and not reached:
        page.wait_for_timeout(20)
    page.get_by_role("button", name="Cancel").click()
    if arrives:
        expect(said).to_contain_text("It was charged before you cancelled it, and stays charged.")
        page.get_by_role("link", name="See the answer").click()
        heading(page, QUESTION)
    else:
        expect(said).to_contain_text("Cancelled. Nothing was charged.")
        page.unroute("**/datasets/visits*")
        page.locator("button[value=ask]").click()  # the form can be used again
        heading(page, QUESTION)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_says_which_step_a_question_is_at(windows: Windows, dark: bool) -> None:
    window = windows(size=TELEPHONE, dark=dark)
    page = window.page
    window.sign_in("cyd")
    window.open("/datasets/visits")
    step = "waiting"
    page.route("**/datasets/visits*", lambda route: None)  # it never comes back
    page.route("**/progress", lambda route: route.fulfill(json={"step": step}))
    page.locator("button[value=ask]").click()
    said = page.locator("#said")
    expect(said).to_contain_text("It waits for a place. Nothing is charged yet")
    step = "counting"
    expect(said).to_contain_text("It is charged, and the database counts")
    step = "unknown"  # another process has it
    page.wait_for_timeout(100)
    expect(said).to_contain_text("It is charged, and the database counts")
    assert said.evaluate("element => getComputedStyle(element).opacity") == "1"  # it can be read, and cancelled
    window.keep(f"step-{dark}")


def test_an_answer_is_copied_and_kept(windows: Windows) -> None:
    window = windows()
    page = window.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    window.sign_in("olga")
    window.open("/history")
    page.get_by_role("link", name=COUNTED).first.click()
    page.get_by_text("As Python", exact=True).click()
    page.get_by_role("button", name="Copy as Python").click()
    expect(page.get_by_role("status").filter(has_text="Copied.")).to_be_visible()
    assert "urllib.request.Request(" in page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as kept:
        page.get_by_role("link", name="CSV").click()
    assert kept.value.path().read_text().startswith("rank,title,count,low,high")


def test_with_the_keyboard_alone(windows: Windows) -> None:
    window = windows()
    window.open()
    keys, focused = window.page.keyboard, window.page.locator(":focus")
    keys.press("Tab")
    expect(focused).to_have_text("Skip to the content")
    window.page.get_by_label("Token").focus()
    keys.type(window.token("cyd"))
    keys.press("Enter")
    heading(window.page, "What would you like to know?")
    reach(window.page, "a[href='/datasets/loans']")
    keys.press("Enter")
    heading(window.page, "Ask loans")
    reach(window.page, "#k")
    keys.type("2")
    reach(window.page, "button[value=ask]")
    outline = window.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"  # the focus can be seen
    keys.press("Enter")
    heading(window.page, QUESTION)


def reach(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached with the keyboard")


def test_an_owner_sees_every_analyst_and_an_analyst_only_themselves(windows: Windows) -> None:
    owner, analyst = windows(), windows()
    owner.sign_in("olga")
    analyst.sign_in("eve")
    for path in ("/budget", "/history"):
        owner.open(path)
        analyst.open(path)
        assert {"dan", "eve"} <= words(owner.page)
        assert "eve" in words(analyst.page)
        assert "dan" not in words(analyst.page)
    owner.open("/history")
    foreign = owner.page.locator("main li").filter(has_text="dan").get_by_role("link", name=QUESTION).first
    address = foreign.get_attribute("href")
    foreign.click()
    heading(owner.page, QUESTION)
    analyst.open(str(address))
    heading(analyst.page, "You may not see this")


def words(page: Page) -> set[str]:
    return set(re.findall(r"\w+", page.locator("body").inner_text()))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_reader_chooses_light_or_dark(windows: Windows, dark: bool) -> None:
    window = windows(dark=dark)
    window.open()
    colour = window.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", colour))) / 3
    assert brightness < 60 if dark else brightness > 200


def test_the_browser_keeps_scripts_of_others_out(windows: Windows) -> None:
    window = windows()
    window.open()
    window.page.evaluate(
        "() => { const foreign = document.createElement('script'); foreign.textContent = 'window.harm = 1'; "
        "document.body.append(foreign); }"
    )
    assert window.page.evaluate("window.harm") is None
    assert window.complaints
    assert all("Content Security Policy" in text for text in window.complaints)
    window.complaints.clear()


def test_nothing_is_wider_than_a_telephone(windows: Windows) -> None:
    window = windows(size=TELEPHONE)
    window.sign_in("olga")
    window.open("/history")
    page = window.page
    address = page.get_by_role("link", name=COUNTED).first.get_attribute("href")
    for path in ("/", "/datasets/loans", "/budget", "/history", "/how", "/owner", str(address)):
        window.open(path)
        for folded in page.locator("details > summary").all():
            folded.click()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= TELEPHONE["width"], path
