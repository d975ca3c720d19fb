"""What the agent notes of settings that slow down all that runs."""

from collections.abc import Callable

import pytest

from tests.agent.jobs import RANK_ZERO, Job

SCRIPT = """
import sys, types
from perfscope_agent.frameworks import debug_settings
torch = sys.modules["torch"] = types.ModuleType("torch")
torch.are_deterministic_algorithms_enabled = lambda: {is_on}
torch.is_anomaly_enabled = lambda: False
if {trains}:
    debug_settings.at_backward()
"""


@pytest.mark.parametrize(
    ("is_on", "trains", "noted"),
    [
        (False, False, None),
        (True, False, {"deterministic": True}),
        (False, True, {"anomaly_mode": False, "deterministic": False}),
    ],
)
def test_a_framework_that_is_loaded_and_not_used_is_not_noted_for_a_setting_that_is_off(
    job: Callable[..., Job], *, is_on: bool, trains: bool, noted: dict[str, bool] | None
) -> None:
    done = job(SCRIPT.format(is_on=is_on, trains=trains), variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    assert done.process.metadata["frameworks"].get("torch") == noted
