"""The words that perfscope itself knows.

What an analysis makes of a name can only come from words that stand in perfscope's own code: a
phase from `evaluate`, an activity from `numpy.linalg`. So these words may stay, all others need
only stay equal to themselves, and a redacted recording gives the same numbers.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from perfscope.attribution.stack_rules import DEFAULT_RULES
from perfscope.structures import dataclass

PARTS = (
    *("agent", "record", "schema", "trace", "readers", "matching", "attribution", "metrics"),
    "findings",
)
"""Parts of perfscope that write or look at texts of a recording."""

LEAST_PREFIX = 4
"""Letters of the beginning of a word that a rule may ask for, as of `evaluator`."""

_PACKAGE = Path(__file__).parent.parent
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class Vocabulary:
    """What may stay."""

    words: frozenset[str]  # in lower case
    prefixes: tuple[str, ...]  # beginnings of words that rules on the user's names ask for
    texts: frozenset[str]  # whole texts, as keys of documents


@cache
def vocabulary() -> Vocabulary:
    """The words in the string constants of perfscope's code, without its docstrings."""
    texts = frozenset(text for path in _sources() for text in _constants(path))
    words = {word for text in texts for whole in _WORDS.findall(text) for word in _parts(whole)}
    of_rules = {word for _, glob in DEFAULT_RULES for word in _WORDS.findall(glob)}
    prefixes = sorted((word for word in of_rules if len(word) >= LEAST_PREFIX), key=len)
    return Vocabulary(frozenset(words), tuple(reversed(prefixes)), texts)


def _sources() -> Iterator[Path]:
    for part in PARTS:
        yield from sorted((_PACKAGE / part).rglob("*.py"))


def _constants(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def _parts(whole: str) -> Iterator[str]:
    yield whole.lower()
    yield from (part.lower() for part in _WORD_START.split(whole))
