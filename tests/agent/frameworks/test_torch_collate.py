"""Which of the program's functions puts samples together, noted of each DataLoader."""

from collections.abc import Callable

from tests.agent.jobs import Job
from tests.support.environments import Environment

PROGRAM = """
import functools, torch
from torch.utils.data import DataLoader, TensorDataset
def pile(samples, size=0):
    return torch.stack([one for one, in samples])
class Piles:
    def pile(self, samples):
        return pile(samples)
    def __call__(self, samples):
        return pile(samples)
    def __getattr__(self, name):
        print("asked for", name)
        raise AttributeError(name)
data = TensorDataset(torch.ones(8, 3))
for collate in (None, pile, Piles().pile, Piles(), functools.partial(pile, size=3)):
    loader = DataLoader(data, 4, collate_fn=collate)
    assert len(list(loader)) == 2
"""


def test_functions_and_methods_of_the_program_are_told(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """No object of the program is asked for anything: what a class of its own does is not known."""
    done = job(PROGRAM, python=environment("torch").python)
    assert (done.exit_code, done.stdout) == (0, b""), done.stderr
    (rank,) = done.of_role("rank") or done.of_role("unranked")
    told = [one["collate_at"] for one in rank.metadata["frameworks"]["torch"]["loaders"]]
    places = [tuple(one.split("\x1f")[::2]) for one in told if one]
    assert places == [("pile", "4"), ("Piles.pile", "7")]
    assert told.count(None) == 1
