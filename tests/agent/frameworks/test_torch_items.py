"""Samples of data sets are compared from epoch to epoch, without asking the data set anything."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

PROGRAM = """
import torch
from perfscope_agent import pace

pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away


class Prepared(torch.utils.data.Dataset):
    asked = 0

    def __len__(self):
        return 300

    def __getitem__(self, number):
        Prepared.asked += 1
        return torch.full((3, 50), number, dtype=torch.float32), number


class Drawn(Prepared):
    def __getitem__(self, number):
        values, number = super().__getitem__(number)
        return values, {"drawn": values + torch.rand(3, 50)}, number


for workers in (0, 1):
    for data in (Prepared(), Drawn()):
        loader = torch.utils.data.DataLoader(data, 30, shuffle=True, num_workers=workers)
        for epoch in range(3):
            for values, *_, numbers in loader:
                assert bool((values[:, 0, 0].floor() == numbers).all())
    print(Prepared.asked)
"""


def test_samples_that_are_the_same_again(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(PROGRAM, python=environment("torch").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == b"1800\n" * 2
    (metadata,) = [one.metadata for one in done.processes if one.role == "rank"]
    assert metadata["agent_notes"] == []
    same, drawn = metadata["frameworks"]["torch"]["items"]  # where no worker makes the batches
    assert (same["dataset"], drawn["dataset"]) == ("Prepared", "Drawn")
    # with 64 at most, all in the first epoch and a few from there on
    assert 30 <= same["compared"] <= 128
    assert same["same"] == same["compared"]
    assert drawn["compared"] >= 30
    assert drawn["same"] == 0
    assert same["bytes"] == 3 * 50 * 4
