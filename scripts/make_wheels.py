#!/usr/bin/env python3
"""Builds wheels that run wherever glibc is 2.17 or newer, and checks that they do (`make wheels`).

The engine is compiled by Zig's C++ compiler (of PyPI) against glibc 2.17 with its own C++ library
inside, so that neither an old distribution nor a container is needed; the recorder binds old
versions by itself, whatever compiles it. auditwheel judges the result and gives it its tag.

    scripts/make_wheels.py [--python PYTHON ...] [--twice] [--output dist]
    scripts/make_wheels.py --python PYTHON --same-as dist/WHEEL    # the second half of --twice
    scripts/make_wheels.py --machine aarch64    # for another processor than this one's
    scripts/make_wheels.py --wheelhouse     # with everything that it needs, for machines offline
    scripts/make_wheels.py --sbom           # only what perfscope needs, as CycloneDX
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "build" / "wheel-tools"
HASHED = ROOT / "requirements" / "runtime.hashed.txt"
OLD_LIBRARY = ROOT / "requirements" / "glibc-2.17.hashed.txt"
OLD_LIBRARY_TO = 13
"""The last Python 3 for which there are wheels of numpy and pandas for glibc 2.17."""
NEW_LIBRARY_MINOR = 28
NEWEST_PYTHON = 14
GLIBC = "2.17"
OLDEST_MINOR = 17
MACHINES = ("x86_64", "aarch64")
EPOCH = "1764028800"
"""Time of the files in a wheel where SOURCE_DATE_EPOCH does not say another one."""


class FailedError(Exception):
    """A wheel could not be made, or is not what it should be; the text says why."""


def run(command: Sequence[str | Path], variables: dict[str, str] | None = None) -> str:
    """Runs a step; its output is shown when it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise FailedError(f"failed: {' '.join(map(str, command))}\n{tail}")
    return done.stdout + done.stderr


def tools(python: Path) -> Path:
    """The directory of programs of an environment of this Python that builds its wheels."""
    version = run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
    place = TOOLS / version
    requirements = ROOT / "requirements" / "wheels.txt"
    mark = place / "made"
    if not mark.exists() or mark.read_bytes() != requirements.read_bytes():
        shutil.rmtree(place, ignore_errors=True)
        run([python, "-m", "venv", place])
        run([place / "bin" / "python", "-m", "pip", "install", "-q", "-r", requirements])
        mark.write_bytes(requirements.read_bytes())
    return place / "bin"


def compiler(programs: Path, directory: Path, machine: str, language: str) -> Path:
    """A program that compiles C (`cc`) or C++ (`c++`) for the old C library of a machine."""
    path = directory / language
    target = f"{machine}-linux-gnu.{GLIBC}"
    # nanobind uses stderr, which neither Python.h of the stable ABI nor Zig's library brings along
    more = " -include stdio.h" if language == "c++" else ""
    words = f'"{programs}/python" -m ziglang {language} -target {target}{more} "$@"'
    path.write_text(f"#!/bin/sh\nexec {words}\n")
    path.chmod(0o755)
    return path


def for_machine(programs: Path, directory: Path, machine: str) -> tuple[dict[str, str], list[str]]:
    """What tells a build that it is for this machine: variables, and definitions of CMake.

    The C code of the recorder is compiled by what is there, where that can be. Headers
    of Python are those of this machine: all that they fix differently for 64-bit Linux on
    another processor is the suffix of modules, which is said here.
    """
    if machine == platform.machine():
        return {}, []
    asked = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    suffix = run([programs / "python", "-c", asked]).strip().replace(platform.machine(), machine)
    variables = {
        "CC": str(compiler(programs, directory, machine, "cc")),
        "SETUPTOOLS_EXT_SUFFIX": suffix,
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
    }
    return variables, ["CMAKE_SYSTEM_NAME=Linux", f"CMAKE_SYSTEM_PROCESSOR={machine}"]


