"""Things that are joined two by two, and the groups that they make."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


class Joined(Generic[Thing]):
    """Groups of things; one that was never joined is a group of its own."""

    def __init__(self) -> None:
        self._next: dict[Thing, Thing] = {}

    def of(self, one: Thing) -> Thing:
        """The one that stands for the group of a thing, until that is joined with another group."""
        while (following := self._next.get(one, one)) != one:
            self._next[one] = one = self._next.get(following, following)
        return one

    def join(self, one: Thing, other: Thing) -> None:
        """Makes one group of those of both."""
        self._next[self.of(other)] = self.of(one)
