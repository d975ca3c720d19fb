"""Stacks by phase, from traces made by hand with known answers."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.stack_tree import LEAST_SHARE, MOST_NODES
from perfscope.readers.recording.stack_events import Forest
from perfscope.schema.enums import PhaseKind
from perfscope.schema.resources import NoStacks, Stacks, StacksOfPhase
from perfscope.trace.model import Trace
from perfscope.trace.stack_spans import SPAN_DTYPE, StackSampling
from tests.support.trace_builder import TraceBuilder, to_ns

LIBRARY = "/usr/lib/python3.11/queue.py"
Row = tuple[float, float, str]


def sampled(
    main: Sequence[Sequence[Row]],
    others: Sequence[tuple[float, float, str, int]] = (),
    frames: dict[str, tuple[str, str, int]] | None = None,
) -> Trace:
    """Ranks that live 10 s, evaluate from 4 to 6 and communicate from 8 to 9; stacks as texts."""
    builder = TraceBuilder(len(main), end_s=10.0)
    for number in range(len(main)):
        rank = builder.rank(number).init(1.0).finalize(9.5)
        rank.phase(PhaseKind.EVALUATE, 4.0, 6.0)
        rank.op("MPI_Allreduce", 8.0, 9.0)
    trace = builder.build()
    forest = Forest()
    for rank_, rows in zip(trace.ranks, main, strict=True):
        spans = [(*row, rank_.pid, True) for row in rows]
        if rank_.number == 0:
            spans += [(*row, False) for row in others]
        table = [
            (to_ns(begin), to_ns(end), _node(forest, stack, frames or {}), pid, is_main)
            for begin, end, stack, pid, is_main in spans
        ]
        rank_.spans = np.sort(np.array(table, SPAN_DTYPE), order="t0", kind="stable")
    trace.stack_sampling = StackSampling(100.0, forest.stacks, {}, {})
    return trace


def _node(forest: Forest, stack: str, frames: dict[str, tuple[str, str, int]]) -> int:
    node = 0
    for name in stack.split(";"):
        function, _, line = name.partition(":")
        node = forest.child(node, frames.get(name, (function, "train.py", int(line or 1))))
    return node


def profile_of(trace: Trace) -> Stacks:
    found = compute(trace).stacks
    assert isinstance(found, Stacks)
    return found


def phase(profile: Stacks, name: str) -> StacksOfPhase:
    return next(found for found in profile.phases if found.id == name)


def tree(found: StacksOfPhase) -> dict[str, float]:
    """Seconds by path."""
    paths: list[str] = []
    for node in found.nodes:
        above = f"{paths[node.parent]};" if node.parent >= 0 else ""
        paths.append(above + node.function)
    return dict(zip(paths, (round(node.seconds, 9) for node in found.nodes), strict=True))


def test_time_goes_to_the_phase_that_the_rank_was_in() -> None:
    trace = sampled([[(0.5, 2.0, "main;load"), (2.0, 5.0, "main;work"), (5.0, 10.0, "main;score")]])
    found = profile_of(trace)
    assert tree(phase(found, "evaluate")) == {"main": 2.0, "main;work": 1.0, "main;score": 1.0}
    assert tree(phase(found, "start_up")) == {"main": 0.5, "main;load": 0.5}
    assert tree(phase(found, "shutdown")) == {"main": 0.5, "main;score": 0.5}
    assert tree(phase(found, "communication")) == {"main": 1.0, "main;score": 1.0}
    outside = phase(found, "outside")
    assert tree(outside) == {"main": 5.5, "main;load": 1.0, "main;work": 2.0, "main;score": 2.5}
    assert phase(found, "start_up").seconds == pytest.approx(1.0)
    assert sum(part.sampled_s for part in found.phases) == pytest.approx(9.5)


def test_ranks_are_told_apart_and_lines_of_a_function_are_one_node() -> None:
    first = [(1.0, 3.0, "main;work:5"), (3.0, 4.0, "main;work:6")]
    found = phase(profile_of(sampled([first, [(1.0, 2.0, "main;work:6")]])), "outside")
    work = found.nodes[1]
    assert (work.function, work.line) == ("work", 5)
    assert work.seconds == pytest.approx(4.0)
    assert found.ranks == (0, 1)
    assert work.seconds_by_rank == pytest.approx((3.0, 1.0))
    assert found.top[0].self_s == pytest.approx(4.0)


def test_recursion_counts_once_in_what_a_function_called() -> None:
    found = phase(profile_of(sampled([[(1.0, 3.0, "main;walk;walk;leaf")]])), "outside")
    (top,) = found.top
    assert top.function == "leaf"
    assert (top.self_s, top.total_s) == pytest.approx((2.0, 2.0))
    walk = [node for node in found.nodes if node.function == "walk"]
    assert [node.seconds for node in walk] == pytest.approx([2.0, 2.0])


def test_small_and_many_nodes_are_left_out_and_told() -> None:
    hair = 3.0 * LEAST_SHARE / 2
    rows = [(1.0, 4.0 - hair, "main;big"), (4.0 - hair, 4.0, "main;small")]
    found = phase(profile_of(sampled([rows])), "outside")
    assert tree(found).keys() == {"main", "main;big"}
    assert (found.nodes_left_out, found.left_out_s) == pytest.approx((1, hair))
    assert found.nodes[0].self_s == pytest.approx(hair)
    edges = np.linspace(1.0, 4.0, 151).tolist()
    deep = [
        (begin, end, f"main;a{place};b{place};c{place}")
        for place, (begin, end) in enumerate(pairwise(edges))
    ]
    many = phase(profile_of(sampled([deep])), "outside")
    assert len(many.nodes) == MOST_NODES
    assert all(node.parent < place for place, node in enumerate(many.nodes))


def test_the_machinery_of_imports_and_the_recorder_are_passed_over() -> None:
    frames = {
        "find": ("_find_and_load", "<frozen importlib._bootstrap>", 1),
        "hook": ("exec_module", "/x/perfscope_agent/hooks.py", 98),
        "process": ("process", "", 0),
    }
    rows = [(1.0, 2.0, "process;main;find;hook;numpy"), (2.0, 3.0, "process;main;find")]
    found = phase(profile_of(sampled([rows], frames=frames)), "outside")
    assert tree(found) == {"main": 2.0, "main;numpy": 1.0}


def test_workers_stand_under_their_rank_and_waiting_ones_are_left_out() -> None:
    frames = {
        "get": ("Queue.get", LIBRARY, 1),
        "fork": ("BaseProcess._bootstrap", "/usr/lib/python3.11/multiprocessing/process.py", 314),
        "sampler": ("Sampler._run", "/x/perfscope_agent/stacks.py", 70),
    }
    pid = sampled([[(1.0, 2.0, "main")]]).ranks[0].pid
    others = [
        (1.0, 3.0, "main;start;fork;work;decode", 777),
        (3.0, 7.0, "work;get", 777),
        (1.0, 2.0, "produce", pid),
        (1.0, 9.0, "sampler", pid),
    ]
    found = profile_of(sampled([[(1.0, 2.0, "main")]], others, frames))
    assert tree(phase(found, "others")) == {
        "rank 0": 3.0,
        "rank 0;worker process 777": 2.0,
        "rank 0;worker process 777;work": 2.0,
        "rank 0;worker process 777;work;decode": 2.0,
        "rank 0;other threads": 1.0,
        "rank 0;other threads;produce": 1.0,
    }
    assert found.waiting_s == pytest.approx(4.0)
    assert found.phases[-1].id == "others"


def test_without_stacks_there_is_nothing_and_a_rank_without_any_does_no_harm() -> None:
    trace = sampled([[(1.0, 2.0, "main")]])
    trace.stack_sampling = None
    assert isinstance(compute(trace).stacks, NoStacks)
    found = profile_of(sampled([[(1.0, 2.0, "main")], []]))
    assert found.ranks == (0,)


def test_the_parts_add_up_to_what_was_sampled() -> None:
    random = np.random.default_rng(3)
    edges = np.sort(random.uniform(0.0, 10.0, 400))
    rows = [
        (begin, end, "main;" + ";".join(random.choice(list("abcd"), random.integers(1, 5))))
        for begin, end in pairwise(edges.tolist())
    ]
    found = profile_of(sampled([rows]))
    assert sum(part.sampled_s for part in found.phases) == pytest.approx(edges[-1] - edges[0])
    for part in found.phases:
        alone = sum(node.self_s for node in part.nodes)
        assert alone == pytest.approx(part.sampled_s)
