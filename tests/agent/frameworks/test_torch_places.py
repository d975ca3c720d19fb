"""Where PyTorch is called: the lines of backward passes, and of what sets a model to evaluation."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job, Process
from tests.support.environments import Environment

TWO_LOOPS = """
import torch
model = torch.nn.Linear(4, 1)
def warm_up():
    model(torch.ones(3, 4)).sum().backward()
def fine_tune():
    model(torch.ones(3, 4)).mean().backward()
for batch in range(80):
    warm_up()
for batch in range(40):
    fine_tune()
"""

OF_ANOTHER_MODEL = """
import torch
target, model = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
loader = torch.utils.data.DataLoader(torch.ones(6, 4), batch_size=2)
def freeze():
    target.eval()
def judge():
    model.eval()
    with torch.no_grad():
        for batch in loader:
            model(batch)
    model.train()
freeze()
judge()
for batch in loader:
    model(batch).sum().backward()
"""


def only_rank(
    text: str, job: Callable[..., Job], environment: Callable[[str], Environment]
) -> Process:
    """What was written about a program that runs as the only rank."""
    done = job(text, python=environment("torch").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    (rank,) = done.of_role("rank")
    return rank


def test_a_loop_that_is_entered_later_is_a_place_of_updates_as_well(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    told = only_rank(TWO_LOOPS, job, environment).metadata["updates"]
    assert {one.split("\x1f")[0] for one in told} == {"warm_up", "fine_tune", "<module>"}
    assert len(told) == len(set(told)) == 4


def test_an_evaluation_has_the_place_that_set_its_own_model_to_it(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    names = [name for name, _ in only_rank(OF_ANOTHER_MODEL, job, environment).phases()]
    (evaluation,) = [name for name in names if name.startswith("eval_")]
    assert "judge" in evaluation
