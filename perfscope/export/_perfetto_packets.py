"""Packets of Perfetto's own format; numbers are those of protos/perfetto/trace."""

import struct

from perfscope.export.target import clean

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
"""TrackEvent.Type."""
REALTIME, BOOTTIME = 1, 6
"""BuiltinClock."""
SEQUENCE = 1
Value = str | int | float | bool


def varint(number: int) -> bytes:
    """A whole number; below 0 as 64 bits."""
    number &= (1 << 64) - 1
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def whole(field: int, number: int) -> bytes:
    """A field with a whole number."""
    return varint(field << 3) + varint(number)


def fixed(field: int, number: int) -> bytes:
    """A field with a number of 8 bytes."""
    return varint(field << 3 | 1) + struct.pack("<Q", number)


def real(field: int, number: float) -> bytes:
    """A field with a floating-point number."""
    return varint(field << 3 | 1) + struct.pack("<d", number)


def held(field: int, content: bytes) -> bytes:
    """A field with a message or bytes."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, word: str) -> bytes:
    """A field with a text."""
    return held(field, clean(word).encode("utf-8", "replace"))


def packet(content: bytes) -> bytes:
    """One packet of a trace, on the only sequence that is written."""
    return held(1, content + whole(10, SEQUENCE))


def clocks(unix_ns: int) -> bytes:
    """Says that times are those of the wall clock."""
    both = (held(1, whole(1, clock) + whole(2, unix_ns)) for clock in (BOOTTIME, REALTIME))
    return packet(whole(8, unix_ns) + held(6, b"".join(both)))


def track(uuid: int, content: bytes, *, parent: int | None = None) -> bytes:
    """Describes a track."""
    above = b"" if parent is None else whole(5, parent)
    return packet(held(60, whole(1, uuid) + above + content))


def event(kind: int, uuid: int, at_ns: int, content: bytes = b"") -> bytes:
    """Something on a track."""
    return packet(whole(8, max(at_ns, 0)) + held(11, whole(9, kind) + whole(11, uuid) + content))


def annotation(name: str, value: Value) -> bytes:
    """A fact of an event."""
    if isinstance(value, bool):
        told = whole(2, value)
    elif isinstance(value, int):
        told = whole(4, value)
    else:
        told = real(5, value) if isinstance(value, float) else text(6, value)
    return held(4, text(10, name) + told)
