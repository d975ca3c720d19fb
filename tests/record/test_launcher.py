"""Launchers are told by what is found in PATH; ranks by the command line."""

import os
import shlex
from pathlib import Path

import pytest

from perfscope.record.launcher import Flavor, LauncherKind, mpi_flavor, recognize
from tests.support.environments import Mpi

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize(
    ("command", "kind", "ranks", "program"),
    [
        ("python train.py", LauncherKind.DIRECT, None, "python"),
        ("mpirun -n 4 python train.py -n 9", LauncherKind.MPIRUN, 4, "python"),
        ("mpirun -np 4 ./train", LauncherKind.MPIRUN, 4, "./train"),
        ("mpiexec --np=8 ./train", LauncherKind.MPIRUN, 8, "./train"),
        ("mpiexec.hydra -n 2 -genv A B python x.py", LauncherKind.MPIRUN, 2, "python"),
        ("mpirun --oversubscribe -n 3 a", LauncherKind.MPIRUN, 3, "a"),
        ("mpirun --bind-to core --mca btl self -x A -n 3 a b", LauncherKind.MPIRUN, 3, "a"),
        ("mpirun -n 2 a : -n 3 b -x", LauncherKind.MPIRUN, 5, "a"),
        ("mpirun python train.py -n 9", LauncherKind.MPIRUN, None, "python"),
        ("mpirun --display-map python3.12 train.py -n 9", LauncherKind.MPIRUN, None, "python3.12"),
        ("env -u X A=1 nice -n 5 mpirun -n 2 a", LauncherKind.MPIRUN, 2, "a"),
        ("timeout -k 5 60 mpirun -n 2 a", LauncherKind.MPIRUN, 2, "a"),
        ("srun -n 6 a", LauncherKind.SRUN, 6, "a"),
        ("srun --ntasks=6 -N2 a", LauncherKind.SRUN, 6, "a"),
        ("horovodrun -np 2 -H localhost:2 python a.py", LauncherKind.HOROVODRUN, 2, "python"),
        ("python3 /v/bin/horovodrun -np 2 python a.py", LauncherKind.HOROVODRUN, 2, "python"),
        ("torchrun --nproc_per_node 4 a.py", LauncherKind.TORCHRUN, 4, "a.py"),
        ("torchrun --nnodes=2 --nproc-per-node=4 a.py", LauncherKind.TORCHRUN, 8, "a.py"),
        (
            "python -m torch.distributed.run --nproc_per_node 2 a.py",
            LauncherKind.TORCHRUN,
            2,
            "a.py",
        ),
        ("env A=1", LauncherKind.DIRECT, None, None),
    ],
)
def test_kind_ranks_and_program(
    command: str, kind: LauncherKind, ranks: int | None, program: str | None
) -> None:
    launcher = recognize(shlex.split(command), ENVIRONMENT)
    assert (launcher.kind, launcher.ranks_requested, launcher.program) == (kind, ranks, program)


def test_ranks_of_srun_come_from_the_allocation() -> None:
    launcher = recognize(["srun", "a"], {**ENVIRONMENT, "SLURM_NTASKS": "12"})
    assert launcher.ranks_requested == 12


def test_flavor_is_that_of_the_binary_behind_the_name(mpi: Mpi, tmp_path: Path) -> None:
    assert mpi_flavor(str(mpi.environment.mpirun)).value == mpi.flavor
    (tmp_path / "mpirun").symlink_to(mpi.environment.mpirun)
    launcher = recognize(["mpirun", "-n", "2", "a"], {"PATH": str(tmp_path)})
    assert launcher.flavor is not None
    assert launcher.flavor.value == mpi.flavor


def test_flavor_of_what_is_not_there_is_unknown() -> None:
    assert mpi_flavor("no-such-mpirun") is Flavor.UNKNOWN
