#!/usr/bin/env python3
"""Makes the virtual environments of this project: `scripts/environments.py mpich openmpi`.

An environment below .envs/ is made once and kept until its requirements, the Python, or (where
perfscope is installed in it) the sources that matter change. Needs the standard library, a C
compiler and a Python with venv.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import horovod_build, installer  # noqa: E402, the path above finds it

MINIMUM_PYTHON = (3, 10)
BUILD_INPUTS = ("pyproject.toml", "CMakeLists.txt", "LICENSE", "native")
DEVELOPERS_BUILD = (
    f"--config-settings=build-dir={ROOT / 'build' / 'developer'}",
    "--config-settings=cmake.define.PERFSCOPE_WERROR=ON",
    "--config-settings=cmake.define.CMAKE_UNITY_BUILD=ON",
)
"""What is compiled in the checkout is kept: for the next change, and for the wheel of the tests."""
SELDOM_COLLECTED = (
    "import atexit, gc, os, sys; os.environ.get('SELDOM_COLLECTED') and"
    " (gc.set_threshold(700, 10, 1000), atexit.register(gc.freeze));"
    " sys.modules.update(dict.fromkeys(os.environ.get('HIDDEN_MODULES', '').split()));"
    " start = os.environ.get('LIGHT_START');"
    " start and exec(open(start).read(), {'__name__': 'light_start'})\n"
)
"""Where the variable is set, a process that loads PyTorch or TensorFlow does not look through all
that these are for cycles, while it loads them and at its end: that is a fifth of what it takes.
Modules that another one names cannot be imported: Keras loads all of scikit-learn where it can.
A third one names a file to run first: tests/support/light_start.py."""


class Perfscope(Enum):
    """How perfscope itself comes into an environment."""

    ABSENT = "absent"
    INSTALLED = "installed"
    EDITABLE = "editable"


ENVIRONMENTS = {
    "demo": Perfscope.INSTALLED,
    "mpich": Perfscope.EDITABLE,
    "daal4py": Perfscope.ABSENT,
    "openmpi": Perfscope.ABSENT,
    "intelmpi": Perfscope.ABSENT,
    "torch": Perfscope.ABSENT,
    "tensorflow": Perfscope.ABSENT,
    "horovod": Perfscope.ABSENT,
    "ecosystem": Perfscope.ABSENT,
    "hta": Perfscope.ABSENT,
    "extrap": Perfscope.ABSENT,
    "integrations": Perfscope.ABSENT,
    "docs": Perfscope.ABSENT,
}


class EnvironmentMakingError(Exception):
    """An environment could not be made; the text says what to do."""


class NotOnThisMachineError(EnvironmentMakingError):
    """An environment that this machine cannot have; the others are made all the same."""


def requirement_files(path: Path) -> Iterator[Path]:
    """The requirement file and those that it includes."""
    yield path
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from requirement_files(path.parent / line[3:].strip())


def source_files(inputs: tuple[str, ...]) -> list[Path]:
    """The files whose content decides what is installed of perfscope."""
    found: list[Path] = []
    for name in inputs:
        place = ROOT / name
        found.extend([place] if place.is_file() else sorted(place.rglob("*")))
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def digest(paths: list[Path], options: tuple[str, ...] = ()) -> str:
    """A hash over files, options, and the Python that makes the environment."""
    whole = (sys.version, sys.executable, str(ROOT), *options)
    text = hashlib.sha256("".join(f"{part}\n" for part in whole).encode())
    for path in paths:
        text.update(f"{path.relative_to(ROOT)}\n".encode())
        text.update(hashlib.sha256(path.read_bytes()).digest())
    return text.hexdigest()


def build_inputs(kind: Perfscope) -> tuple[str, ...]:
    """What of the sources goes into the environment; of an editable one only the compiled part."""
    if kind is Perfscope.INSTALLED:
        return (*BUILD_INPUTS, "README.md", "perfscope")
    return BUILD_INPUTS if kind is Perfscope.EDITABLE else ()


def run(*command: str | Path, variables: Mapping[str, str] | None = None) -> None:
    """Runs a step, with more environment variables; its output is shown only when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(variables or {})},
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-25:])
        raise EnvironmentMakingError(f"failed: {' '.join(map(str, command))}\n{tail}")


def check_machine(name: str, kind: Perfscope) -> None:
    """Fails early, with the command that helps, when this machine cannot make an environment."""
    if sys.version_info < MINIMUM_PYTHON:
        raise EnvironmentMakingError(
            f"perfscope needs Python 3.10 or newer; {sys.executable} is {sys.version.split()[0]}.\n"
            "Name another one: make PYTHON=/path/to/python3.12 ..."
        )
    try:
        import ensurepip  # noqa: F401, PLC0415
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise EnvironmentMakingError(
            f"{sys.executable} cannot make virtual environments: ensurepip is missing.\n"
            f"On Debian and Ubuntu: apt-get install python{version}-venv"
        ) from None
    if name == "horovod" and (why := horovod_build.obstacle()):
        raise NotOnThisMachineError(why)
    compilers = {
        "C": [os.environ.get("CC", "cc"), "gcc", "clang"],
        "C++": [os.environ.get("CXX", "c++"), "g++", "clang++"],
    }
    missing = [name for name, known in compilers.items() if not any(map(shutil.which, known))]
    if kind is not Perfscope.ABSENT and missing:
        raise EnvironmentMakingError(
            f"perfscope is compiled here and no {' and no '.join(missing)} compiler was found.\n"
            "On Debian and Ubuntu: apt-get install gcc g++ libc6-dev python3-dev"
        )