def build(python: Path, output: Path, machine: str, kept: Path | None = None) -> Path:
    """Builds, checks and names one wheel.

    What Zig keeps of a build (its C++ library) stands in a directory of its own: the user's may be
    in use by others, or hold what another build left. `kept` is another one than that of the tools.
    """
    programs = tools(python)
    kept = kept or TOOLS / "zig"
    with tempfile.TemporaryDirectory() as place:
        told, defined = for_machine(programs, Path(place), machine)
        variables = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "CXX": str(compiler(programs, Path(place), machine, "c++")),
            "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", EPOCH),
            "ZIG_GLOBAL_CACHE_DIR": str(kept / "global"),
            "ZIG_LOCAL_CACHE_DIR": str(kept / "local"),
            **told,
        }
        options = ["-q", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
        built = Path(place, "built")
        # each file must include what it needs, which precompiled headers hide
        defined = [*defined, "CMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
        settings = [f"build-dir={Path(place, 'cmake')}", *(f"cmake.define.{d}" for d in defined)]
        pip: list[str | Path] = [programs / "python", "-m", "pip", "wheel", *options]
        where: list[str | Path] = ["--wheel-dir", built, *(f"-C{one}" for one in settings)]
        run([*pip, *where, ROOT], variables)
        (wheel,) = built.glob("*.whl")
        judged = run([programs / "auditwheel", "show", wheel])
        fits = re.search(rf'platform tag:\s+"manylinux_2_(\d+)_{machine}"', judged)
        if fits is None or int(fits[1]) > OLDEST_MINOR:
            raise FailedError(f"{wheel.name} needs more than glibc {GLIBC}:\n{judged}")
        output.mkdir(parents=True, exist_ok=True)
        tag = ["--platform-tag", f"manylinux2014_{machine}.manylinux_2_17_{machine}", "--remove"]
        # which writes a file of its own, and so needs the time as well
        named = run([programs / "python", "-m", "wheel", "tags", *tag, wheel], variables).split()[
            -1
        ]
        final = output / named
        shutil.move(built / named, final)
    return final


def check_twice(python: Path, wheel: Path, machine: str) -> None:
    """Builds the same once more, elsewhere: it must be the same to the byte."""
    with tempfile.TemporaryDirectory() as place:
        again = build(python, Path(place), machine, Path(place, "zig"))
        first, second = (hashlib.sha256(p.read_bytes()).hexdigest() for p in (wheel, again))
    if first != second:
        raise FailedError(f"{wheel.name} is not reproducible: {first} and {second}")


def served(wheel: Path) -> list[int]:
    """The minor versions of Python 3 that a wheel is for; of the stable ABI all later ones."""
    _, _, python, abi, _ = wheel.stem.split("-")
    first = int(python.removeprefix("cp3"))
    return list(range(first, NEWEST_PYTHON + 1)) if abi == "abi3" else [first]


def wheelhouse(wheel: Path, output: Path, machine: str) -> None:
    """The wheel, and beside it everything that it needs, pinned by hash.

    What is for Python up to 3.13 installs where glibc is 2.17 or newer. For later ones nobody
    builds numpy for so old a library: what they get needs 2.28.
    """
    for minor in served(wheel):
        is_old = minor <= OLD_LIBRARY_TO
        last = OLDEST_MINOR if is_old else NEW_LIBRARY_MINOR
        tags = [f"manylinux_2_{number}_{machine}" for number in range(OLDEST_MINOR, last + 1)]
        platforms = [f"--platform={tag}" for tag in (f"manylinux2014_{machine}", *tags)]
        pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:"]
        target = ["--python-version", f"3.{minor}", "--implementation", "cp", *platforms]
        pinned = OLD_LIBRARY if is_old else HASHED
        run([*pip, *target, "--no-deps", "--require-hashes", "-r", pinned, "--dest", output])
    shutil.copy(wheel, output)


def sbom(python: Path, output: Path) -> Path:
    """The bill of materials: what an installation consists of, with versions and hashes."""
    path = output / "sbom.cdx.json"
    output.mkdir(parents=True, exist_ok=True)
    lister: list[str | Path] = [tools(python) / "cyclonedx-py", "requirements", HASHED]
    run([*lister, "--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "-o", path])
    return path


def main() -> int:
    """Makes what is asked for and says what it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", default=[], type=Path)
    parser.add_argument("--machine", choices=MACHINES, default=platform.machine())
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--twice", action="store_true", help="also that it is reproducible")
    parser.add_argument("--same-as", type=Path, help="only that this wheel is built so again")
    parser.add_argument("--wheelhouse", action="store_true")
    parser.add_argument("--sbom", action="store_true")
    asked = parser.parse_args()
    try:
        if asked.sbom:
            print(sbom(Path(sys.executable), asked.output))
            return 0
        for python in asked.python or [Path(sys.executable)]:
            wheel = asked.same_as or build(python, asked.output, asked.machine)
            if asked.twice or asked.same_as:
                check_twice(python, wheel, asked.machine)
            if asked.wheelhouse:
                wheelhouse(wheel, asked.output / "wheelhouse", asked.machine)
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            same = "  twice the same" if asked.twice or asked.same_as else ""
            print(f"{wheel}  sha256 {digest}{same}")
    except FailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
