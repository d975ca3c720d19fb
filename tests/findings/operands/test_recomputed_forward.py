"""Forward passes that a backward pass computes again, told by samples below its call."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 80
MAIN = [("main", "/job/train.py", 40), ("step", "/job/train.py", 30)]
LAYER = [
    ("Module._call_impl", "/env/site-packages/torch/nn/modules/module.py", 9),
    ("Block.forward", "/job/model.py", 12),
    ("torch._C._nn.linear", BUILT_IN, 0),
]
RUN = ("_engine_run_backward", "/env/site-packages/torch/autograd/graph.py", 7)
HELPER = ("Module._call_impl", "/env/site-packages/torch/nn/modules/module.py", 9)
ENGINE = ("torch._C._EngineBase.run_backward", BUILT_IN, 0)


def judged(
    *,
    again: int,
    inside: list[tuple[str, str, int]],
    ahead: list[tuple[str, str, int]] = LAYER,
    is_told: bool = True,
) -> Finding:
    """Steps of 30 ms forward and 60 ms backward, of which `again` tenths show `inside`.

    Forward passes are phases where that is told, as by a framework's own loop.
    """
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        if is_told:
            rank.phase(PhaseKind.FORWARD, begin, begin + 0.03, step=step)
        rank.phase(PhaseKind.BACKWARD, begin + 0.03, begin + 0.095, step=step)
        for tick in range(3):
            rank.stack(begin + 0.01 * tick + 0.005, [*MAIN, *ahead])
        for tick in range(6):
            below = inside if tick < again else [ENGINE]
            rank.stack(begin + 0.03 + 0.01 * tick + 0.005, [*MAIN, RUN, *below])
        rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["recomputed_forward"]


def test_layers_below_the_backward_pass_are_computed_again() -> None:
    """20 ms of each step, whatever calls the layers there."""
    found = judged(again=2, inside=[("recompute_fn", "/env/checkpoint.py", 5), *LAYER])
    assert found.status is Status.FAIL
    assert found.title.startswith(
        "The backward pass computes Block.forward() (model.py:12) a second time"
    )
    assert found.gain_s == pytest.approx(0.02 * STEPS, rel=0.1)
    assert found.gain_interval_s is not None
    assert found.gain_interval_s[0] < 0.02 * STEPS < found.gain_interval_s[1]
    assert found.ranks == (0, 1)


CHECKPOINT = "/env/site-packages/torch/utils/checkpoint.py"
HOOK = ("unpack_hook", CHECKPOINT, 90)
ASKED = [("Net.forward", "/job/model.py", 52), ("checkpoint", CHECKPOINT, 19), *LAYER]


def test_a_loop_of_the_programs_own_tells_no_forward_pass() -> None:
    """The line that asks for checkpoints is named, and what these take around the layers counts."""
    layers = judged(again=2, inside=[HOOK, *LAYER], ahead=ASKED, is_told=False)
    assert layers.status is Status.FAIL
    assert layers.gain_s == pytest.approx(0.02 * STEPS, rel=0.1)
    assert layers.actions[0].startswith("In Net.forward() (model.py:52): ")
    assert [(one.function, one.line) for one in layers.where[:2]] == [
        ("Block.forward", 12),
        ("Net.forward", 52),
    ]


def test_of_a_librarys_layer_the_line_that_asks_for_checkpoints_is_the_one_to_open() -> None:
    """`checkpoint(torch.nn.Sequential(...), x)`: nobody can change torch's container.py."""
    own = ("Sequential.forward", "/env/site-packages/torch/nn/modules/container.py", 259)
    found = judged(again=2, inside=[HOOK, own], ahead=[*ASKED[:2], own], is_told=False)
    assert "computes Net.forward() (model.py:52) a second time" in found.title
    assert [one.line for one in found.where[:2]] == [52, 259]


def test_what_a_backward_pass_of_its_own_shares_with_layers_is_none() -> None:
    """Hooks and helpers of a library run in both passes."""
    found = judged(again=2, inside=[HELPER, ("Scale.backward", "/job/model.py", 44)])
    assert found.status is Status.PASS
    assert judged(again=0, inside=[]).status is Status.PASS


@pytest.mark.parametrize("applied", [[("Function.apply", "/env/autograd/function.py", 6)], []])
def test_an_operation_that_a_backward_part_applies_is_no_layer(
    applied: list[tuple[str, str, int]],
) -> None:
    """The backward part of a gather exchanges gradients by the operation for that."""
    place = "/env/site-packages/torch/distributed/nn/functional.py"
    gather, exchange = ("_AllGather.backward", place, 344), ("_AlltoAll.forward", place, 471)
    found = judged(again=2, inside=[gather, *applied, exchange])
    assert found.status is Status.PASS
