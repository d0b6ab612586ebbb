"""Connections of a pool: replaced when lost, shared in turn, refused without a charge where there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

import crestline as cl
from crestline.errors import QuestionError, SourceError, SourceUnavailable
from crestline.sources.histogram_source import ReadySource
from crestline.sources.pool import Pool, PoolLimits
from tests.patience import PATIENCE

COUNTS = cl.Histogram.from_counts({"a": 9, "b": 5}, 5)


class Unreliable(ReadySource):
    """A source in memory whose connection can be cut: the fault that a server is needed for otherwise."""

    lost = False

    @contextmanager
    def ready(self) -> Iterator[Any]:
        if self.lost:
            raise SourceUnavailable("cut")
        yield self


class Server:
    """Opens connections as long as it is up, and has a clock that is moved by hand."""

    def __init__(self) -> None:
        self.up = True
        self.now = 0.0
        self.opened: list[Unreliable] = []
        self.tries = 0
        self.takes = 0.0

    def open(self) -> Unreliable:
        self.tries += 1
        self.now += self.takes
        if not self.up:
            raise SourceError("no route")
        self.opened.append(Unreliable(COUNTS))
        return self.opened[-1]

    def pool(self, **limits: Any) -> Pool:
        return Pool(self.open, PoolLimits(**limits), lambda: self.now)


def test_a_connection_that_answers_is_used_again() -> None:
    server = Server()
    pool = server.pool()
    for _ in range(3):
        with pool.ready() as source:
            assert source is server.opened[0]
    assert server.tries == 1


def test_a_lost_connection_is_replaced_before_the_question_is_asked() -> None:
    server = Server()
    pool = server.pool()
    server.opened[0].lost = True
    with pool.ready() as source:
        assert source is server.opened[1]
    with pool.ready() as source:
        assert source is server.opened[1]


@pytest.mark.parametrize(("takes", "pause"), [(0.0, 0.1), (1.5, 1.5), (10.0, 5.0)])
def test_after_a_failure_none_is_opened_for_as_long_as_it_took_and_then_one_is(takes: float, pause: float) -> None:
    server = Server()
    pool = server.pool(pause=5.0)
    server.opened[0].lost, server.up, server.takes = True, False, takes
    for share in (0.0, 0.3, 0.6, 0.9):  # what is left of the pause would tell when somebody else asked
        server.now = takes + share * pause if share else 0.0
        with pytest.raises(SourceUnavailable, match="try again in 5 seconds") as refused, pool.ready():
            pass
        assert refused.value.wait == 5
    assert server.tries == 2
    server.up, server.now = True, takes + pause
    with pool.ready() as source:
        assert source is server.opened[1]


def test_one_question_at_a_time_finds_out_whether_the_database_is_back() -> None:
    server, others = Server(), list[int]()
    pool = server.pool(connections=3, pause=5.0)
    server.opened[0].lost, server.up = True, False
    with pytest.raises(SourceUnavailable), pool.ready():
        pass
    server.up, server.now, opened = True, 1.0, server.open

    def slow() -> Unreliable:
        with pytest.raises(SourceUnavailable) as refused, pool.ready():
            pass
        others.append(server.tries - refused.value.wait)
        return opened()

    pool._opened = slow
    with pool.ready() as source:
        assert source is server.opened[1]
    assert others == [2 - 5]


def test_a_table_that_is_gone_is_no_connection_either() -> None:
    def gone() -> Unreliable:
        if opened:
            raise QuestionError("there is no table")
        opened.append(Unreliable(COUNTS))
        return opened[0]

    opened: list[Unreliable] = []
    pool = Pool(gone)
    opened[0].lost = True
    with pytest.raises(SourceUnavailable), pool.ready():
        pass


def test_what_is_wrong_with_the_first_connection_is_said_at_once() -> None:
    server = Server()
    server.up = False
    with pytest.raises(SourceError, match="no route"):
        server.pool()


def test_as_many_questions_as_there_are_connections_run_at_once() -> None:
    server = Server()
    pool = server.pool(connections=2, waiting=0)
    with pool.ready() as one, pool.ready() as other:
        assert one is not other
        with pytest.raises(SourceUnavailable, match="too many questions"), pool.ready():
            pass
    with pool.ready(), pool.ready():
        pass
    assert server.tries == 2


def test_a_question_waits_for_its_turn_and_not_for_longer_than_it_may() -> None:
    server = Server()
    pool = server.pool(connections=1, waiting=1, seconds=1e6)
    entered, answers = threading.Event(), []

    def later() -> None:
        entered.set()
        with pool.ready() as source:
            answers.append(source)

    with pool.ready():
        waiting = threading.Thread(target=later)
        waiting.start()
        assert entered.wait(PATIENCE)
    waiting.join(PATIENCE)
    assert answers == server.opened
    impatient = server.pool(connections=1, waiting=1, seconds=0.0)
    with impatient.ready(), pytest.raises(SourceUnavailable, match="busy for too long"), impatient.ready():
        pass
    with impatient.ready():  # whoever gave up has left the queue
        pass


def test_a_question_that_fails_gives_its_connection_back() -> None:
    server = Server()
    pool = server.pool(connections=1, waiting=0)
    with pytest.raises(RuntimeError), pool.ready():
        raise RuntimeError
    with pool.ready() as source:
        assert source is server.opened[0]


def test_a_terminated_connection_of_postgres_costs_nothing_and_the_next_question_is_answered(
    postgres_database: str,
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as admin:
        admin.execute('create table loans ("user" int, item text)')
        admin.execute("insert into loans select n, 'a' from generate_series(1, 400) n")
        budget = cl.Budget(epsilon=2, delta="1e-5")
        data = cl.connect(postgres_database).dataset("loans", user="user", budget=budget)
        for asked in range(1, 4):
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and datname = current_database()"
            )
            answer = data.top(k=asked, item="item", epsilon="0.5", delta="1e-6")
            assert list(answer.items) == ["a"]
        assert data.ledger.open_reservations() == []