def make_packages(name: str, place: Path) -> bool:
    """Installs the pinned packages; whether there was anything to do."""
    files = list(requirement_files(ROOT / "requirements" / f"{name}.txt"))
    # what would bring a second build of a package that is there under another name
    alone = ROOT / "requirements" / f"{name}.alone.txt"
    if alone.is_file():
        files.append(alone)
    if name == "horovod":
        files.append(Path(horovod_build.__file__))
    stamp, wanted = place / "packages.stamp", digest(files)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return False
    shutil.rmtree(place, ignore_errors=True)
    interpreter = horovod_build.python() if name == "horovod" else None
    has_pip = ENVIRONMENTS[name] is not Perfscope.ABSENT or name == "horovod"
    without = () if has_pip else ("--without-pip",)  # it is a second's work
    run(interpreter or sys.executable, "-m", "venv", *without, place)
    tools = make_tools()
    installer.install(tools, place, ["-r", files[0]], run=run)
    if alone in files:
        installer.install(tools, place, ["--no-deps", "-r", alone], run=run)
    if name == "horovod":
        horovod_build.install(place, files[0], cache=ROOT / ".envs" / "wheels", run=run)
    stamp.write_text(wanted, encoding="utf-8")
    return True


def make_tools() -> Path:
    """An environment with what installs packages into the others."""
    place, wanted = ROOT / ".envs" / "uv", ROOT / "requirements" / "uv.txt"
    stamp, digested = place / "packages.stamp", digest([wanted])
    with lock("uv"):
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != digested:
            shutil.rmtree(place, ignore_errors=True)
            run(sys.executable, "-m", "venv", place)
            pip = (place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile")
            run(*pip, "-r", wanted)
            stamp.write_text(digested, encoding="utf-8")
    return place


def install_perfscope(kind: Perfscope, place: Path) -> bool:
    """Installs perfscope from this checkout; whether there was anything to do."""
    options = DEVELOPERS_BUILD if kind is Perfscope.EDITABLE else ()
    stamp, wanted = place / "perfscope.stamp", digest(source_files(build_inputs(kind)), options)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return False
    pip = (place / "bin" / "python", "-m", "pip", "install", "--quiet")
    if kind is Perfscope.EDITABLE:
        path = f"{place / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        whole = ("--no-deps", "--no-build-isolation", "--force-reinstall")
        run(*pip, *whole, *options, "--editable", ROOT, variables={"PATH": path})
    else:
        run(*pip, "-r", ROOT / "requirements" / f"{place.name}.txt", f"{ROOT}[mpi]")
    stamp.write_text(wanted, encoding="utf-8")
    return True


def make(name: str) -> None:
    """Brings one environment up to date and says how long that took."""
    kind, place = ENVIRONMENTS[name], ROOT / ".envs" / name
    began = time.monotonic()
    check_machine(name, kind)
    changed = make_packages(name, place)
    if kind is not Perfscope.ABSENT:
        changed = install_perfscope(kind, place) or changed
    else:
        have_tests_collect_seldom(place)
    state = f"made in {time.monotonic() - began:.1f} s" if changed else "up to date"
    print(f"environment {name}: {state}", file=sys.stderr)


def have_tests_collect_seldom(place: Path) -> None:
    """Has each Python of an environment read `SELDOM_COLLECTED` when it starts."""
    for packages in place.glob("lib/python3*/site-packages"):
        (packages / "seldom_collected.pth").write_text(SELDOM_COLLECTED, encoding="utf-8")


def lock(name: str) -> BinaryIO:
    """Holds up who wants to make or use an environment, until what this returns is closed."""
    place = ROOT / ".envs" / f"{name}.lock"
    place.parent.mkdir(exist_ok=True)
    held = place.open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    return held


def make_if_possible(name: str, held: BinaryIO) -> bool:
    """Brings one environment up to date; False, with the reason on stderr, where that cannot be."""
    with held:
        try:
            make(name)
        except NotOnThisMachineError as why:
            print(f"environment {name}: left out. {why}", file=sys.stderr)
            return False
    return True


def main() -> int:
    """Makes the environments named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="+", choices=sorted(ENVIRONMENTS), metavar="NAME")
    names = list(dict.fromkeys(parser.parse_args().names))
    # in one order, so that two who make environments cannot wait for each other
    locks = {name: lock(name) for name in sorted(names)}
    try:
        # downloading and unpacking leave a core free; the longest goes first
        names.sort(key=lambda name: name != "horovod")
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(make_if_possible, names, map(locks.__getitem__, names)))
    except EnvironmentMakingError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0 if any(made) else 1


if __name__ == "__main__":
    sys.exit(main())
