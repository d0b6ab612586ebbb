"""Gaps of engines, which are tests that are known to fail there and must not pass unnoticed; and a store for files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from crestline.sources.files.files import read_carefully
from tests.sources.gaps import gap


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        engine = getattr(getattr(item, "cls", None), "tested_engine", None)
        reason = None if engine is None else gap(engine, item.name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=f"{engine}: {reason}", strict=True))


@pytest.fixture(scope="session")
def store() -> Iterator[str]:
    """The address of a store that speaks S3; what a test leaves there, others see."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["fast", "careful"], scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways of reading files, which have one meaning."""
    with read_carefully() if request.param == "careful" else nullcontext():
        yield request.param
