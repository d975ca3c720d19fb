"""Ways through bytecode with branches, followed backwards.

What is called stands on the stack below its arguments. A condition among these has several ways to
the call, and each of them begins with the same callee.
"""

from __future__ import annotations

import opcode
import sys

_VERSION = sys.version_info[:2]
_MOST_INSTRUCTIONS = 200
_UNIT = 2 if _VERSION >= (3, 10) else 1  # bytes by which jumps are counted

_names = opcode.opname
_relative, _absolute = set(opcode.hasjrel), set(opcode.hasjabs)


def way_to(raw: bytes, last: int, values: int) -> list[tuple[int, int]]:
    """One way on which the uppermost values are put on the stack, its height after each place.

    Heights are counted from the lowest of these values. Empty where none is found.
    """
    found: list[tuple[int, int]] = []
    height, place, is_taken = values, last - 2, False
    while place >= 0 and len(found) < _MOST_INSTRUCTIONS:
        name = _names[raw[place]]
        if _ends_way(name):
            place = _jump_to(raw, place + 2)
            is_taken = True
            continue
        if raw[place] and name not in ("CACHE", "EXTENDED_ARG"):
            if target(raw, place) is not None and not _is_condition(name):
                return []
            found.append((place, height))
            height -= effect(raw, place, is_taken=is_taken)
            if height <= 0:
                return found[::-1] if height == 0 else []
        is_taken = False
        place -= 2
    return []


def is_straight(raw: bytes, places: list[int], last: int) -> bool:
    """Whether one way leads through places, and on to the last of them."""
    if not places or any(_is_condition(_names[raw[place]]) for place in places[:-1]):
        return False
    begin = max(0, places[0] - 2 * _MOST_INSTRUCTIONS)
    targets = (target(raw, place) for place in range(begin, last, 2))
    return not any(one is not None and places[0] < one <= places[-1] for one in targets)


def takes_argument(name: str) -> bool:
    """Whether an instruction is part of a condition, and ends it where the callee is uppermost."""
    return _is_condition(name) or name == "POP_TOP"


def _is_condition(name: str) -> bool:
    """Whether an instruction goes on or jumps forward, by the value on the stack."""
    return ("JUMP_IF" in name or "_IF_" in name) and "BACKWARD" not in name


def _ends_way(name: str) -> bool:
    """Whether what follows an instruction is not reached from it."""
    return name.startswith(("RETURN_", "RAISE_", "RERAISE")) or name == "JUMP_FORWARD"


def _jump_to(raw: bytes, wanted: int) -> int:
    """The nearest condition before a place that jumps to it, -1 none."""
    for place in range(wanted - 2, max(wanted - 2 * _MOST_INSTRUCTIONS, -1), -2):
        if _is_condition(_names[raw[place]]) and target(raw, place) == wanted:
            return place
    return -1


def argument(raw: bytes, place: int) -> int:
    """Of an instruction, with the bytes that stand before it."""
    value, shift = raw[place + 1], 8
    while place >= 2 and _names[raw[place - 2]] == "EXTENDED_ARG":
        place -= 2
        value |= raw[place + 1] << shift
        shift += 8
    return value


def symbol(name: str, argument: int) -> str:
    """What the operator of an instruction is called, by Pythons of all versions."""
    symbols = getattr(opcode, "_nb_ops", ())
    is_numbered = name == "BINARY_OP" and argument < len(symbols)
    return str(symbols[argument][0]) if is_numbered else name


def symbol_at(raw: bytes, place: int) -> str:
    """The same of the instruction at an offset; "" outside of the code."""
    return symbol(_names[raw[place]], argument(raw, place)) if 0 <= place < len(raw) else ""


def target(raw: bytes, place: int) -> int | None:
    """Where an instruction may jump to."""
    operation = raw[place]
    if operation in _absolute:
        return argument(raw, place) * _UNIT
    if operation not in _relative:
        return None
    behind = place + 2
    while _VERSION >= (3, 12) and behind < len(raw) and raw[behind] == 0:
        behind += 2  # caches belong to the instruction
    ahead = argument(raw, place) * _UNIT
    return behind - ahead if "BACKWARD" in _names[operation] else behind + ahead


def effect(raw: bytes, place: int, *, is_taken: bool = False) -> int:
    """How many values more the stack has behind an instruction, which may be a branch."""
    try:
        return opcode.stack_effect(raw[place], argument(raw, place), jump=is_taken)
    except ValueError:
        return opcode.stack_effect(raw[place], None, jump=is_taken)
