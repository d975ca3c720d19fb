"""Threads beside the main one: which are a pool that could be smaller."""

from tests.findings.cpu.test_threads_over_cores import judged

POOL = "PTThreadPool"
"""As PyTorch 2.13 calls the threads of its inter-op pool once TorchScript has forked."""


def test_the_inter_op_pool_of_pytorch_is_one_where_its_threads_are_there() -> None:
    """Its size is that of the machine by default, and eager programs never start it."""
    metadata = {"frameworks": {"torch": {"threads": 1, "interop_threads": 8}}}
    without, with_them = (judged(runnable=8, metadata=metadata, named=one) for one in ("", POOL))
    assert not any("interop" in action for action in without.actions)
    assert "inter-op" not in without.title
    assert "torch.set_num_interop_threads(1)" in with_them.actions[0]


def test_threads_that_exchange_are_no_pool_to_be_made_smaller() -> None:
    facts = {"frameworks": {"torch": {"threads": 1}}, "environment": {"OMP_NUM_THREADS": "1"}}
    finding = judged(runnable=2, metadata=facts, named="gloo_tcp_loop")
    assert finding.status.is_fault
    assert finding.actions[0].startswith("Leave a CPU beside each rank for gloo's threads")
    assert "give each rank 2 CPUs" in finding.actions[0]
