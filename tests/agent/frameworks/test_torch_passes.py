"""Backward passes of PyTorch go on being recorded whatever becomes of the looks at them."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, operands, recorder, steps
from perfscope.agent.perfscope_agent.frameworks import (
    torch_alike,
    torch_anomaly,
    torch_leaves,
    torch_own_updates,
    torch_places,
    torch_states,
    torch_unused,
    wrap,
)
from perfscope.agent.perfscope_agent.pace import Budget
from tests.agent.frameworks.torch_forks import ranks_of
from tests.agent.jobs import Process

INTERRUPTED = """
import signal, torch
from perfscope_agent.frameworks import torch as loop, torch_graphs
class Late(BaseException):
    pass
def ring(*_):
    raise Late
def losses(*given):
    signal.raise_signal(signal.SIGALRM)
    return real(*given)
signal.signal(signal.SIGALRM, ring)
real, torch_graphs.losses = torch_graphs.losses, losses
model, late = torch.nn.Linear(4, 1), []
for batch in range(100):
    try:
        model(torch.ones(8, 4)).sum().backward()
    except Late:
        late.append(batch)
        torch_graphs.losses = real
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.001 if parameter.grad is None else 0.001 * parameter.grad
assert (late, loop.backward_depth) == ([3], 0), (late, loop.backward_depth)
"""

COMPILED = """
import torch
from torch._dynamo import convert_frame
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 1)
loader = DataLoader(TensorDataset(torch.ones(32, 4)), batch_size=8, num_workers=1)
def summed():
    found = 0.0
    for (batch,) in loader:
        found = found + model(batch).sum()
    return found
compiled = torch.compile(summed, backend="eager")
for _ in range(2):
    compiled().backward()
files = [one().co_filename for one in convert_frame.input_codes.seen if one() is not None]
assert __file__ in files and not [one for one in files if "frameworks" in one], files
"""

STUBBED = """
import torch
def gone():
    raise AttributeError("no such mode")
torch.is_anomaly_enabled = gone
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters())
for batch in range(20):
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()
"""


def _failures(rank: Process) -> list[str]:
    return [note for note in rank.metadata["agent_notes"] if "Error" in note]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Process]:
    programs = {"interrupted": INTERRUPTED, "compiled": COMPILED, "stubbed": STUBBED}
    return ranks_of(programs, tmp_path_factory.mktemp("passes"))


def test_a_signal_that_ends_a_look_ends_no_recording(ranks: dict[str, Process]) -> None:
    rank = ranks["interrupted"]
    assert len(rank.phase_records("backward")) == 99
    assert len(rank.steps()) in (99, 100)


def test_nothing_of_the_agent_is_compiled_in_a_loop_over_workers(ranks: dict[str, Process]) -> None:
    assert _failures(ranks["compiled"]) == []
    assert len(ranks["compiled"].phase_records("DataLoader")) >= 6


def test_what_a_program_puts_in_place_of_a_mode_stays_its_own(ranks: dict[str, Process]) -> None:
    rank = ranks["stubbed"]
    assert (len(rank.steps()), len(rank.phase_records("backward"))) == (20, 20)
    assert [note.rpartition(": ")[0] for note in _failures(rank)] == [
        "the loop of PyTorch: AttributeError",
        "graphs of backward passes are not looked at: AttributeError",
    ]


def test_a_phase_that_a_signal_keeps_from_beginning_is_none() -> None:
    class Late(BaseException):
        pass

    def late(*_: object) -> int:
        raise Late

    rec: Any = SimpleNamespace(name=len, phase_begin=late)
    with pytest.raises(Late):
        wrap.begin(rec, recorder.Phase.BACKWARD, "backward")
    assert wrap.Depth.value == 0
    wrap.end(rec, None)
    assert wrap.Depth.value == 0


@pytest.mark.parametrize("make", [torch_unused._Looker, torch_alike._Looker])
def test_looks_go_on_where_threads_have_counted_past_one(make: Callable[[], Any]) -> None:
    looker, due = make(), []
    for passes in range(1, 60):
        if passes == looker.due:
            looker.passes += 1  # of the other thread
        if looker.is_due():
            due.append(looker.passes)
        assert looker.due > looker.passes
    assert len(due) >= 4


@pytest.fixture
def anomaly(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The clock of the CPU, in place of the real one."""
    clock = SimpleNamespace(ns=0, monotonic_ns=lambda: 0)
    clock.thread_time_ns = lambda: clock.ns
    monkeypatch.setattr(torch_anomaly, "time", clock)
    monkeypatch.setattr(metadata, "facts", {"frameworks": {}})
    torch_anomaly.forget()
    yield clock
    torch_anomaly.forget()


