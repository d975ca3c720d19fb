"""An SQLite export of Nsight Systems, whose tables name processes by serialized ids."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perfscope.readers.common.database import Database, is_whole

OWN_TABLES = {"TARGET_INFO_SESSION_START_TIME", "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"}
WHAT = "an export of Nsight Systems"
MOST_BLOB = 1 << 10
ACTION = "Export the report again: nsys export --type sqlite REPORT.nsys-rep"


def pid_of(serialized: Any) -> int | None:
    """The process of a serialized id of a process or thread, None where it is none."""
    return serialized >> 24 & 0xFFFFFF if isinstance(serialized, int) else None


def _process(column: str) -> str:
    """The same in a query."""
    return f'(("{column}" >> 24) & {0xFFFFFF})'


class ExportDatabase(Database):
    """The file, opened to be read and never written.

    Raises:
        UnreadableInputError: it is no sound database.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, what=WHAT, action=ACTION)

    @property
    def is_nsys(self) -> bool:
        """Whether Nsight Systems wrote it."""
        return "StringIds" in self.tables and bool(OWN_TABLES & self.tables)

    def rows_of(
        self, pid: int, table: str, columns: Sequence[str], whole: Sequence[str], owner: str
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of one process, and those that name none.

        Columns in `whole` hold a whole number in every row that is given; `owner` is the column of
        serialized ids.
        """
        where = f"NOT {is_whole(owner)} OR {_process(owner)} = {pid:d}"
        known = self.columns(table)
        yield from self.rows(table, columns, whole, where if owner in known else "1")

    def lost_of(self, pid: int, table: str, whole: Sequence[str], owner: str) -> int:
        """How many rows of one process, or of none, lack one of these whole numbers.

        `owner` is the column of serialized ids.
        """
        known = self.columns(table)
        mine = f"NOT {is_whole(owner)} OR {_process(owner)} = {pid:d}"
        return self.lost(table, whole, mine if owner in known else "1")

    def processes(self, table: str, column: str, whole: Sequence[str] = ()) -> set[int]:
        """The processes that a column of serialized ids names, in rows with these whole numbers."""
        return self.different(table, column, _process(column), whole)

    def largest(self, table: str, column: str, most: int) -> int:
        """The largest whole number from 0 to `most` in a column, -1 where there is none."""
        known = self.columns(table)
        where = f'{is_whole(column)} AND "{column}" BETWEEN 0 AND {most:d}'
        found = self._select(table, known, f'max("{column}")', where, (column,))
        return next((value for (value,) in found if value is not None), -1)

    def blobs(
        self, table: str, column: str, owner: str, heads: Sequence[bytes]
    ) -> Iterator[tuple[Any, bytes]]:
        """Owner and content of each blob that begins with one of some texts of one length."""
        if not heads:
            return
        content = f'CAST("{column}" AS BLOB)'  # which is declared as a text
        wanted = ", ".join(f"x'{head.hex()}'" for head in heads)
        where = f"substr({content}, 1, {len(heads[0])}) IN ({wanted})"
        told = f'"{owner}", substr({content}, 1, {MOST_BLOB})'
        yield from self._select(table, self.columns(table), told, where, (column, owner))

    def extent(self, table: str, pid: int) -> Iterator[tuple[int, int]]:
        """The first begin and the last end in a table of calls of a process, where it has any."""
        needed = ("start", "end", "globalTid")
        where = f"{' AND '.join(map(is_whole, needed))} AND {_process('globalTid')} = {pid:d}"
        told = 'min("start"), max("end")'
        found = self._select(table, self.columns(table), told, where, needed)
        yield from ((start, end) for start, end in found if start is not None and start <= end)

    def call_sums(self, table: str, pid: int) -> Iterator[tuple[int, int, float, float, int]]:
        """What a process spent in each call that a table names: outermost ones, by number of name.

        The table has `start`, `end`, `globalTid` and `nameId`.

        Returns:
            For each call its name, how often, ns on the main thread, ns on others, the longest.
        """
        needed = ("start", "end", "globalTid", "nameId")
        length, thread = 'max("end" - "start", 0)', '("globalTid" & 16777215)'
        told = (
            f'"nameId", count(*), total(CASE WHEN {thread} = {pid:d} THEN {length} ELSE 0 END), '
            f"total(CASE WHEN {thread} = {pid:d} THEN 0 ELSE {length} END), max({length})"
        )
        known = self.columns(table)
        whole = " AND ".join(map(is_whole, needed))
        outermost = '("nestingLevel" IS NULL OR "nestingLevel" = 0)'
        where = f"{whole} AND {_process('globalTid')} = {pid:d}"
        if "nestingLevel" in known:
            where += f" AND {outermost}"
        yield from self._select(table, known, told, f'{where} GROUP BY "nameId"', needed)
