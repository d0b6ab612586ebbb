"""Errors of SQL texts that are no question, with the SQLSTATE that PostgreSQL has for them, and parts they quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crestline.errors import QuestionError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

SYNTAX = "42601"
NOT_SUPPORTED = "0A000"
NO_SUCH_COLUMN = "42703"
NO_SUCH_TABLE = "42P01"
NOT_PERMITTED = "42501"
READ_ONLY = "25006"
GROUPING = "42803"

_LONGEST_QUOTE = 80


class SqlError(QuestionError):
    """A SQL text that is no question; nothing was charged, and no row was read.

    Attributes:
        sqlstate: The code of five characters that PostgreSQL's drivers map to an error class.
    """

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


def quote_part(node: Node) -> str:
    """The part of the text that was not understood, shortened. It is the caller's own text and no data."""
    text = node.sql()
    return repr(text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "...")


def not_supported(node: Node, advice: str) -> SqlError:
    """The error for a part that no question can express."""
    return SqlError(NOT_SUPPORTED, f"{quote_part(node)} cannot be answered: {advice}")


def whole_number(node: Node | None) -> int | None:
    """The whole number that a literal states; None for anything else."""
    from sqlglot import exp

    node = None if node is None else node.unnest()
    written = "" if not isinstance(node, exp.Literal) or node.is_string else str(node.this)
    whole, _, rest = written.partition(".")
    return int(whole[:18]) if whole.isdecimal() and not rest.strip("0") else None
