"""Contents that were seen at one place: how many different ones, and whether they come back."""

from __future__ import annotations

from .kinds import Any

_MOST_DIGESTS = 64
_MOST_MEETINGS = 32


class Contents:
    """Of what was looked at several times, by digests."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._last = self._returns = 0

    def see(self, digest: int) -> None:
        """Takes note of a look; 0 stands for what could not be read."""
        if not digest:
            return
        known = self._counts.get(digest, 0)
        self._returns += bool(known) and digest != self._last
        self._last = digest
        if known or len(self._counts) < _MOST_DIGESTS:
            self._counts[digest] = known + 1

    def told(self, name: str) -> dict[str, Any]:
        """For the metadata: different ones, those seen in one look alone, and returns to one."""
        counts = list(self._counts.values())
        return {name: len(counts), name + "_once": counts.count(1), name + "_back": self._returns}


class AtMeetings:
    """What was seen at moments at which other ranks look as well; of many of them every 2^n-th."""

    def __init__(self) -> None:
        self._digests: dict[int, int] = {}
        self._every = 1

    def see(self, meeting: int, digest: int) -> None:
        """Takes note of a look; 0 stands for what is no meeting, and for what could not be read."""
        if not meeting or not digest or meeting % self._every:
            return
        self._digests[meeting] = digest
        if len(self._digests) > _MOST_MEETINGS:
            self._every *= 2
            kept = [one for one in self._digests.items() if not one[0] % self._every]
            self._digests = dict(kept)

    def told(self) -> list[tuple[int, int]]:
        """For the metadata: numbers of meetings, and what was seen then."""
        return list(self._digests.items())