def test_passes_that_wait_are_weighed_by_their_cpu_time(anomaly: SimpleNamespace) -> None:
    """They wait 9 ms each; one of ten is in anomaly mode and takes 2 ms of the CPU, not 1."""

    def passes(kind: int | None, used_ns: int) -> None:
        begin_ns, anomaly.ns = anomaly.ns, anomaly.ns + used_ns
        watched = None if kind is None else (None, (kind, begin_ns))
        torch_unused.end(watched, used_ns + 9_000_000)

    for at in range(100):
        if at % 10 == 5:
            passes(torch_anomaly._LOOKED_AT, 2_000_000)
        else:
            passes(torch_anomaly._OFF if at in (3, 12, 40) else None, 1_000_000)
    assert torch_anomaly.measure()
    told = metadata.facts["frameworks"]["torch"]["searched_for_nan"]
    assert told["whole_ns"] == told["in_mode_ns"] == 20_000_000
    assert told["passes_ns"] == pytest.approx(110_000_000)


def test_places_of_backward_passes_are_looked_for_more_rarely_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "facts", {})
    torch_places.forget()
    due = []
    for passes in range(1, 120):
        if passes >= torch_places.due:
            torch_places.trains(passes)
            due.append(passes)
    torch_places.forget()
    assert due == [*range(1, 65), 81, 98, 115]
    assert torch_places.due == 1


def test_updates_that_each_pass_has_are_written_the_short_way_as_the_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[tuple[int, int, int]] = []
    monkeypatch.setattr(
        steps, "emit", lambda _, begin, end, samples: written.append((begin, end, samples))
    )
    own = torch_own_updates.OwnUpdates("torch")
    leaves = SimpleNamespace(next_ns=0, are_as_before=lambda _: False)
    monkeypatch.setattr(own, "_leaves", leaves)
    for at in range(1, 201):
        own.begins_backward(10 * at, 4 * at, ())
        own.end_ns = 10 * at + 5
    own.finish()
    assert written[:-1] == [(10 * at, 10 * at + 10, 4) for at in range(1, 200)]
    assert written[-1] == (2000, 2005, 4)


def test_parameters_are_looked_at_twice_in_a_row_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves, version = torch_leaves.Leaves(), [0]
    seen: list[bool] = [True]
    monkeypatch.setattr(leaves, "_look", lambda _: {1: (version[0], 2, 3)} if seen[0] else {})
    leaves._budget.spent_ns = 10**15
    for _ in range(2):  # a pause ends
        leaves.seen, leaves.next_ns, version[0] = {}, 0, version[0] + 1
        assert leaves.are_as_before(None) is None
        assert leaves.next_ns == 0
        version[0] += 1
        assert leaves.are_as_before(None) is False
        assert leaves.next_ns > 10**15
    leaves.seen, leaves.next_ns, seen[0] = {}, 0, False
    assert leaves.are_as_before(None) is None
    assert leaves.next_ns > 10**15


def test_the_next_look_at_states_is_put_off_whatever_comes_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_states, "next_ns", 0)
    monkeypatch.setattr(torch_states, "_budget", Budget())
    monkeypatch.setattr(operands, "looker", None)
    clock = SimpleNamespace(monotonic_ns=lambda: 7)
    monkeypatch.setattr(torch_states, "time", clock)
    torch_states.look(object())
    assert torch_states.next_ns == 7 + torch_states._EVERY_NS
