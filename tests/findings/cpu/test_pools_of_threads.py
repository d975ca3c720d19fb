"""What pools of threads cost that are too large for the CPUs, as far as main threads wait."""

import pytest

from perfscope.schema.enums import Status
from tests.findings.cpu.test_threads_over_cores import judged


@pytest.mark.parametrize(("blas_threads", "saved_s"), [(8, 4.0), (1, None)])
def test_pools_of_fewer_threads_save_at_most_what_main_threads_wait(
    blas_threads: int, saved_s: float | None
) -> None:
    """They have no CPU for 4 of 10 s; where no pool is known, nothing tells what to change."""
    finding = judged(runnable=8, metadata={"blas_threads": blas_threads}, main_waits=0.4)
    assert finding.status is Status.FAIL
    if saved_s is None:
        assert finding.gain is None
        return
    assert finding.gain_s == pytest.approx(saved_s, rel=0.02)
    assert finding.gain is not None
    assert finding.gain.is_bound
    assert finding.gain.interval_s is None
    assert "Fewer threads save about what main threads waited" in finding.summary


def test_pools_whose_main_threads_hardly_wait_promise_nothing() -> None:
    finding = judged(runnable=8, metadata={"blas_threads": 8}, main_waits=0.001)
    assert finding.status is Status.FAIL
    assert finding.gain is None
    assert "is the most" not in finding.summary
