"""A database that another tool wrote: the tables and columns that it has, and their rows.

Tables are made when they are needed, and releases add and rename columns: what is not there is
missing, and a row is taken where its times are whole numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from perfscope.errors import UnreadableInputError
from perfscope.files import open_database, size_of

Own = TypeVar("Own", bound="Database")
MAGIC = b"SQLite format 3\0"
MOST_TEXT = 1 << 28
"""Characters of all strings together."""
ROWS_AT_ONCE = 4096
STEPS_AT_ONCE = 1_000_000
STEPS_PER_BYTE = 16
"""A row takes three or four steps of SQLite for each of its bytes. Pages that are damaged so that
they name each other give more rows than any memory holds."""


def is_whole(column: str) -> str:
    """In a query whether a row has a whole number there."""
    return f"(typeof(\"{column}\") = 'integer')"


def _where(known: set[str], whole: Sequence[str]) -> str:
    return " AND ".join(is_whole(column) for column in whole if column in known) or "1"


class Database:
    """A file, opened to be read and never written.

    Errors say `what` it was taken for and, of a damaged one, the `action`.

    Raises:
        UnreadableInputError: it is no sound database.
    """

    def __init__(self, path: Path, *, what: str, action: str) -> None:
        self.path = path
        self._what, self._action = what, action
        self._most_turns = 1 + size_of(path) * STEPS_PER_BYTE // STEPS_AT_ONCE
        self._turns = 0
        try:
            self._connection = open_database(path)
        except OSError as error:
            raise self._error(f"{error.strerror or error}.") from error
        with self._readable():
            self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.set_progress_handler(self._is_endless, STEPS_AT_ONCE)
            found = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
            )
            self.tables = {str(name) for (name,) in found}

    def __enter__(self: Own) -> Own:  # noqa: PYI019, Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def columns(self, table: str) -> set[str]:
        """What a table has; nothing where it is not there."""
        if table not in self.tables:
            return set()
        with self._readable():
            return {
                str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")')
            }

    def rows(
        self, table: str, columns: Sequence[str], whole: Sequence[str] = (), where: str = "1"
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a table in their order.

        Columns that the table lacks are None; those in `whole` hold a whole number in every row
        that is given. `where` is SQL over columns that the table has.
        """
        known = self.columns(table)
        told = ", ".join(f'"{name}"' if name in known else "NULL" for name in columns)
        where = f"{_where(known, whole)} AND ({where})"
        yield from self._select(table, known, told, where, whole)

    def different(self, table: str, column: str, term: str, whole: Sequence[str] = ()) -> set[int]:
        """The different values of a term over a column, in rows with these whole numbers."""
        known, needed = self.columns(table), (column, *whole)
        told, where = f"DISTINCT {term}", _where(known, needed)
        return {value for (value,) in self._select(table, known, told, where, needed)}

    def lost(self, table: str, whole: Sequence[str], mine: str = "1") -> int:
        """How many rows of a table lack one of these whole numbers, of those of a condition."""
        known = self.columns(table)
        lacks = f"NOT ({_where(known, whole)})" if known.issuperset(whole) else "1"
        where = f"{lacks} AND ({mine})"
        return next((count for (count,) in self._select(table, known, "count(*)", where)), 0)

    def _select(
        self, table: str, known: set[str], told: str, where: str, needed: Sequence[str] = ()
    ) -> Iterator[tuple[Any, ...]]:
        if not known or not known.issuperset(needed):
            return
        with self._readable():
            self._turns = 0
            found = self._connection.execute(f'SELECT {told} FROM "{table}" WHERE {where}')
            while rows := found.fetchmany(ROWS_AT_ONCE):
                yield from rows

    def _is_endless(self) -> bool:
        """Ends a query that takes longer than the file has rows for."""
        self._turns += 1
        return self._turns > self._most_turns

    def strings(self, table: str, column: str) -> dict[int, str]:
        """The texts that tables name by number.

        Raises:
            UnreadableInputError: they would fill the memory.
        """
        found, left = {}, MOST_TEXT
        for number, text in self.rows(table, ("id", column), whole=("id",)):
            if not isinstance(text, str):
                continue
            left -= len(text)
            if left < 0:
                raise self._error(f"Its texts are longer than {MOST_TEXT:,} characters.")
            found[number] = text
        return found

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (self._connection.Error, OverflowError, UnicodeDecodeError) as error:
            if self._turns > self._most_turns:
                raise self._error("Its tables hold more rows than its bytes can.") from error
            raise self._error(f"SQLite: {error}.") from error

    def _error(self, why: str) -> UnreadableInputError:
        return UnreadableInputError(
            f"{self.path} cannot be read as {self._what}.", why=why, action=self._action
        )
