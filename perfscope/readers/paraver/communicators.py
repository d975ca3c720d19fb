"""Communicators of a Paraver trace, whose numbers count anew in each of its applications."""

from collections.abc import Iterable, Sequence
from dataclasses import field

import numpy as np

from perfscope.arrays import Ints
from perfscope.structures import dataclass
from perfscope.trace.model import Communicator

Rows = Ints


@dataclass
class Communicators:
    """Those of the trace, all tasks first, then each application's world where there are more."""

    all: list[Communicator]  # as the trace has them
    applications: Rows  # of each task, from 0
    worlds: list[int]  # of each application, its place in `all`
    # places in `all` by application and number in the file
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    # applications whose world has a number in the file
    named: set[int] = field(default_factory=set)
    ambiguous: int = 0  # how many numbers have several meanings of which none is sure

    @classmethod
    def of(
        cls,
        tasks: Sequence[int],
        told: Iterable[tuple[int, int, Sequence[int]]],
        callers: Iterable[tuple[int, int]] = (),
    ) -> "Communicators":
        """Numbers them.

        Args:
            tasks: of each application, how many it has.
            told: application (from 1), number and tasks of each communicator in the file.
            callers: rank and number of the communicator, of all calls of collectives.
        """
        ends = np.cumsum(tasks).tolist()
        found = cls(
            [Communicator(1, tuple(range(ends[-1])), -1)],
            np.repeat(np.arange(len(tasks)), tasks),
            [0] * len(tasks),
        )
        if np.count_nonzero(tasks) > 1:
            for application, (count, end) in enumerate(zip(tasks, ends, strict=True)):
                found.worlds[application] = found._add(range(end - count, end))
        meanings: dict[tuple[int, int], dict[tuple[int, ...], None]] = {}
        for application, number, members in told:
            if 0 < application <= len(tasks):
                meanings.setdefault((application - 1, number), {})[tuple(members)] = None
        called: dict[tuple[int, int], set[int]] = {}
        for rank, number in callers:
            called.setdefault((int(found.applications[rank]), number), set()).add(rank)
        for (application, number), several in meanings.items():
            found._choose(application, number, list(several), called.get((application, number)))
        return found

    @property
    def programs(self) -> tuple[tuple[int, ...], ...]:
        """The tasks of each application, where there are several."""
        count = int(self.applications.max(initial=0)) + 1
        tasks = [np.flatnonzero(self.applications == number).tolist() for number in range(count)]
        told = tuple(tuple(members) for members in tasks if members)
        return told if len(told) > 1 else ()

    def _choose(
        self,
        application: int,
        number: int,
        meanings: Sequence[tuple[int, ...]],
        called: set[int] | None,
    ) -> None:
        """Takes the one meaning of a number, or of several the one whose members used it.

        Where applications were merged into one trace, each lists the communicators of all of them,
        and the same number may stand for another group in each.
        """
        fitting = [own for own in meanings if set(own) == called] if len(meanings) > 1 else meanings
        if len(fitting) == 1:
            self._take(application, number, fitting[0])
        elif called is not None:
            self.ambiguous += 1

    def _take(self, application: int, number: int, members: tuple[int, ...]) -> None:
        place = self.worlds[application]
        if application in self.named or members != self.all[place].members:
            place = self._add(members, place)
        else:
            self.named.add(application)
        self.numbers[application, number] = place

    def _add(self, members: Iterable[int], parent: int = 0) -> int:
        self.all.append(Communicator(len(self.all) + 1, tuple(members), parent))
        return len(self.all) - 1

    def places(self, ranks: Rows, numbers: Rows) -> Rows:
        """The place in `all` of what calls of some ranks name; -1 where the file does not have it.

        A call without a number is one over the world of its application: old traces have none.
        """
        applications = self.applications[ranks]
        kinds, number = np.unique(numbers, return_inverse=True)
        width = max(len(kinds), 1)
        pairs, inverse = np.unique(applications * width + number.reshape(-1), return_inverse=True)
        told = [(pair // width, int(kinds[pair % width])) for pair in pairs.tolist()]
        known = [
            self.worlds[application] if number < 0 else self.numbers.get((application, number), -1)
            for application, number in told
        ]
        places: Rows = np.array(known, np.int64)[inverse.reshape(-1)]
        return places
