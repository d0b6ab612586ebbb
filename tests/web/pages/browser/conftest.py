"""Chromium without a window, driven by Playwright, and the server it looks at. One of each for all tests here.

Screenshots are made where CRESTLINE_SCREENSHOTS names a folder for them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.web.pages.browser.site import Site, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_PATIENCE = 600_000  # milliseconds: a busy machine is slow, not broken
DESK: ViewportSize = {"width": 1280, "height": 900}
TELEPHONE: ViewportSize = {"width": 390, "height": 844}

expect.set_options(timeout=_PATIENCE)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        missing = "Chromium is not installed (Debian: apt-get install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS, timeout=2 * _PATIENCE)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("site")) as started:
        yield started


@pytest.fixture(scope="package")
def screenshots() -> Path | None:
    named = os.environ.get("CRESTLINE_SCREENSHOTS")
    if named is None:
        return None
    folder = Path(named)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Window:
    """One visitor's browser window. It notes everything the browser complains about."""

    def __init__(self, page: Page, site: Site, folder: Path | None) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._site = site
        self._folder = folder
        page.set_default_timeout(_PATIENCE)
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "status of 4" not in text:  # a refusal is a page, too
            self.complaints.append(text)

    def open(self, path: str = "/") -> None:
        self.page.goto(self._site.url + path)

    def token(self, who: str) -> str:
        return self._site.tokens[who]

    def sign_in(self, who: str) -> None:
        self.open()
        self.page.get_by_label("Token").fill(self.token(who))
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text("What would you like to know?")

    def ask(self, dataset: str = "loans", button: str = "Ask", **fields: str) -> None:
        """Fill in the form and press a button."""
        self.open(f"/datasets/{dataset}")
        self.page.get_by_text("More:").click()
        for label, value in fields.items():
            self.page.locator(f"#{label}").fill(value)
        self.page.locator(f"aside button[value={button.lower()}]").click()

    def keep(self, name: str) -> None:
        """A screenshot of the whole page, where they are wanted."""
        if self._folder is not None:
            self.page.screenshot(path=self._folder / f"{name}.png", full_page=True)


class Windows:
    """Opens windows; every one is closed with the test."""

    def __init__(self, browser: Browser, site: Site, folder: Path | None) -> None:
        self._browser, self._site, self._folder = browser, site, folder
        self._open: list[Window] = []

    def __call__(self, *, dark: bool = False, script: bool = True, size: ViewportSize | None = None) -> Window:
        context = self._browser.new_context(
            color_scheme="dark" if dark else "light", java_script_enabled=script, viewport=size or DESK
        )
        window = Window(context.new_page(), self._site, self._folder)
        self._open.append(window)
        return window

    def close(self) -> list[str]:
        for window in self._open:
            window.page.context.close()
        return [complaint for window in self._open for complaint in window.complaints]


@pytest.fixture
def windows(browser: Browser, site: Site, screenshots: Path | None) -> Iterator[Windows]:
    opened = Windows(browser, site, screenshots)
    yield opened
    assert opened.close() == [], "the browser complained"
