"""Where the training thread is while it makes its batches itself."""

import pytest

from perfscope.findings.facts.input_work import public_name
from tests.findings.analyzed import analyze_trace
from tests.findings.input_output.test_data_stall import STARTED
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("draw", "call it once for many batches. This code of the program runs again for each"),
        ("decode", "store the data decoded and scaled once"),
    ],
)
def test_batches_that_the_training_thread_makes_are_made_in_the_function_seen_most(
    function: str, words: str
) -> None:
    """Not where a library calls the program for them."""
    stack = [*STARTED, ("Pairs.__getitem__", "/job/train.py", 9), (function, "/job/train.py", 7)]

    def watch(builder: TraceBuilder) -> None:
        for number in range(2):
            rank = builder.rank(number)
            for tick in range(3500):
                rank.stack(0.01 * tick, stack)

    plan = Plan(ranks=2, steps=100, input_s=0.1)
    finding = analyze_trace(training_run(plan, change=watch)).findings["data_stall"]
    done = "wait for input" if function == "draw" else "stop training to prepare each batch"
    assert finding.title == f"The ranks {done} in {function}() (train.py:7)"
    assert finding.where[0].function == function
    told = f"In {function}() (train.py:7): make batches cheaper to load: {words}"
    assert any(one.startswith(told) for one in finding.actions)


@pytest.mark.parametrize(
    ("called", "told"),
    [((), "call it once"), ((("choice", "<built-in>", 0),), "call `choice` once")],
)
def test_what_the_line_calls_is_told_where_it_makes_batches_slow(
    called: tuple[tuple[str, str, int], ...], told: str
) -> None:
    def watch(builder: TraceBuilder) -> None:
        for number in range(2):
            for tick in range(3500):
                stack = [*STARTED, ("draw", "/job/train.py", 7), *called]
                builder.rank(number).stack(0.01 * tick, stack)

    plan = Plan(ranks=2, steps=100, input_s=0.1)
    finding = analyze_trace(training_run(plan, change=watch)).findings["data_stall"]
    assert any(f"cheaper to load: {told} for many batches. " in one for one in finding.actions)


def test_a_call_is_named_as_its_users_know_it() -> None:
    assert public_name("numpy.random._generator.Generator.choice") == (
        "numpy.random.Generator.choice"
    )
