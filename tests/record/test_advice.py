"""What keeps a recording from the ranks is said with the exact words that help."""

import shlex
from pathlib import Path

import pytest

from perfscope.filesystem import FileSystem, file_system
from perfscope.record.advice import before_start
from perfscope.record.launch import Injection, RecordingOptions, job_environment
from perfscope.record.launcher import recognize

INJECTION = Injection(Path("/opt/lib/libperfscope_recorder.so"), Path("/opt/agent"))
NAMES = (
    "LD_PRELOAD,PYTHONPATH,PERFSCOPE_DIR,PERFSCOPE_RECORDER,PERFSCOPE_AGENT,"
    "PERFSCOPE_KEY,PERFSCOPE_MAX_BYTES,PERFSCOPE_SAMPLE_HZ,PERFSCOPE_STACK_HZ,PERFSCOPE_GPU_HZ,"
    "TORCH_FR_BUFFER_SIZE"
)


def notes(text: str, variables: dict[str, str] | None = None) -> list[str]:
    command = shlex.split(text)
    launcher = recognize(command, {"PATH": "/usr/bin:/bin"})
    directory = Path("/runs/trace")
    environment = job_environment(
        variables or {},
        directory=directory,
        injection=INJECTION,
        options=RecordingOptions(),
        launcher=launcher,
    )
    return before_start(
        command,
        launcher=launcher,
        injection=INJECTION,
        environment=environment,
        directory=directory,
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("srun --export=NONE -n 2 a", f"write srun --export={NAMES}"),
        ("srun --export NONE -n 2 a", f"write srun --export={NAMES}"),
        ("srun --export=A,B=1 -n 2 a", f"write srun --export=A,B=1,{NAMES}"),
        ("sbatch job.sh", "put perfscope run -- in front of the mpirun or srun inside"),
    ],
)
def test_words_for_slurm(command: str, words: str) -> None:
    [note] = notes(command)
    assert words in note


@pytest.mark.parametrize(
    "command",
    [
        "srun -n 2 a",
        "srun --export=ALL,A=1 -n 2 a",
        f"srun --export={NAMES} -n 2 a",
        "mpirun -n 2 python train.py --export=NONE",
        "python docker run",
    ],
)
def test_nothing_is_said_where_nothing_is_wrong(command: str) -> None:
    assert notes(command) == []


def test_export_of_a_batch_script_is_seen() -> None:
    [note] = notes("srun -n 2 a", {"SLURM_EXPORT_ENV": "NONE"})
    assert "export SLURM_EXPORT_ENV=ALL" in note
    assert notes("srun -n 2 a", {"SLURM_EXPORT_ENV": "ALL"}) == []


def test_what_to_bind_into_apptainer() -> None:
    binding = "--bind /opt/lib/libperfscope_recorder.so,/opt/agent,/runs/trace"
    for name in ("apptainer", "singularity"):
        [note] = notes(f"mpirun -n 2 {name} exec image.sif python train.py")
        assert f"{binding} behind {name} exec" in note
        assert "--env" not in note
    assert notes("apptainer exec --bind /opt,/opt/lib/libperfscope_recorder.so,/opt/agent,"
                 "/runs/trace image.sif a") == []  # fmt: skip


def test_what_to_set_in_an_emptied_container() -> None:
    [note] = notes("apptainer exec --cleanenv image.sif python train.py")
    assert "--env LD_PRELOAD=/opt/lib/libperfscope_recorder.so" in note
    assert "--env PERFSCOPE_DIR=/runs/trace" in note


def test_what_to_pass_to_docker() -> None:
    [note] = notes("docker run --rm image python train.py")
    assert "-v /opt/agent:/opt/agent" in note
    assert "-e LD_PRELOAD -e PYTHONPATH -e PERFSCOPE_DIR" in note
    assert note.index("-e LD_PRELOAD") < note.index("behind docker run")


def test_a_forced_local_directory_is_said_with_the_bound_of_the_loss() -> None:
    [note] = notes("a", {"PERFSCOPE_LOCAL_DIR": "/scratch"})
    assert "PERFSCOPE_LOCAL_DIR is /scratch" in note
    assert "at most its last 5 s are lost" in note


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "gpfs", "fuse.sshfs", "beegfs", "cifs", "9p"])
def test_file_servers_are_known(kind: str) -> None:
    assert FileSystem(kind, "/").is_network


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "overlay", "fusectl", "btrfs"])
def test_local_disks_are_known(kind: str) -> None:
    assert not FileSystem(kind, "/").is_network


def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    assert file_system(Path("/proc/self/status")).kind == "proc"
    assert file_system(tmp_path / "not" / "there").mounted_at != ""
