"""The server the other tests rely on is real, and each test gets an empty database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

pytestmark = pytest.mark.engines

LEFT_OPEN: list[Any] = []


def test_a_real_server_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SHOW server_version").fetchone()
    assert row is not None
    assert int(row[0].split(".")[0]) >= 16


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_an_empty_database(postgres_database: str, turn: int) -> None:
    """The second time there is nothing of the first: tables, functions, schemas, settings, connections."""
    held = psycopg.connect(postgres_database, autocommit=True)
    found = held.execute(
        "SELECT (SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')), "
        "(SELECT count(*) FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'public'), "
        "to_regnamespace('other'), current_setting('default_transaction_read_only'), "
        "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())"
    )
    assert found.fetchone() == (0, 0, None, "off", 1)
    held.execute("CREATE TABLE kept (n int)")
    held.execute("CREATE SCHEMA other CREATE TABLE kept (n int)")
    held.execute("CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    name = postgres_database.rpartition("/")[2]
    held.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    LEFT_OPEN.append(held)


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    yield
    for connection in LEFT_OPEN:
        connection.close()
