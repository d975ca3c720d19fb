"""Runs whose recordings and results may be published: nothing in them tells of this machine.

They happen in a directory of neutral name with environments of its own, so that what perfscope
writes holds no path, user or host name of the machine; that is checked at the end. For root the
host is called node01. The packages are those of the environments that `make environments` makes.
"""

from __future__ import annotations

import argparse
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SYSTEM_PYTHON = Path("/usr/bin/python3")
PLACE = Path("/tmp/perfscope-samples")
HOST = "node01"
OWN = "mpich"  # the environment that perfscope is installed in
ALONE = "perfscope-alone"  # a directory with perfscope in it and none of its packages
LONGEST_INSTALL_S = 600.0


class NeutralError(Exception):
    """A run could not be made, or its result may not be published; the text says why."""


def arguments(description: str, names: Sequence[str], destination: Path) -> argparse.Namespace:
    """What the user of a script chose: `names` (all if none), `python` and `destination`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--python", type=Path, default=_default_python(), help="of the runs")
    parser.add_argument("--destination", type=Path, default=destination, metavar="DIR")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(names):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    chosen.names = chosen.names or list(names)
    return chosen


@contextmanager
def place(python: Path, environments: set[str]) -> Iterator[None]:
    """Makes PLACE with environments in it, perfscope's own among them, and removes it at the end.

    Raises:
        NeutralError: PLACE exists, or an environment could not be made.
    """
    if PLACE.exists():
        raise NeutralError(f"{PLACE} exists: remove it first")
    PLACE.mkdir()
    try:
        _make_environments(python, {OWN, *environments})
        yield
    finally:
        shutil.rmtree(PLACE)


def copy_examples(names: Sequence[str], target: Path) -> None:
    """Puts files and directories of examples/ into a new directory."""
    target.mkdir()
    for name in names:
        path = ROOT / "examples" / name
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, target / name)


def perfscope(
    words: Sequence[str],
    environments: Sequence[str],
    *,
    cwd: Path,
    longest_s: float,
    packages: str = "",
    **extra: str,
) -> None:
    """Runs a command of perfscope on a host of neutral name, with few variables.

    Args:
        words: after `perfscope`.
        environments: whose programs the job finds; the first one's before those of the system.
        cwd: below PLACE.
        longest_s: after which it is given up.
        packages: the environment with whose packages perfscope itself runs; "" for its own.
        extra: variables besides those that say where programs are.

    Raises:
        NeutralError: it failed or did not end.
    """
    command = [str(PLACE / (packages or OWN) / "bin" / "python"), "-m", "perfscope", *words]
    if os.geteuid() == 0 and shutil.which("unshare"):
        script = f"hostname {HOST} && exec {shlex.join(command)}"
        command = ["unshare", "--uts", "sh", "-c", script]
    first = PLACE / environments[0]
    variables = {
        "PATH": f"{first}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(PLACE),
        "LANG": "C.UTF-8",
    }
    if packages:
        variables["PYTHONPATH"] = str(PLACE / ALONE)
    if len(environments) == 1:  # before the path of its build, which stands in Horovod's library
        variables["LD_LIBRARY_PATH"] = f"{first}/lib"
    _run(command, cwd=cwd, environment=variables | extra, longest_s=longest_s)


def refuse_private_words(directory: Path) -> None:
    """Looks for words of this machine or user in all files below a directory.

    Raises:
        NeutralError: one is there.
    """
    words = sorted({word for word in _private_words() if len(word) > 3})
    for path in (path for path in directory.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if found := [word for word in words if word.encode() in content]:
            raise NeutralError(f"{path} holds {found}")


def _default_python() -> Path:
    """The system's Python, whose paths are the same everywhere, else this one."""
    return SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else Path(sys.executable)


def _make_environments(python: Path, names: set[str]) -> None:
    """Gives the packages of environments neutral paths, and copies perfscope to one."""
    for name in sorted(names):
        if not (ROOT / ".envs" / name / "bin" / "python").exists():
            print(f"making the environment {name} ...", flush=True)
            script = str(ROOT / "scripts" / "environments.py")
            _run([sys.executable, script, name], longest_s=LONGEST_INSTALL_S)
        _borrow(python, name)
    [packages] = (PLACE / OWN).glob("lib/python3.*/site-packages")
    compiled = packages.resolve() / "perfscope"
    installed = list(packages.resolve().iterdir())
    # perfscope is there in editable form: its sources would keep their paths.
    packages.unlink()
    packages.mkdir()
    for path in installed:
        if path.name != "perfscope" and not path.name.startswith("_editable"):
            (packages / path.name).symlink_to(path)
    ignored = shutil.ignore_patterns("__pycache__")
    for source in (ROOT / "perfscope", compiled):
        shutil.copytree(source, packages / "perfscope", ignore=ignored, dirs_exist_ok=True)
    (PLACE / ALONE).mkdir()
    (PLACE / ALONE / "perfscope").symlink_to(packages / "perfscope")


def _borrow(python: Path, name: str) -> None:
    """An environment of the same packages as .envs/<name>, whose files have neutral paths."""
    source, target = ROOT / ".envs" / name, PLACE / name
    _run([str(python), "-m", "venv", "--without-pip", str(target)], longest_s=LONGEST_INSTALL_S)
    [packages] = source.glob("lib/python3.*")
    if not (target / "lib" / packages.name).is_dir():
        raise NeutralError(
            f"{source} is made with {packages.name}, and {python} is another version: "
            "name the interpreter of the environment with --python"
        )
    shutil.rmtree(target / "lib" / packages.name / "site-packages")
    beside = [path for path in source.glob("lib/*") if path != packages]
    for path in [*beside, packages / "site-packages"]:
        (target / path.relative_to(source)).symlink_to(path)
    for path in source.glob("bin/*"):
        link = target / "bin" / path.name
        # Scripts of Python packages name the interpreter that they were installed with.
        if path.is_file() and not link.exists() and not _is_script(path):
            link.symlink_to(path)


def _is_script(path: Path) -> bool:
    """Whether a file names its interpreter."""
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _run(
    command: list[str],
    *,
    longest_s: float,
    cwd: Path = PLACE,
    environment: dict[str, str] | None = None,
) -> None:
    """Runs a step; raises with the end of its output when it fails or does not end."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=longest_s,
        )
    except subprocess.TimeoutExpired:
        raise NeutralError(f"no end after {longest_s:.0f} s: {shlex.join(command)}") from None
    if done.returncode != 0:
        tail = (done.stdout + done.stderr)[-3000:]
        raise NeutralError(f"failed: {shlex.join(command)}\n{tail}")


def _private_words() -> Iterator[str]:
    """Names that must not be published: the checkout, the home, the user, the host, secrets."""
    yield from (str(ROOT), str(Path.home()), socket.gethostname())
    if getpass.getuser() != "root":  # which is also part of many a function's name
        yield getpass.getuser()
    secret = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
    yield from (value for name, value in os.environ.items() if any(s in name for s in secret))
