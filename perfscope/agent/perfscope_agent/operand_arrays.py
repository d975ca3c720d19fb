"""Arrays and tensors: what kind they are, and a few pieces of what they hold.

Nothing here refers to an object of the program: the recorder has asked it, and what it told are
numbers and names. Memory is copied by the kernel, which refuses what is no longer there.
"""

from __future__ import annotations

import os
import sys
from math import isnan

from . import own_threads
from .kinds import Any
from .library import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .recorder import Recorder

NUMBER = "number"
"""The kind of what is no array."""

_BASES = {"f": "float", "i": "int", "u": "uint", "b": "bool", "c": "complex", "O": "object"}
_FORMATS = {"float32": "f", "float64": "d", "int32": "i", "int64": "q", "int16": "h", "uint8": "B"}
_SMALLEST = {"float32": 1.1754943508222875e-38, "float64": 2.2250738585072014e-308}
"""Of the normal numbers: what is nearer to 0 takes a processor many times as long."""

_PIECES = 32
_PIECE_BYTES = 256
_WHOLE_BYTES = 16384  # what has no more is read whole
_ROW_BYTES = 2048
_MOST_VALUES = 128
_DIGEST_BYTES = 6
_MOST_DIGEST = (1 << 8 * _DIGEST_BYTES) - 1


def _keyed() -> Any:
    """What makes digests that all ranks of this job have in common, and no other job.

    None where there is no key, or no such function: a Python may be built, or set, without it.
    """
    try:
        from _blake2 import blake2b  # `hashlib` would load OpenSSL

        key = bytes.fromhex(os.environ["PERFSCOPE_KEY"])[:64]
        blake2b(b"", digest_size=_DIGEST_BYTES, key=key)
    except Exception:
        return None
    return (lambda told: blake2b(told, digest_size=_DIGEST_BYTES, key=key)) if key else None


_make = _keyed()
_salt = os.urandom(16)


def are_common() -> bool:
    """Whether digests can be compared with those of other processes of the job."""
    return _make is not None


def of_parts(parts: tuple[object, ...]) -> int:
    """A digest of several parts, each of which has one text in all processes; never 0."""
    return _digest_of(repr(parts).encode())


def _digest_of(told: bytes, rest: bytes = b"") -> int:
    if _make is None:
        return hash((_salt, told, rest)) & _MOST_DIGEST or 1
    found = _make(told)
    found.update(rest)
    return int.from_bytes(found.digest(), "little") or 1


_numbers = [of_parts(("piece", place)) for place in range(_PIECES)]
"""Of where to look, the same in all ranks of a job and in no other one."""


