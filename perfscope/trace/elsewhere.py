"""What devices did, where another process holds its rows: a worker that has read them.

Whoever wants something of the rows of each rank asks for it by `ask`, wherever they are: the
function runs where the rows are, and only what it comes to is sent. Nothing else need know of it,
as the rows come here when something looks at them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from perfscope.parallel import each
from perfscope.structures import dataclass
from perfscope.trace.devices import DeviceActivity, DeviceKind
from perfscope.trace.model import Rank, Table

Answer = TypeVar("Answer")


class Elsewhere(Protocol):
    """Processes that hold what functions return there, and give it to other functions."""

    def start(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Handles of what the function returns for each of the arguments; these may be handles.

        It leaves its arguments as they are: where a process is lost, another one calls it again.
        """

    def take(self, handles: Sequence[Any], *, forget: bool = True) -> list[Any]:
        """What handles stand for, brought here; the processes keep it if they shall not forget."""


@dataclass(frozen=True)
class Held:
    """A table that one of these processes holds."""

    place: Elsewhere
    handle: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, (None, None)  # what is sent along with a rank is no table


@dataclass(frozen=True)
class Brief:
    """What is known here of rows that are held elsewhere."""

    count: int
    numbers: tuple[int, ...]  # of the devices in them
    without_launch: int


class ActivityElsewhere(DeviceActivity):
    """What the devices of one rank did, the rows held elsewhere until something looks at them."""

    def __init__(self, held: Held, brief: Any, **known: Any) -> None:
        """Takes the table, and what is known of it: a Brief, or until it is settled its handle."""
        super().__init__(**known)
        self._rows: Table | None = None
        self.brief = brief
        self.held: Held | None = held

    @property
    def rows(self) -> Table:
        """The rows, which from now on are here: what changes them changes all that there is."""
        if self._rows is None:
            assert self.held is not None
            assert self.held.place is not None, "the rows were left where they are held"
            [self._rows] = self.held.place.take([self.held.handle])
            self.held = None
        return self._rows

    @rows.setter
    def rows(self, rows: Table) -> None:
        """Others in their place, which are here."""
        self._rows, self.held = rows, None

    def change(self, function: Callable[..., Table], *arguments: Any) -> None:
        """Has the rows replaced by as many others, where they are held."""
        assert self.held is not None
        place = self.held.place
        [handle] = place.start(function, [self.held.handle], *([one] for one in arguments))
        self.held = Held(place, handle)

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.brief.count if self.held else len(self.rows)

    @property
    def without_launch(self) -> int:
        """Rows of which the trace does not hold the launch."""
        return self.brief.without_launch if self.held else super().without_launch

    @property
    def seen(self) -> tuple[int, ...]:
        """Numbers of the devices that the rows are of."""
        return self.brief.numbers if self.held else super().seen


@dataclass(frozen=True)
class Shared:
    """An argument that all of the functions get."""

    value: Any


def shared(value: Any, count: int) -> list[Any]:
    """A column of so many times one value, which is sent once."""
    return [Shared(value)] * count


def _value_of(given: Shared) -> Any:
    return given.value


def held_of(activity: DeviceActivity) -> Held | None:
    """Where its rows are held elsewhere, the table; None where they are here."""
    return activity.held if isinstance(activity, ActivityElsewhere) else None


def ask(
    function: Callable[..., Answer],
    activities: Sequence[DeviceActivity],
    *columns: Sequence[Any],
) -> list[Answer]:
    """What a function returns of the rows of each, and of its arguments in the columns.

    It is found by its name, or a `partial` of such a one, and changes nothing.
    """
    held = [held_of(activity) for activity in activities]
    place = next((one.place for one in held if one is not None), None)
    if place is None:
        tables = [activity.rows for activity in activities]
        here = [[_here(value) for value in column] for column in columns]
        given = list(zip(tables, *here, strict=True))
        return each(lambda one: function(*one), given, rows=sum(map(len, tables)))
    told = [
        activity.rows if one is None else one.handle
        for activity, one in zip(activities, held, strict=True)
    ]
    return place.take(place.start(function, told, *(_sent(place, one) for one in columns)))


def _here(value: Any) -> Any:
    return value.value if isinstance(value, Shared) else value


def _sent(place: Elsewhere, column: Sequence[Any]) -> Sequence[Any]:
    """A column as it is sent: of what all get, a handle of it."""
    if not column or not isinstance(column[0], Shared):
        return column
    return place.start(_value_of, column[:1]) * len(column)


def ask_ranks(
    function: Callable[..., Answer], ranks: Sequence[Rank], *columns: Sequence[Any]
) -> list[Answer]:
    """The same of the rows of each rank; of one without devices, of none."""
    activities = [rank.devices or DeviceActivity() for rank in ranks]
    return ask(function, activities, *columns)


def communication_of(ranks: Sequence[Rank]) -> list[Table]:
    """The rows of each rank that communicate."""
    return ask_ranks(_of_kind, ranks, [DeviceKind.COMMUNICATION] * len(ranks))


def _of_kind(rows: Table, kind: DeviceKind) -> Table:
    found: Table = rows[rows["kind"] == kind]
    return found
