"""What the code of a function is looked through for once, by the place at which it stands."""

from __future__ import annotations

from .kinds import Any, CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List

    _Finds = Callable[[CodeType], Dict[int, List[Any]]]

_MOST_CODES = 400


class ByPlace:
    """That of the functions that were met, the first so many of them."""

    def __init__(self, finds: _Finds) -> None:
        self._finds = finds
        self._known: dict[int, tuple[CodeType, dict[int, list[Any]]]] = {}

    def of(self, code: CodeType, place: int) -> list[Any]:
        """What `finds` found in a function for one place; it is asked once for each function."""
        known = self._known.get(id(code))
        if known is None:
            if len(self._known) >= _MOST_CODES:
                return []
            known = self._known[id(code)] = (code, self._finds(code))
        return known[1].get(place, [])
