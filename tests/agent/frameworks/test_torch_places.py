"""Where PyTorch is called: the line of what sets a model to evaluation."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

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


def test_an_evaluation_has_the_place_that_set_its_own_model_to_it(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """What comes before the first gradients is told of a rank that is known to be one."""
    done = job(OF_ANOTHER_MODEL, python=environment("torch").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    (rank,) = done.of_role("rank")
    (evaluation,) = [name for name, _ in rank.phases() if name.startswith("eval_")]
    assert "judge" in evaluation
