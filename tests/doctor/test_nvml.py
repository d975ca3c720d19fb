"""What `perfscope doctor` says of GPUs, from a stand-in for the driver's library."""

from pathlib import Path

import pytest

from perfscope.doctor.check import Outcome, State, Surroundings
from perfscope.doctor.checks import nvml
from tests.support.nvml_mock import compile_mock
from tests.support.recording import job_variables


def looked(place: Path, **variables: str) -> Outcome:
    around = Surroundings(place, None, dict(job_variables(variables)))
    (outcome,) = nvml.look(around)
    return outcome


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(compile_mock(tmp_path_factory.mktemp("nvml")))


def test_devices_of_the_driver_are_named(library: str, tmp_path: Path) -> None:
    outcome = looked(tmp_path, PERFSCOPE_NVML=library, NVML_MOCK_DEVICES="2")
    assert outcome.state is State.OK
    assert outcome.details == {"driver": "999.01", "devices": ["Mock GPU", "Mock GPU"]}


def test_a_driver_that_fails_is_a_warning_with_its_words(library: str, tmp_path: Path) -> None:
    outcome = looked(tmp_path, PERFSCOPE_NVML=library, NVML_MOCK_INIT="18")
    assert outcome.state is State.WARNING
    assert "Driver/library version mismatch" in outcome.summary
    assert "nvidia-smi" in outcome.fix


def test_a_library_that_is_not_found_names_the_variable(tmp_path: Path) -> None:
    outcome = looked(tmp_path, PERFSCOPE_NVML=str(tmp_path / "none.so"))
    assert outcome.state is State.WARNING
    assert "PERFSCOPE_NVML" in outcome.fix
