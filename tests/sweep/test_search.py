"""The search: seeded, resumable, each configuration once, failed ones not taken for good ones."""

from dataclasses import replace

from perfscope.sweep import grid
from perfscope.sweep.grid import AxisKind, Configuration
from perfscope.sweep.plan import Plan
from perfscope.sweep.search import runs_of_search


def searched_plan(trials: int, *, values: int = 8, repeat: int = 1) -> Plan:
    listed = ",".join(str(2**n) for n in range(values))
    axes = [
        grid.parse_axis(f"threads={listed}", AxisKind.VARIABLE),
        grid.parse_axis("mode=a,b,c", AxisKind.VARIABLE),
    ]
    command = ("{threads}", "{mode}")
    return Plan(
        command=command,
        axes=tuple(axes),
        configurations=tuple(grid.expand(command, axes, [])),
        refused={},
        cpus=None,
        repeat=repeat,
        search=trials,
    )


def speed(one: Configuration) -> float | None:
    """Best at 16 threads in mode b; more than 64 threads fail."""
    threads = int(one.values["threads"])
    if threads > 64:
        return None
    return 100.0 / (1 + abs(threads - 16)) * (2 if one.values["mode"] == "b" else 1)


def chosen(plan: Plan) -> list[tuple[int, int]]:
    return [(run.configuration.number, run.repeat) for run in runs_of_search(plan, speed)]


def test_the_same_search_makes_the_same_choice_so_that_it_can_go_on() -> None:
    plan = searched_plan(9)
    first = chosen(plan)
    assert first == chosen(plan)
    assert len(set(first)) == len(first) == 9


def test_each_chosen_configuration_is_run_as_often_as_asked() -> None:
    found = chosen(searched_plan(4, repeat=3))
    assert [repeat for _, repeat in found] == [1, 2, 3] * 4
    assert len({number for number, _ in found}) == 4


def test_a_search_over_more_than_there_is_tries_all_once() -> None:
    plan = searched_plan(50, values=2)
    assert sorted(chosen(plan)) == [(number, 1) for number in range(1, 7)]


def test_what_is_refused_is_not_tried() -> None:
    plan = replace(searched_plan(50, values=2), refused={1: "no room", 4: "no room"})
    assert sorted(number for number, _ in chosen(plan)) == [2, 3, 5, 6]
