"""Files and accelerators: what was read and written, and whether devices were measured."""

from __future__ import annotations

from perfscope.report.access import Document, mapping, numbers, text
from perfscope.report.formats import bytes_
from perfscope.report.sections.ledger import rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import Column, rank_table


def _context(document: Document) -> Context:
    read = numbers(document, "io", "read_bytes_by_rank")
    written = numbers(document, "io", "written_bytes_by_rank")
    ranks = rank_numbers(document, max(len(read), len(written))) if read or written else []
    reason = text(mapping(document, "devices"), "reason")
    return {
        "io_reason": text(mapping(document, "io"), "reason"),
        "reason": reason or "nothing was recorded of accelerators",
        "table": rank_table(
            ranks, [Column("Read", read, bytes_), Column("Written", written, bytes_)]
        ),
    }


SECTION = Section("devices", "Files and accelerators", "devices.html", _context)
