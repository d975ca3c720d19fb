"""Dataclasses of perfscope behave like those of the standard library."""

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import pytest

from perfscope import structures


def declared(dataclass: Callable[..., Any]) -> dict[str, Any]:
    """One class of every kind that perfscope has, with one of the two decorators."""

    @dataclass(frozen=True)
    class Point:
        x: int
        y: float = 2.0
        label: str = dataclasses.field(default="none", compare=False, repr=False)
        parts: list[int] = dataclasses.field(default_factory=list)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x is below 0")

        @cached_property
        def total(self) -> float:
            return self.x + self.y

    @dataclass(frozen=True, kw_only=True)
    class Named(Point):
        name: str = ""
        values: tuple[int, ...] = ()

    @dataclass
    class Count:
        n: int = 0

    @dataclass(frozen=True)
    class Pair:  # noqa: PLW1641 - the decorator adds it
        first: int
        second: tuple[int, ...]

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Pair) and self.first == other.first

    @dataclass(frozen=True)
    class Nothing:
        pass

    kinds = (Point, Named, Count, Pair, Nothing)
    for kind in kinds:
        kind.__qualname__ = kind.__name__
    return {kind.__name__: kind for kind in kinds}


def outcome(run: Callable[[dict[str, Any]], Any], dataclass: Callable[..., Any]) -> Any:
    try:
        return run(declared(dataclass))
    except (AttributeError, TypeError, ValueError) as error:
        return type(error)


USES: list[Callable[[dict[str, Any]], Any]] = [
    lambda of: repr(of["Point"](1)),
    lambda of: repr(of["Named"](1, parts=[3], name="a")),
    lambda of: vars(of["Named"](1, 3.0, name="a", values=(1,))),
    lambda of: list(vars(of["Named"](name="a", y=1.0, x=3))),
    lambda of: of["Point"](1) == of["Point"](1, label="other"),
    lambda of: of["Point"](1) == of["Point"](2),
    lambda of: of["Point"](1) == of["Named"](1),
    lambda of: of["Point"](1) != 1,
    lambda of: of["Pair"](1, (2,)) == of["Pair"](1, (3,)),
    lambda of: of["Nothing"]() == of["Nothing"]() and hash(of["Nothing"]()),
    lambda of: hash(of["Point"](1, parts=(1, 2))),
    lambda of: hash(of["Pair"](1, (2,))),
    lambda of: hash(of["Point"](1)),
    lambda of: hash(of["Count"]()),
    lambda of: of["Point"](1).parts is of["Point"](1).parts,
    lambda of: of["Point"](-1),
    lambda of: of["Point"](),
    lambda of: of["Point"](1, unknown=2),
    lambda of: of["Named"](1, 2.0, "", [], "positional"),
    lambda of: setattr(of["Point"](1), "x", 2),
    lambda of: delattr(of["Point"](1), "x"),
    lambda of: setattr(of["Named"](1), "new", 2),
    lambda of: setattr(of["Count"](), "n", 2),
    lambda of: (of["Point"](1).total, of["Point"].y),
    lambda of: repr(dataclasses.replace(of["Named"](1, name="a"), x=5)),
    lambda of: dataclasses.asdict(of["Named"](1)),
    lambda of: [
        (field.name, field.default, field.kw_only) for field in dataclasses.fields(of["Named"])
    ],
    lambda of: [dataclasses.is_dataclass(kind) for kind in of.values()],
    lambda of: dataclasses.replace(of["Point"](1), x=-1),
]


@pytest.mark.parametrize("use", USES)
def test_same_as_the_standard_library(use: Callable[[dict[str, Any]], Any]) -> None:
    assert outcome(use, structures.dataclass) == outcome(use, dataclasses.dataclass)


def test_what_is_unpickled_before_any_is_made_is_whole() -> None:
    @structures.dataclass(frozen=True)
    class Stored:
        value: int

    bare = object.__new__(Stored)  # no `__init__`
    vars(bare)["value"] = 3
    assert (repr(bare), hash(bare)) == (f"{Stored.__qualname__}(value=3)", hash((3,)))
    assert bare == Stored(3)


def test_threads_that_make_the_first_instance_at_once_get_whole_ones() -> None:
    for _ in range(50):
        of = declared(structures.dataclass)
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda x, of=of: of["Named"](x, name="a"), range(8)))
        assert [(one.x, one.name) for one in made] == [(x, "a") for x in range(8)]
