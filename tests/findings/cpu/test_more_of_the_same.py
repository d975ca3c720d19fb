"""Steps that get longer because each does more of the same are no fault of the program."""

from perfscope.schema.enums import Status
from perfscope.trace.model import Frame
from tests.findings.cpu.test_growing_steps import GROWING, STEPS, busier, crowded, judged


def test_steps_that_do_more_and_more_of_the_same_are_no_fault() -> None:
    """As episodes get longer, or sequences: all that a step does takes twice as long at the end."""
    alike = crowded(lambda _: 0.05, busier, waits=False)
    assert alike.status is Status.PASS
    assert "all that they do takes longer alike" in alike.summary
    one = crowded(lambda step: 0.05 + 0.1 * step / STEPS, lambda _: 1.0, waits=False)
    assert one.status is Status.FAIL
    assert one.where == (Frame(*GROWING),)


def test_steps_that_hold_more_and_more_samples_are_no_fault() -> None:
    more = judged(lambda step: 0.002 * step, samples=lambda step: 8 + step)
    assert more.status is Status.PASS
    assert "as the number of their samples does" in more.summary
    few = judged(lambda step: 0.002 * step, samples=lambda step: 80 + step // 8)
    assert few.status is Status.FAIL
