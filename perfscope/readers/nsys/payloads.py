"""Payloads of NVTX ranges: structures of the library that made them, laid out as it declares.

A payload stands in a blob after a head of four little-endian numbers of 64 bits: its domain, its
schema, its length, and where in the blob it begins. Exports have blobs with `--include-blobs=true`.
"""

from collections.abc import Iterator, Mapping

from perfscope.readers.nsys.database import ExportDatabase, pid_of

HEAD_BYTES = 32
WIDTHS = {5: 4, 6: 4, 7: 8, 8: 8, 9: 8, 10: 8, 15: 4, 16: 4, 17: 8, 18: 8}
"""Bytes by the type of an entry (NVTX_PAYLOAD_ENTRY_TYPE_INT, ..._UINT64), of whole numbers."""
SIGNED = {5, 7, 9, 15, 17}
Schema = tuple[int, int]
"""Domain and number."""
Layout = Mapping[str, tuple[int, int]]
"""Where each field begins, and its type."""
Fields = Mapping[str, int]


def payloads(database: ExportDatabase, having: str) -> Iterator[tuple[int, Fields]]:
    """Process and whole numbers of each payload whose schema has a field of this name."""
    layouts = {key: layout for key, layout in _layouts(database).items() if having in layout}
    heads = [_bytes(*key) for key in layouts]
    for thread, blob in database.blobs("NVTX_EVENTS", "binaryData", "globalTid", heads):
        pid, layout = pid_of(thread), layouts.get((_number(blob, 0), _number(blob, 8)))
        if pid is not None and layout is not None:
            yield pid, _fields(blob, layout)


def _layouts(database: ExportDatabase) -> Mapping[Schema, Layout]:
    """What fields each schema has; schemas of several processes are the same under one number."""
    columns = ("domainId", "schemaId", "type", "name", "offset")
    found: dict[Schema, dict[str, tuple[int, int]]] = {}
    rows = database.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, whole=columns[:3])
    for domain, schema, kind, name, offset in rows:
        if isinstance(name, str) and kind in WIDTHS and min(domain, schema) >= 0:
            begin = offset if isinstance(offset, int) else 0  # the first one tells none
            found.setdefault((domain, schema), {}).setdefault(name, (begin, kind))
    return found


def _fields(blob: bytes, layout: Layout) -> Fields:
    begin, length = _number(blob, 24), _number(blob, 16)
    payload = blob[begin : begin + length] if begin >= HEAD_BYTES else b""
    return {
        name: int.from_bytes(part, "little", signed=kind in SIGNED)
        for name, (offset, kind) in layout.items()
        if len(part := payload[offset : offset + WIDTHS[kind]]) == WIDTHS[kind] and offset >= 0
    }


def _bytes(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def _number(blob: bytes, at: int) -> int:
    return int.from_bytes(blob[at : at + 8], "little")
