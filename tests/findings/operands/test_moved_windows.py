"""Windows of one length that are copied for each piece: told by the time of their lines."""

import ast
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, sources, windows
from perfscope.agent.perfscope_agent.pace import Budget
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.findings.operands.operand_runs import HOT, LIBRARY, MAIN, OTHER, operand, site
from tests.support.trace_builder import TraceBuilder

STEPS = 40
SECOND = (HOT[0], HOT[1], HOT[2] + 1)


def seen(**changes: Any) -> dict[str, Any]:
    """Ten looks at a window of 1,000 values."""
    usual: dict[str, Any] = {"place": "\x1f".join(map(str, HOT)), "name": "rows", "looks": 10}
    state = {"is_innermost": True, "is_read": False, "values": [1000, 1000], "is_window": True}
    return {**usual, **state, "grew": 0, "shrank": 0, "since": 9, **changes}


JOIN = ("torch.cat", "<built-in>", 0)
PIECE = operand(name="piece", elements=[100, 100], shape=[100])


def judged(
    *carried: dict[str, Any], pieces: tuple[dict[str, Any], ...] = (PIECE,), call: Any = JOIN
) -> Finding:
    """Two ranks whose steps of 0.2 s are half in two lines of a function, as long in each."""
    sites = [
        site(operand(name=one["name"], elements=[1000, 1000]), *pieces, place=one["place"])
        for one in carried
    ]
    told = {"looks": 10, "cpu_ns": 1, "carried": [*carried], "sites": sites}
    builder = TraceBuilder(2, end_s=3.0 + 0.2 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.2 * STEPS)
        rank.set(metadata={"operands": told})
        for step, begin in rank.steps(STEPS, 0.2):
            hot = SECOND if step % 2 else HOT
            rank.stack(begin + 0.0001, (MAIN, hot, call))
            rank.stack(begin + 0.1, (MAIN, OTHER))
    return analyze_trace(builder.build()).findings["moved_windows"]


def test_lines_of_one_function_are_saved_together() -> None:
    one = judged(seen())
    assert one.status is Status.FAIL
    assert one.gain_s == pytest.approx(0.9 * 0.05 * STEPS, rel=0.05)
    assert "copies the whole of `rows`" in one.title
    both = judged(seen(), seen(place="\x1f".join(map(str, SECOND)), name="marks"))
    assert both.gain_s == pytest.approx(0.9 * 0.1 * STEPS, rel=0.05)
    assert {place.line for place in both.where} == {HOT[2], SECOND[2]}
    assert both.ranks == (0, 1)
    assert all(f"`{name}`" in both.actions[0] for name in ("rows", "marks"))


@pytest.mark.parametrize(
    "changes",
    [
        {"is_window": False},
        {"values": [900, 1000]},
        {"values": [0, 0]},
        {"looks": 2},
        {"is_innermost": False},
    ],
)
def test_what_is_no_such_window(changes: dict[str, Any]) -> None:
    assert judged(seen(**changes)).status is Status.PASS


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (operand(name="piece", elements=[600, 600], shape=[600]),),
        (operand(name="piece", elements=[100, 100], shape=[100], requires_grad=True),),
    ],
    ids=["not seen", "most of it", "gradients flow through it"],
)
def test_windows_of_which_little_stays_or_that_cannot_be_written_over(pieces: Any) -> None:
    assert judged(seen(), pieces=pieces).status is Status.PASS


@pytest.mark.parametrize(
    "call", [LIBRARY, ("numpy.correlate", "<built-in>", 0), ("cat", "/home/me/own.py", 3)]
)
def test_what_samples_do_not_show_to_join(call: Any) -> None:
    """A filter or a product gives as many values as well, and computes them."""
    assert judged(seen(), call=call).status is Status.PASS


MOVED = [
    "x = torch.cat([x[n:], piece])",
    "x = np.append(x[1:], value)",
    "x = np.concatenate((self.piece, x[:-4]))",
    "x = torch.cat([x[:, n:], piece], 1)",
    "x = np.concatenate(\n  [x[n:],\n   piece])",
]
OTHERS = [
    "x = np.concatenate([x[-8:], piece])",
    "x = np.concatenate([x[-n:], piece])",
    "x = np.concatenate([piece, x[:n]])",
    "x = np.concatenate([x[n:], read(n)])",
    "x = np.concatenate([x[n:], stream[i]])",
    "x = np.concatenate([x[n:], x])",
    "x = solve(x[n:], 1)",
    "x = torch.cat([x, piece])",
    "y = torch.cat([x[n:], piece])",
    "x = solve(x[n:])",
    "x = torch.cat([x[1:-1], piece])",
    "x = np.pad(x[1:-1] + y, 1)",
    "x = np.minimum(x[::2], y)",
    "x = np.append(x[3], value)",
    "x = x[1:] + [piece]",
]


@pytest.mark.parametrize("text", [*MOVED, *OTHERS])
def test_what_the_program_gives_a_call(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, given in (
        ("x", text),
        ("self.x", text.replace("x", "self.x").replace("self.xt", "")),
    ):
        lines = given.count("\n") + 1
        expected = [(name, 1, lines)] if text in MOVED else []
        assert windows.places(ast, "train.py", ast.parse(given)) == expected
    row = seen(place="main\x1ftrain.py\x1f1", name="x", is_window=None)
    beside = seen(place="main\x1fother.py\x1f1", name="x", is_window=None)
    monkeypatch.setattr(metadata, "facts", {"operands": {"carried": [row, beside]}})
    monkeypatch.setattr(sources, "texts", lambda _: iter([("train.py", text.encode())]))
    assert windows.note(Budget(1 << 40)) is (text in MOVED)
    assert (row["is_window"], beside["is_window"]) == (True if text in MOVED else None, None)
