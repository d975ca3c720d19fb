"""Functions of the program are looked up without running, or asking, anything of it."""

from collections.abc import Callable
from typing import Any

from perfscope.agent.perfscope_agent import relatives


def test_a_function_that_wraps_itself_has_an_end() -> None:
    def first() -> None: ...
    def second() -> None: ...

    first.__dict__["__wrapped__"], second.__dict__["__wrapped__"] = second, first
    assert relatives._function_of(first) in (first, second)


def test_what_decorators_wrap_is_found() -> None:
    def inner() -> None: ...
    def outer() -> None: ...

    outer.__dict__["__wrapped__"] = inner
    assert relatives._function_of(staticmethod(outer)) is inner


def test_no_metaclass_of_the_program_is_asked() -> None:
    asked: list[object] = []

    class Meta(type):
        def __eq__(cls, other: object) -> bool:
            asked.append(other)
            return False

        __hash__ = type.__hash__

    class Member(metaclass=Meta):
        pass

    member: Callable[[], Any] | Member = Member()
    assert relatives._function_of(member) is None
    assert list(relatives._codes([member])) == []
    assert asked == []
