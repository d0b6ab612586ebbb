"""Broken rows: malformed rows of one user, which must not affect the rows of others (data only).

A clean table has the columns `user`, `item` and `value`. The rows of others come before and after the broken row.
"""

from __future__ import annotations

from dataclasses import dataclass

from crestline.audit.program.failing_filters import USER

_NAME = USER.encode()
_LONG = b"x" * 3_000_000


@dataclass(frozen=True)
class BrokenRow:
    """A row of one user.

    Attributes:
        why: What is wrong with it.
        line: Its bytes.
        first: Whether it comes before the rows of all others.
    """

    why: str
    line: bytes
    first: bool = False


CSV_LINES: tuple[BrokenRow, ...] = (
    BrokenRow("a well-formed line", _NAME + b",tea,1\n"),
    BrokenRow("a quote that is opened and never closed", _NAME + b',"tea,1\n'),
    BrokenRow("a quote that is opened in the last field", _NAME + b',tea,"1\n'),
    BrokenRow("text after a closing quote", _NAME + b',"a"b,1\n'),
    BrokenRow("text after a closing quote that is opened again", _NAME + b',"a"b"c,1\n'),
    BrokenRow("a quote within a field", _NAME + b',te"a,1\n'),
    BrokenRow("nothing but a quote", b'"\n'),
    BrokenRow("a backslash before a quote", _NAME + b',"tea\\",1\n'),
    BrokenRow("a carriage return within a field", _NAME + b",te\ra,1\n"),
    BrokenRow("a carriage return within quotes", _NAME + b',"te\ra",1\n'),
    BrokenRow("a line that ends like Windows lines", _NAME + b",tea,1\r\n"),
    BrokenRow("a line that ends with two carriage returns", _NAME + b",tea,1\r\r\n"),
    BrokenRow("a line break within quotes", _NAME + b',"te\na",1\n'),
    BrokenRow("an empty line", b"\n"),
    BrokenRow("a line of blanks", b"   \n"),
    BrokenRow("too few fields", _NAME + b",tea\n"),
    BrokenRow("a user alone", _NAME + b"\n"),
    BrokenRow("too many fields", _NAME + b",tea,1,2,3\n"),
    BrokenRow("another delimiter", _NAME + b";tea;1\n"),
    BrokenRow("a zero byte", _NAME + b",te\0a,1\n"),
    BrokenRow("bytes that are no UTF-8", _NAME + b",caf\xe9,1\n"),
    BrokenRow("half of a character at the end of a line", _NAME + b",caf\xc3\n"),
    BrokenRow("text of another encoding", "mallory,tea,1\n".encode("utf-16")),
    BrokenRow("a mark of byte order", b"\xef\xbb\xbf" + _NAME + b",tea,1\n"),
    BrokenRow("the header once more", b"user,item,value\n"),
    BrokenRow("a comment", b"# mallory,tea,1\n"),
    BrokenRow("a very long line", _NAME + b"," + _LONG + b",1\n"),
    BrokenRow("very many fields", _NAME + b",tea" * 30_000 + b"\n"),
    BrokenRow("the character of the end of a file", _NAME + b",te\x1aa,1\n"),
    BrokenRow("separators that only Unicode knows", _NAME + ",te\u2028\u0085a,1\n".encode()),
    BrokenRow("bytes that are no UTF-8, before everybody", _NAME + b",caf\xe9,1\n", first=True),
    BrokenRow("an open quote, before everybody", _NAME + b',"tea,1\n', first=True),
    BrokenRow("a line that ends like Windows lines, before everybody", _NAME + b",tea,1\r\n", first=True),
    BrokenRow("a line without an end", _NAME + b",tea,1"),
    BrokenRow("an open quote without an end of the line", _NAME + b',"tea,1'),
)

