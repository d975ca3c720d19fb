"""A call or operator of which nothing tells what it works on is not taken for Python's own work."""

import dis
import sys
from types import ModuleType
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import callees


def _noted(statement: str) -> str:
    """What is told of a frame that calls what looks at it."""
    seen: list[str] = []

    class Probe:
        def __call__(self, *_: Any, **__: Any) -> int:
            seen.append(callees.called(sys._getframe(1)))
            return 1

        __add__ = __call__

    exec(compile(statement, "program.py", "exec"), {"probes": [Probe()]})
    return seen[0]


def test_a_call_with_a_condition_among_its_arguments_is_not_told() -> None:
    assert _noted("probes[0](1, out=None if probes else 2)") == callees.UNTOLD


def test_an_operator_on_what_an_expression_gave_is_not_told() -> None:
    assert _noted("probes[0] + 1") in (callees.UNTOLD, "")
    assert _noted("(probes[0] if probes else 1) + 1") == callees.UNTOLD


def test_what_a_frame_that_is_over_called_is_told_by_the_module_of_its_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the module comes after modules were looked for, and is another one later."""
    code = compile("measure(1)", "/nowhere/late_module.py", "exec")
    call = next(one.offset for one in dis.get_instructions(code) if one.opname.startswith("CALL"))
    assert callees.called_before(code, call, None) == callees.UNTOLD
    assert callees.known(code, call) is None
    module = ModuleType("late_module")
    module.__file__ = code.co_filename
    module.__dict__["measure"] = len
    monkeypatch.setitem(sys.modules, "late_module", module)
    assert callees.called_before(code, call, None) == "builtins.len"
    other = compile("measure(2)", "/nowhere/late_module.py", "exec")
    monkeypatch.setitem(sys.modules, "late_module", ModuleType("late_module"))
    assert callees.called_before(other, call, None) == callees.UNTOLD


def test_what_modules_hold_in_modules_is_kept_of_a_frame_that_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it calls is told without its variables, so that it is looked up once."""
    code = compile("parts.names.measure(1)", "/nowhere/held_module.py", "exec")
    call = next(one.offset for one in dis.get_instructions(code) if one.opname.startswith("CALL"))
    module, parts, names = (ModuleType(name) for name in ("held_module", "parts", "names"))
    module.__file__ = code.co_filename
    module.__dict__["parts"], parts.__dict__["names"] = parts, names
    names.__dict__["measure"] = len
    monkeypatch.setitem(sys.modules, "held_module", module)
    monkeypatch.setattr(callees, "_modules_seen", 0)
    told = callees.called_before(code, call, None)
    assert told == "builtins.len"
    assert callees.known(code, call) == told


class _Asked:
    """Stands where a module has its file, and tells when it is compared with something."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.times = 0

    def __eq__(self, _: object) -> bool:
        self.times += 1
        return True


def test_no_comparison_of_the_program_runs_where_a_module_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main, asked = ModuleType("__main__"), _Asked()
    main.__dict__["__file__"] = asked
    monkeypatch.setitem(sys.modules, "__main__", main)
    code = compile("measure(3)", "/nowhere/of_no_module.py", "exec")
    call = next(one.offset for one in dis.get_instructions(code) if one.opname.startswith("CALL"))
    assert callees.called_before(code, call, None) == callees.UNTOLD
    assert asked.times == 0
