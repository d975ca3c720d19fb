#!/usr/bin/env python3
"""Builds wheels that run wherever glibc is 2.17 or newer, and checks that they do (`make wheels`).

The engine is compiled by Zig's C++ compiler (of PyPI) against glibc 2.17 with its own C++ library
inside, so that neither an old distribution nor a container is needed; the recorder binds old
versions by itself, whatever compiles it. auditwheel judges the result and gives it its tag.

    scripts/make_wheels.py [--python PYTHON ...] [--twice] [--output dist]
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
RUNTIME = ROOT / "requirements" / "runtime.txt"
HASHED = ROOT / "requirements" / "runtime.hashed.txt"
GLIBC = "2.17"
OLDEST_MINOR = 17
TAG = f"manylinux2014_{platform.machine()}"
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


def compiler(programs: Path, directory: Path) -> Path:
    """A program that compiles C++ for the old C library."""
    path = directory / "c++"
    target = f"{platform.machine()}-linux-gnu.{GLIBC}"
    # nanobind uses stderr, which neither Python.h of the stable ABI nor Zig's library brings along
    words = f'"{programs}/python" -m ziglang c++ -target {target} -include stdio.h "$@"'
    path.write_text(f"#!/bin/sh\nexec {words}\n")
    path.chmod(0o755)
    return path


def build(python: Path, output: Path) -> Path:
    """Builds, checks and names one wheel."""
    programs = tools(python)
    with tempfile.TemporaryDirectory() as place:
        variables = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "CXX": str(compiler(programs, Path(place))),
            "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", EPOCH),
        }
        options = ["-q", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
        built = Path(place, "built")
        source = f"-Cbuild-dir={Path(place, 'cmake')}"
        pip: list[str | Path] = [
            programs / "python",
            "-m",
            "pip",
            "wheel",
            *options,
            "--wheel-dir",
            built,
        ]
        run([*pip, source, ROOT], variables)
        (wheel,) = built.glob("*.whl")
        judged = run([programs / "auditwheel", "show", wheel], variables)
        fits = re.search(r'platform tag:\s+"manylinux_2_(\d+)_\w+"', judged)
        if fits is None or int(fits[1]) > OLDEST_MINOR:
            raise FailedError(f"{wheel.name} needs more than glibc {GLIBC}:\n{judged}")
        output.mkdir(parents=True, exist_ok=True)
        tag = ["--platform-tag", f"{TAG}.manylinux_2_17_{platform.machine()}", "--remove"]
        named = run([programs / "python", "-m", "wheel", "tags", *tag, wheel]).split()[-1]
        final = output / named
        shutil.move(built / named, final)
    return final


def check_twice(python: Path, wheel: Path) -> None:
    """Builds the same once more, elsewhere: it must be the same to the byte."""
    with tempfile.TemporaryDirectory() as place:
        again = build(python, Path(place))
        first, second = (hashlib.sha256(p.read_bytes()).hexdigest() for p in (wheel, again))
    if first != second:
        raise FailedError(f"{wheel.name} is not reproducible: {first} and {second}")


def wheelhouse(python: Path, wheel: Path, output: Path) -> None:
    """Everything that the wheel needs, pinned by hash, beside it; by version for Python 3.10."""
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    is_hashed = subprocess.run([python, "-c", code], check=False).returncode == 0
    pinned: list[str | Path] = ["--require-hashes", "-r", HASHED] if is_hashed else ["-r", RUNTIME]
    pip: list[str | Path] = [python, "-m", "pip", "download", "-q", "--only-binary", ":all:"]
    run([*pip, *pinned, "--dest", output])
    shutil.copy(wheel, output)


def sbom(python: Path, output: Path) -> Path:
    """The bill of materials: what an installation consists of, with versions."""
    path = output / "sbom.cdx.json"
    output.mkdir(parents=True, exist_ok=True)
    lister: list[str | Path] = [tools(python) / "cyclonedx-py", "requirements", RUNTIME]
    run([*lister, "--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "-o", path])
    return path


def main() -> int:
    """Makes what is asked for and says what it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", default=[], type=Path)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--twice", action="store_true", help="also that it is reproducible")
    parser.add_argument("--wheelhouse", action="store_true")
    parser.add_argument("--sbom", action="store_true")
    asked = parser.parse_args()
    try:
        if asked.sbom:
            print(sbom(Path(sys.executable), asked.output))
            return 0
        for python in asked.python or [Path(sys.executable)]:
            wheel = build(python, asked.output)
            if asked.twice:
                check_twice(python, wheel)
            if asked.wheelhouse:
                wheelhouse(python, wheel, asked.output / "wheelhouse")
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            print(f"{wheel}  sha256 {digest}{'  twice the same' if asked.twice else ''}")
    except FailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