JSON_LINES: tuple[BrokenRow, ...] = (
    BrokenRow("a well-formed line", b'{"user": "mallory", "item": "tea", "value": 1}\n'),
    BrokenRow("no object", b"[1, 2]\n"),
    BrokenRow("a number alone", b"5\n"),
    BrokenRow("null", b"null\n"),
    BrokenRow("no JSON at all", b"mallory,tea,1\n"),
    BrokenRow("a key twice", b'{"user": "mallory", "user": "alice", "item": "tea", "item": "x"}\n'),
    BrokenRow("an object that is cut off", b'{"user": "mallory", "item": "te\n'),
    BrokenRow("an object that is cut off after a value", b'{"user": "mallory", "item": "tea"\n'),
    BrokenRow("an object that is never opened", b'"user": "mallory"}\n'),
    BrokenRow("deep nesting", b'{"user": "mallory", "item": ' + b"[" * 5_000 + b"]" * 5_000 + b"}\n"),
    BrokenRow("nesting that is never closed", b'{"user": "mallory", "item": ' + b"[" * 5_000 + b"\n"),
    BrokenRow("half of a pair of surrogates", b'{"user": "mallory", "item": "\\ud83d", "value": 1}\n'),
    BrokenRow("an escape that is none", b'{"user": "mallory", "item": "\\x41", "value": 1}\n'),
    BrokenRow("other keys", b'{"patient": "mallory", "diagnosis": "tea"}\n'),
    BrokenRow("one key more", b'{"user": "mallory", "item": "tea", "value": 1, "status": "secret"}\n'),
    BrokenRow("keys in capitals", b'{"USER": "mallory", "ITEM": "tea"}\n'),
    BrokenRow("an empty key", b'{"": 1, "user": "mallory", "item": "tea"}\n'),
    BrokenRow("an empty object", b"{}\n"),
    BrokenRow("a huge number", b'{"user": "mallory", "item": 1e999999, "value": ' + b"9" * 5_000 + b"}\n"),
    BrokenRow("a number that JSON does not know", b'{"user": "mallory", "item": NaN, "value": -Infinity}\n'),
    BrokenRow("an object where text is usual", b'{"user": {"name": "mallory"}, "item": {"a": [1]}, "value": {}}\n'),
    BrokenRow("bytes that are no UTF-8", b'{"user": "mallory", "item": "caf\xe9", "value": 1}\n'),
    BrokenRow("a zero byte", b'{"user": "mallory", "item": "te\0a", "value": 1}\n'),
    BrokenRow("an escaped zero byte", b'{"user": "mallory", "item": "te\\u0000a", "value": 1}\n'),
    BrokenRow("a carriage return before the end", b'{"user": "mallory", "item": "tea", "value": 1}\r\n'),
    BrokenRow("two objects on a line", b'{"user": "mallory", "item": "tea"}{"user": "alice", "item": "x"}\n'),
    BrokenRow("an object over two lines", b'{"user": "mallory",\n"item": "tea"}\n'),
    BrokenRow("an empty line", b"\n"),
    BrokenRow("a mark of byte order", b'\xef\xbb\xbf{"user": "mallory", "item": "tea"}\n'),
    BrokenRow("a very long line", b'{"user": "mallory", "item": "' + _LONG + b'"}\n'),
    BrokenRow("other keys, before everybody", b'{"patient": "mallory", "diagnosis": "tea"}\n', first=True),
    BrokenRow("one key more, before everybody", b'{"user": "mallory", "item": "tea", "hiv_status": 1}\n', first=True),
    BrokenRow("no object, before everybody", b"[1, 2]\n", first=True),
    BrokenRow("bytes that are no UTF-8, before everybody", b'{"user": "mallory", "item": "\xe9"}\n', first=True),
    BrokenRow("an object that is cut off, before everybody", b'{"user": "mallory", "item": "te\n', first=True),
    BrokenRow("an empty line, before everybody", b"\n", first=True),
    BrokenRow("a line without an end", b'{"user": "mallory", "item": "tea", "value": 1}'),
)

# Extreme values that a column of a type can hold, so that one user can add them: a unique name, the Arrow type, and the
# value. Timestamps are integers since 1970 in their unit.
TYPED_VALUES: tuple[tuple[str, str, object], ...] = (
    ("a moment in seconds beyond microseconds", "timestamp[s]", 9_223_372_036_855),
    ("a moment in seconds before microseconds", "timestamp[s]", -9_223_372_036_856),
    ("the last moment in seconds", "timestamp[s]", 2**63 - 2),
    ("a moment in milliseconds beyond microseconds", "timestamp[ms]", 9_223_372_036_854_776),
    ("the last moment in milliseconds", "timestamp[ms]", 2**63 - 2),
    ("the last moment in microseconds", "timestamp[us]", 2**63 - 2),
    ("the first moment in microseconds with a zone", "timestamp[us, tz=UTC]", -(2**63) + 2),
    ("the last moment in nanoseconds", "timestamp[ns]", 2**63 - 2),
    ("a day outside the calendar", "date32[day]", 2**31 - 2),
    ("a day before the calendar", "date32[day]", -(2**31) + 3),
    ("a decimal of 38 digits", "decimal128(38, 0)", 10**38 - 1),
    ("a decimal of 38 digits after the point", "decimal128(38, 38)", 0),
    ("the largest whole number", "int64", 2**63 - 1),
    ("the smallest whole number", "int64", -(2**63)),
    ("the largest whole number without a sign", "uint64", 2**64 - 1),
    ("no number", "double", float("nan")),
    ("infinity", "double", float("inf")),
    ("negative infinity in short", "float", float("-inf")),
    ("empty text", "string", ""),
    ("a megabyte of text", "string", "é" * 500_000),
    ("text with a zero byte", "string", "te\0a"),
    ("text that ends in a blank", "string", "tea "),
    ("bytes", "binary", b"\xff\x00"),
    ("null", "string", None),
)

# Types and values of a column in two files of one glob; the second file holds the rows of the one user.
GLOBS: tuple[tuple[str, str, object, str, object], ...] = (
    ("a longer integer", "int32", 1, "int64", 2**40),
    ("text after numbers", "int64", 1, "string", "tea"),
    ("numbers after text", "string", "tea", "int64", 1),
    ("microseconds after nanoseconds", "timestamp[ns]", 10**18, "timestamp[us]", 2**62),
    ("milliseconds after microseconds", "timestamp[us]", 10**15, "timestamp[ms]", 2**62),
    ("a wider decimal", "decimal128(9, 2)", 1, "decimal128(38, 0)", 10**38 - 1),
    ("floats after integers", "int64", 1, "double", 1e300),
    ("integers without a sign", "int64", 1, "uint64", 2**64 - 1),
    ("bytes after text", "string", "tea", "binary", b"\xff"),
    ("the same type", "int64", 1, "int64", 2),
)
