"""The server the other tests rely on is real, and each test gets an empty database."""

from __future__ import annotations

import psycopg
import pytest

pytestmark = pytest.mark.engines


def test_a_real_server_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SHOW server_version").fetchone()
    assert row is not None
    assert int(row[0].split(".")[0]) >= 16


def test_each_test_gets_an_empty_database(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
