"""What a recorded job finds in its environment: ours in front, the user's kept."""

from pathlib import Path

import pytest

from perfscope.record.launch import (
    Injection,
    RecordingOptions,
    job_environment,
    loadable_paths,
    without_recording,
)
from perfscope.record.launcher import Flavor, Launcher, LauncherKind

DIRECT = Launcher(LauncherKind.DIRECT)
OPEN_MPI = Launcher(LauncherKind.MPIRUN, flavor=Flavor.OPEN_MPI)
LIST = "OMPI_MCA_mca_base_env_list"
OURS = (
    "LD_PRELOAD;PYTHONPATH;PERFSCOPE_DIR;PERFSCOPE_RECORDER;PERFSCOPE_AGENT;PERFSCOPE_KEY;"
    "PERFSCOPE_MAX_BYTES"
)
KEY = "c0ffee" * 5


@pytest.fixture(autouse=True)
def known_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of digests, which is another one in each job."""
    monkeypatch.setattr("secrets.token_hex", lambda _: KEY)


def recorded(
    base: dict[str, str], launcher: Launcher = DIRECT, directory: str = "/runs/trace"
) -> dict[str, str]:
    return job_environment(
        base,
        directory=Path(directory),
        injection=Injection(Path("/opt/libperfscope_recorder.so"), Path("/opt/agent")),
        options=RecordingOptions(max_size_bytes=1 << 20, sample_hz=5, stack_hz=0),
        launcher=launcher,
    )


def test_ours_come_first_and_the_users_stay() -> None:
    environment = recorded({"LD_PRELOAD": "libjemalloc.so libx.so", "PYTHONPATH": "a:b", "X": "1"})
    assert environment == {
        "LD_PRELOAD": "/opt/libperfscope_recorder.so:libjemalloc.so libx.so",
        "PERFSCOPE_AGENT": "/opt/agent",
        "PERFSCOPE_DIR": "/runs/trace",
        "PERFSCOPE_GPU_HZ": "2",
        "PERFSCOPE_KEY": KEY,
        "PERFSCOPE_MAX_BYTES": "1048576",
        "PERFSCOPE_RECORDER": "/opt/libperfscope_recorder.so",
        "PERFSCOPE_SAMPLE_HZ": "5",
        "PERFSCOPE_STACK_HZ": "0",
        "PYTHONPATH": "/opt/agent:a:b",
        "TORCH_FR_BUFFER_SIZE": "2000",
        "X": "1",
    }


def test_the_size_that_a_user_gave_pytorchs_flight_recorder_stays() -> None:
    assert recorded({"TORCH_FR_BUFFER_SIZE": "7"})["TORCH_FR_BUFFER_SIZE"] == "7"
    assert "TORCH_FR_BUFFER_SIZE" not in recorded({"TORCH_NCCL_TRACE_BUFFER_SIZE": "7"})


def test_nccl_is_given_the_recorder_where_that_is_asked_for() -> None:
    recorder = Path("/opt/libperfscope_recorder.so")

    def plugin(base: dict[str, str], *, is_wanted: bool) -> str | None:
        options = RecordingOptions(nccl_profiler=is_wanted)
        injection = Injection(recorder, None)
        environment = job_environment(
            base, directory=Path("/t"), injection=injection, options=options, launcher=DIRECT
        )
        assert without_recording(environment) == base
        return environment.get("NCCL_PROFILER_PLUGIN")

    assert plugin({}, is_wanted=False) is None
    assert plugin({}, is_wanted=True) == str(recorder)
    assert plugin({"NCCL_PROFILER_PLUGIN": "mine"}, is_wanted=True) == "mine"


def test_open_mpi_forwards_to_other_hosts_and_keeps_the_users_list() -> None:
    assert recorded({}, OPEN_MPI)[LIST].startswith(OURS)
    assert recorded({LIST: "A=1;B"}, OPEN_MPI)[LIST].startswith(f"A=1;B;{OURS}")
    assert recorded({LIST: "A"}, DIRECT)[LIST].startswith(f"A;{OURS}")


def test_open_mpi_forwards_the_size_of_pytorchs_flight_recorder() -> None:
    assert recorded({}, OPEN_MPI)[LIST].split(";")[-1] == "TORCH_FR_BUFFER_SIZE"
    base = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "7"}
    assert "TORCH_FR_BUFFER_SIZE" not in recorded(base, OPEN_MPI)[LIST]


def test_open_mpis_own_delimiter_is_used() -> None:
    base = {LIST: "A+B", f"{LIST}_delimiter": "+"}
    assert recorded(base, OPEN_MPI)[LIST].startswith("A+B+LD_PRELOAD+PYTHONPATH")


@pytest.mark.parametrize("launcher", [DIRECT, Launcher(LauncherKind.MPIRUN, flavor=Flavor.MPICH)])
def test_other_launchers_need_no_list(launcher: Launcher) -> None:
    assert LIST not in recorded({}, launcher)


def test_no_list_beside_option_x_which_open_mpi_4_refuses() -> None:
    launcher = Launcher(
        LauncherKind.MPIRUN, flavor=Flavor.OPEN_MPI, arguments=("-x", "A", "-n", "2")
    )
    assert LIST not in recorded({}, launcher)


def test_a_recording_around_this_one_is_taken_out(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    (agent / "perfscope_agent").mkdir(parents=True)
    base = {"PYTHONPATH": "mine", "LD_PRELOAD": "mine.so", "X": "1"}
    outer = job_environment(
        base,
        directory=Path("/runs/outer"),
        injection=Injection(Path("/opt/libperfscope_recorder.so"), agent),
        options=RecordingOptions(),
        launcher=OPEN_MPI,
    )
    outer["PERFSCOPE_OWNER"] = "12|0"
    assert without_recording(outer) == base
    assert recorded(outer) == recorded(base)


def test_what_was_empty_before_is_absent_again() -> None:
    assert without_recording(recorded({}, OPEN_MPI) | {"PYTHONPATH": ""}) == {"PYTHONPATH": ""}


def test_awkward_paths_get_a_link(tmp_path: Path) -> None:
    library = tmp_path / "a b" / "libperfscope_recorder.so"
    library.parent.mkdir()
    library.write_bytes(b"x")
    with loadable_paths(Injection(library, tmp_path)) as paths:
        assert paths.recorder is not None
        assert " " not in str(paths.recorder)
        assert paths.recorder.read_bytes() == b"x"
    assert not paths.recorder.exists()
