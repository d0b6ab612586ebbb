"""What is used of an engine, and a connection to one: how long a statement may take, and how the connection ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from crestline.sources.engine.dialects.functions import Expression

Driver: TypeAlias = Any  # the engine's own connection or session: each driver has its own, and they have no types


class Engine(Protocol):
    """An Ibis backend, as far as every engine has the same."""

    @property
    def name(self) -> str:
        """What Ibis calls the engine, such as `duckdb`."""
        ...

    @property
    def con(self) -> Driver:
        """The connection underneath."""
        ...

    def list_tables(self) -> list[str]:
        """Names of the tables of the schema that is read where none is named."""
        ...

    @property
    def compiler(self) -> Driver:
        """What makes SQL of an expression."""
        ...

    @property
    def _session(self) -> Driver:
        """Of Spark alone."""
        ...

    @property
    def dialect(self) -> Driver:
        """In which dialect."""
        ...

    def table(self, name: str, /, *, database: str | None = None) -> Expression: ...

    def compile(self, expression: Expression, /) -> str: ...

    def raw_sql(self, statement: str, /) -> Driver: ...

    def to_pyarrow(self, expression: Expression, /) -> Expression: ...

    def disconnect(self) -> None: ...

    def _run_pre_execute_hooks(self, expression: Expression, /) -> None: ...


class DuckDB(Engine, Protocol):
    """What files need of a DuckDB besides."""

    def read_csv(self, paths: list[str], /, *, table_name: str, **options: object) -> Expression: ...

    def read_json(self, paths: list[str], /, *, table_name: str, **options: object) -> Expression: ...


@dataclass(frozen=True)
class Connection:
    """An engine, the seconds after which a statement is given up, and what ends it if it was opened for one source."""

    engine: Engine
    timeout: float
    close: Callable[[], None] | None = None
