"""DeepSpeed is told only of who trains with it."""

from collections.abc import Callable

import pytest

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

PROGRAM = """
import sys
from deepspeed.runtime.engine import DeepSpeedEngine
if "make" in sys.argv:
    try:
        DeepSpeedEngine()
    except TypeError as error:
        print(type(error).__name__)
"""


@pytest.mark.long
@pytest.mark.parametrize("arguments", [(), ("make",)])
def test_who_only_imports_deepspeed_does_not_train_with_it(
    job: Callable[..., Job],
    environment: Callable[[str], Environment],
    arguments: tuple[str, ...],
) -> None:
    done = job(
        PROGRAM, arguments=arguments, python=environment("ecosystem").python, variables=RANK_ZERO
    )
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith(b"TypeError\n") is bool(arguments)
    assert ("deepspeed" in done.process.metadata["frameworks"]) is bool(arguments)
