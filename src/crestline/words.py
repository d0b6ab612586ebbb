"""The owner's words for users and columns, in which `Question.words` says a question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from crestline.errors import ParameterError
from crestline.label_text import printable_text

USER, VERB = "user", "verb"  # keys of `words`; every other key is a column
LONGEST_WORD = 60
LONGEST_TITLE = 100
LONGEST_DESCRIPTION = 1000
_PLURAL = re.compile(r".*[^sui]s", re.IGNORECASE | re.DOTALL)  # customers; not glass, campus, basis
_SIBILANT = re.compile(r"(.*(?:ss|x|ch|sh))es", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Words:
    """What an owner calls users and columns.

    Attributes:
        nouns: Singular and plural of columns, and of the user under the key "user".
        verb: What joins items to users, such as "bought by"; None: "with".
    """

    nouns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    verb: str | None = None

    @classmethod
    def from_mapping(cls, words: Mapping[str, object] | None) -> Words:
        """Words as an owner writes them: {"user": "customers", "sku": ["product", "products"], "verb": "bought by"}.

        One text is a plural if it ends in s, otherwise a singular; irregular nouns are written in both forms.

        Raises:
            ParameterError: A word is empty or too long, or is neither a text nor a pair of texts.
        """
        if words is None:
            return NO_WORDS
        if not isinstance(words, Mapping):
            raise ParameterError('words are written {"user": "customers", "sku": ["product", "products"]}')
        verb = words.get(VERB)
        nouns = {str(name): _forms(str(name), value) for name, value in words.items() if name != VERB}
        return cls(MappingProxyType(nouns), None if verb is None else check_text(verb, "words.verb", LONGEST_WORD))

    @property
    def user(self) -> str:
        """The word for one user."""
        return self.nouns.get(USER, ("user", "users"))[0]

    @property
    def users(self) -> str:
        """The word for several users."""
        return self.nouns.get(USER, ("user", "users"))[1]

    def value_of(self, columns: Sequence[str], *, number: int = 1) -> str:
        """Words for one value, or several values, of a column or of several columns together."""
        several = number != 1
        if len(columns) > 1:
            named = " and ".join(self.nouns[name][0] if name in self.nouns else quote_name(name) for name in columns)
            return f"combination{'s' if several else ''} of {named}"
        (name,) = columns
        if name in self.nouns:
            return self.nouns[name][several]
        return f"value{'s' if several else ''} of {quote_name(name)}"


NO_WORDS = Words()


def check_text(text: object, name: str, longest: int) -> str:
    """Return a text that people read; raise ParameterError if it is empty, too long, or not of one line."""
    if not isinstance(text, str) or not text.strip() or len(text) > longest or not text.isprintable():
        raise ParameterError(f"{name} must be a text of 1 to {longest} printable characters on one line")
    return text.strip()


def _forms(name: str, value: object) -> tuple[str, str]:
    """Singular and plural of a noun, which is given as both or as one of them."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            raise ParameterError(f'words.{name} must be one word, or two such as ["product", "products"]')
        singular, plural = (check_text(part, f"words.{name}", LONGEST_WORD) for part in value)
        return singular, plural
    word = check_text(value, f"words.{name}", LONGEST_WORD)
    return (_singular(word), word) if _PLURAL.fullmatch(word) else (word, _plural(word))


def _singular(plural: str) -> str:
    if plural.endswith("ies") and len(plural) > 4:
        return plural[:-3] + "y"
    sibilant = _SIBILANT.fullmatch(plural)
    return sibilant[1] if sibilant else plural[:-1]


def _plural(singular: str) -> str:
    if re.fullmatch(r".*[^aeiou]y", singular):
        return singular[:-1] + "ies"
    return singular + ("es" if re.fullmatch(r".*(s|x|ch|sh)", singular) else "s")


def quote_name(name: str) -> str:
    """A column that has no word, by its name in quotation marks."""
    return "'{}'".format(one_line(name).replace("'", "''"))


def one_line(text: str) -> str:
    """`printable_text` with white space as single spaces."""
    return printable_text(" ".join(text.split()))
