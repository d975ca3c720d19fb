"""What code is looked through for once, by its place, and what looks at such places saw."""

from __future__ import annotations

from .kinds import Any, CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List

    from .places import Places

    _Finds = Callable[[CodeType], Dict[int, List[Any]]]

_MOST_CODES = 400
_MOST_FOUND = 400
_MOST_TOLD = 32
_LEAST_LOOKS = 3


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


class Noted:
    """What looks saw of each thing, by its key: of the first so many."""

    def __init__(self) -> None:
        self.found: dict[tuple[object, ...], Any] = {}

    def of(self, key: tuple[object, ...], make: Callable[[], Any]) -> list[Any]:
        """What has been seen of one so far; nothing where they are too many."""
        if key not in self.found:
            if len(self.found) >= _MOST_FOUND:
                return []
            self.found[key] = make()
        return [self.found[key]]

    def told(self, places: Places) -> list[dict[str, Any]]:
        """For the metadata, of those that were looked at more than once or twice."""
        found = [one for one in list(self.found.values()) if one.looks >= _LEAST_LOOKS]
        return most_seen(found, places)


def most_seen(found: list[Any], places: Places) -> list[dict[str, Any]]:
    """What was seen, for the metadata, of those that were seen most."""
    found.sort(key=lambda one: -one.looks)
    return [one.told(places) for one in found[:_MOST_TOLD]]
