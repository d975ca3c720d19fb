"""Messages of protocol buffers, field by field, without their declarations."""

from collections.abc import Iterator
from dataclasses import dataclass

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LONGEST_VARINT = 10


class DamagedError(ValueError):
    """What is no message: `offset` bytes into the file, and why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"at byte {offset:,}: {why}")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the file: a message inside of another one knows where it stands."""

    data: memoryview
    offset: int

    def fields(self) -> "Iterator[tuple[int, int | Part]]":
        """Number and value of each field: a whole number, or the part that holds it.

        Raises:
            DamagedError: a field does not end inside of the message, or has an unknown type.
        """
        place, end = 0, len(self.data)
        while place < end:
            begin = place
            key, place = self._varint(place)
            kind = key & 7
            if kind == VARINT:
                value, place = self._varint(place)
                yield key >> 3, value
                continue
            if kind == BYTES:
                length, place = self._varint(place)
            elif kind in (FIXED64, FIXED32):
                length = 8 if kind == FIXED64 else 4
            else:
                raise DamagedError(self.offset + begin, f"a field has the unknown type {kind}")
            if length > end - place:
                raise DamagedError(self.offset + begin, "a field is longer than what is left")
            yield key >> 3, Part(self.data[place : place + length], self.offset + place)
            place += length

    def _varint(self, place: int) -> tuple[int, int]:
        value = shift = 0
        for at in range(place, min(place + LONGEST_VARINT, len(self.data))):
            byte = self.data[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at + 1
            shift += 7
        raise DamagedError(self.offset + place, "a number does not end")

    @property
    def text(self) -> str:
        """What it holds as text."""
        return bytes(self.data).decode("utf-8", "replace")