class Array:
    """What was told of an array: its kind, and where its values lie."""

    def __init__(self, kind: str, dtype: str, order: str, place: int, shape: Any) -> None:
        self.kind = kind
        self.dtype = dtype
        self.order = order
        self.address = place
        self.shape = tuple([int(size) for size in shape])
        self.item_bytes = 1
        self.strides: tuple[int, ...] = ()
        self.has_gradient = False
        self.is_common = True  # whether its digest can be compared with that of another process
        self.value = 0  # a digest of a number or an object, which lies nowhere as an array does

    def laid_out(self, item_bytes: int, strides: Any) -> Array:
        """With the bytes of a value, and from one to the next; None: one behind the other."""
        self.item_bytes = item_bytes
        self.strides = _packed(self.shape, item_bytes) if strides is None else tuple(strides)
        return self

    @property
    def elements(self) -> int:
        """How many values it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def layout(self) -> str:
        """`rows` or `columns` where its values lie without gaps, `strided` elsewhere."""
        if self._is_packed(self.shape, self.strides):
            return "rows"
        return "columns" if self._is_packed(self.shape[::-1], self.strides[::-1]) else "strided"

    def _is_packed(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
        """Whether values lie one behind the other; where there is one alone is no matter."""
        packed = _packed(shape, self.item_bytes)
        return all(size <= 1 or a == b for size, a, b in zip(shape, strides, packed))

    @property
    def stride(self) -> int:
        """Bytes between values that lie next to each other on some axis, the fewest."""
        steps = [abs(step) for size, step in zip(self.shape, self.strides) if size > 1]
        return min(steps, default=self.item_bytes)

    @property
    def inner_stride(self) -> int:
        """Bytes from one value of the last axis to the next."""
        return self.strides[-1] if self.strides else self.item_bytes

    def apart(self, axis: int) -> int:
        """Bytes between the nearest values of one place on an axis; 0 where there is just one."""
        sizes = enumerate(zip(self.shape, self.strides))
        steps = [abs(step) for at, (size, step) in sizes if at != axis and size > 1]
        return min(steps, default=0)

    def is_rows_of_integers(self) -> bool:
        """Whether it may hold sequences that are filled up to one length."""
        is_integer = self.dtype in ("int32", "int64") and self.order == "native"
        is_flat = len(self.shape) == 2 and self.inner_stride == self.item_bytes
        return is_integer and is_flat and 1 < self.shape[1] <= _ROW_BYTES // self.item_bytes

    @property
    def piece_bytes(self) -> int:
        """What is read together of a large array."""
        return _PIECE_BYTES // self.item_bytes * self.item_bytes

    def is_in_pieces(self) -> bool:
        """Whether pieces of it are read, each of several values that lie next to each other."""
        is_large = self.elements * self.item_bytes > _WHOLE_BYTES
        return is_large and self.layout != "strided" and not self.is_rows_of_integers()

    def pieces(self) -> list[tuple[int, int]]:
        """Address and bytes of some of its memory, the same ones each time."""
        total = self.elements * self.item_bytes
        if self.is_rows_of_integers():
            rows, width = self.shape[0], self.shape[1] * self.item_bytes
            every = max(1, rows // _PIECES)
            places = range(0, rows, every)[:_PIECES]
            return [(self.address + row * self.strides[0], width) for row in places]
        if self.is_in_pieces():
            last = (total - _PIECE_BYTES) // self.item_bytes
            starts = [number % last for number in _numbers]
            size = self.piece_bytes
            return [(self.address + start * self.item_bytes, size) for start in starts]
        if self.layout != "strided":
            return [(self.address, total)]
        return [(self._address_of(number), self.item_bytes) for number in _numbers]

    def _address_of(self, number: int) -> int:
        address = self.address
        for size, stride in zip(self.shape, self.strides):
            number, place = divmod(number, size)
            address += place * stride
        return address


def _packed(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    strides, step = [], item_bytes
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def of_numpy(told: list[Any]) -> Array | None:
    """An array of NumPy, by the text of its type, its shape, strides and address."""
    text, shape, strides, address = told
    base, bytes_told = _BASES.get(text[1:2]), text[2:] or "8"  # of a pointer to an object
    if base is None or not bytes_told.isdigit():
        return None
    size = int(bytes_told)
    dtype = base if base in ("bool", "object") else "%s%d" % (base, 8 * size)
    is_foreign = size > 1 and text[0] in "<>" and (text[0] == "<") != (sys.byteorder == "little")
    order = "foreign" if is_foreign else "native"
    return Array("array", dtype, order, address, shape).laid_out(size, strides)


def of_number(told: list[Any]) -> Array:
    """A number of NumPy in double precision, by its digits."""
    number = Array(NUMBER, "float64", "native", 0, ()).laid_out(8, None)
    number.value = of_parts((told[0],))
    return number


def widens(version: object) -> bool:
    """Whether a NumPy computes in double precision where an array in single meets such a number.

    Before NumPy 2 (NEP 50) the array alone decided.
    """
    return type(version) is str and version.partition(".")[0] not in ("0", "1")


def of_torch(told: list[Any]) -> Array | None:
    """A dense tensor in the memory of the process."""
    dtype, device, layout, has_gradient, shape, strides, place, *offset = told
    dtype = str(dtype).rpartition(".")[2]
    size = _bytes_of(dtype)
    if str(device) != "cpu" or str(layout) != "torch.strided" or not size or not place:
        return None
    array = Array("tensor", dtype, "native", place + size * sum(offset), shape)
    array.has_gradient = bool(has_gradient)
    return array.laid_out(size, [stride * size for stride in strides])


def of_parameter(told: list[Any]) -> Array | None:
    """A tensor that a model learns: never a sample, though each step changes it."""
    array = of_torch(told)
    if array is not None:
        array.kind = "parameter"
    return array


def _bytes_of(dtype: str) -> int:
    """Of a value of a type that is named after its bits; 0 where it is not."""
    if dtype == "bool":
        return 1
    bits = dtype.lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(bits) // 8 if bits.isdigit() and int(bits) % 8 == 0 else 0


def read(rec: Recorder, array: Array) -> bytes | None:
    """The pieces of an array one behind the other, None where they are not in memory."""
    if array.dtype == "object" or not array.elements or min(array.strides, default=0) < 0:
        return None
    pieces = array.pieces()
    count = len(pieces)
    numbers = types["u64"] * count
    addresses, sizes = numbers(*[one[0] for one in pieces]), numbers(*[one[1] for one in pieces])
    total = sum([one[1] for one in pieces])
    into = (types["u64"] * (total // 8 + 1))()
    if not rec.read_pieces(addresses, sizes, count, into):
        return None
    return bytes(memoryview(into).cast("B")[:total])


def digest(array: Array, content: bytes) -> int:
    """Equal for equal contents; it tells nothing else, and nothing outside of this job."""
    return _digest_of(repr((array.dtype, array.shape, array.strides)).encode(), content)


def tells_of_rest(array: Array, content: bytes) -> bool:
    """Whether what was read tells of values that were not.

    Where all pieces are zero the few other values lie elsewhere, and may be others each time.
    """
    return not array.is_in_pieces() or content.count(0) < len(content)


def facts(array: Array, content: bytes) -> dict[str, float]:
    """Shares of values that are 0, subnormal or no number, or fill up rows; of what was read."""
    code = _FORMATS.get(array.dtype)
    if code is None or array.order != "native" or not content:
        return {}
    if array.is_rows_of_integers():
        return _filled(array, content, code)
    values = _values(content, code)
    every = max(1, len(values) // _MOST_VALUES)
    seen = values[::every].tolist()
    found = {"zero": seen.count(0) / len(seen)}
    if array.is_in_pieces():
        found["zero_pieces"] = _zero_pieces(content, array.piece_bytes)
    least = _SMALLEST.get(array.dtype)
    if least:
        tiny = [value for value in seen if -least < value < least and value]
        found["subnormal"] = len(tiny) / len(seen)
        found["no_number"] = sum(map(isnan, seen)) / len(seen)
    return found


def _zero_pieces(content: bytes, size: int) -> float:
    """The share of pieces that are zero throughout."""
    starts = range(0, len(content), size)
    zero = bytes(size)
    return sum([content.startswith(zero, start) for start in starts]) / len(starts)


def _values(content: bytes, code: str) -> Any:
    cast: Any = memoryview(content).cast  # to a format that is chosen here
    return cast(code)


def _filled(array: Array, content: bytes, code: str) -> dict[str, float]:
    """Which share of rows repeats one value up to their end, and of the row filled least so.

    Rows that are one value throughout, as a mask of ones, hold no sequences that could be shorter.
    Neither do rows that mark a place each, as the number of a letter or a class (one-hot).
    """
    width, size = array.shape[1] * array.item_bytes, array.item_bytes
    rows = [content[at : at + width] for at in range(0, len(content), width)]
    if _mark_places([_values(row, code) for row in rows]):
        return {}
    ends = [row[-size:] for row in rows]
    fill = max(ends, key=ends.count)  # of equally many the first, in each process
    shares = [_run(row, fill) / array.shape[1] for row in rows]
    return {"padding": sum(shares) / len(shares), "padding_of_longest": min(shares)}


def _mark_places(rows: list[Any]) -> bool:
    """Whether rows have one value throughout but for one mark at most, the same in all rows."""
    met: set[int] = set()
    for row in rows:
        met.update(row)
        if len(met) > 2:
            return False
    counts = [(len(row), row.tolist().count) for row in rows]
    return any(all(size - count(fill) <= 1 for size, count in counts) for fill in met)


def _run(row: bytes, fill: bytes) -> int:
    """How many values at the end of a row are one value; one alone repeats nothing."""
    least, most = 0, len(row) // len(fill)
    while least < most:
        middle = (least + most + 1) // 2
        if row.endswith(fill * middle):
            least = middle
        else:
            most = middle - 1
    return least if least > 1 else 0


def getters(kind: Any, attributes: tuple[str, ...], methods: tuple[str, ...]) -> tuple[Any, ...]:
    """The functions of C that tell attributes of a kind of object, and its methods."""
    found = []
    for name in attributes + methods:
        owners = [base for base in type.mro(kind) if name in base.__dict__]
        member = owners[-1].__dict__[name]
        found.append(member if name in methods else member.__get__)
    return tuple(found)


def tensor_place(kind: Any) -> tuple[Any, ...]:
    """What tells where a tensor's storage is and where in it the tensor begins, or both at once.

    `data_ptr` would give a tensor memory of its own that shares another one's until it is changed.
    """
    address = own_threads.contents("torch._C").get("_data_address")
    if address is None:
        return getters(kind, (), ("data_ptr",))
    return (address, *getters(kind, (), ("storage_offset",)))
