"""Builds Horovod 0.28.1 for TensorFlow and PyTorch into the environment `horovod`.

PyPI has its sources and no wheel. The build takes minutes, so the wheel made here is kept beside
the environments and used again until the recipe, the Python or what it is built against changes.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

VERSION = "0.28.1"
PYTHONS = ((3, 10), (3, 11))
"""TensorFlow 2.15, the newest that this Horovod knows, has wheels for 3.9 to 3.11; we need 3.10."""

RECIPE = {
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_WITH_MPI": "1",
    "HOROVOD_WITH_GLOO": "1",
}
ONCE = """# Create library
add_library(common OBJECT ${SOURCES})
set_target_properties(common PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
target_include_directories(common PRIVATE ${EIGEN_INCLUDE_PATH} ${FLATBUFFERS_INCLUDE_PATH})
"""
TOGETHER = """SHARED $<TARGET_OBJECTS:common> ${PYTORCH_SOURCES})
set_target_properties(${PYTORCH_TARGET_LIB} PROPERTIES UNITY_BUILD ON)"""
XLA = 'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")'
GLOO = "    target_compile_definitions(gloo PRIVATE _GLIBCXX_USE_CXX11_ABI=1)\n"
GLOO_TOGETHER = (
    "    set_target_properties(gloo PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)\n"
)
GLOO_AGAIN = "if(HAVE_GLOO AND (DEFINED Tensorflow_CXX17 AND Tensorflow_CXX17))"
PATCHES = {
    # PyTorch's headers ask for C++20. Without -g and at -O1 the build takes a third less time.
    "CMakeLists.txt": (
        ("set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 20)"),
        ('"-O2" "-O3"', '"-O2 -g" "-O1"'),
        (GLOO, GLOO + GLOO_TOGETHER),
        (GLOO_AGAIN, "if(FALSE)"),
    ),
    # Gloo, too, is compiled once: TensorFlow links what PyTorch does. What is left out is used
    # nowhere, and cannot be compiled together with the rest.
    "third_party/gloo/gloo/CMakeLists.txt": (
        ('  "${CMAKE_CURRENT_SOURCE_DIR}/allreduce_local.cc"\n', ""),
    ),
    # What knows no framework is compiled once for both, as TensorFlow wants it, and files that
    # include the same headers are compiled together. Operations for XLA are off unless asked for.
    "horovod/tensorflow/CMakeLists.txt": (
        ("# Create library\n", ONCE),
        ("SHARED ${SOURCES}", "SHARED $<TARGET_OBJECTS:common>"),
        (XLA, ""),
        ("compatible17_gloo", "gloo"),
    ),
    "horovod/torch/CMakeLists.txt": (
        ("set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 20)"),
        ("SHARED ${SOURCES} ${PYTORCH_SOURCES})", TOGETHER),
    ),
}
"""What is changed in the sources: texts and their replacements by file."""

BUILT_AGAINST = ("mpich", "numpy", "tensorflow", "torch")
"""A wheel fits as long as these stay the same."""

TOOLS = {"c++": "g++", "make": "make"}
"""Programs that the build starts, and the Debian packages that bring them."""

Run = Callable[..., None]


def python() -> str | None:
    """A Python that Horovod's TensorFlow has wheels for: this one, or another one in PATH."""
    if PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(PYTHONS[1][1], PYTHONS[0][1] - 1, -1)]
    return next((found for name in names if (found := shutil.which(name))), None)


def obstacle() -> str | None:
    """Why this machine cannot build Horovod and what helps; None when it can."""
    if python() is None:
        return (
            "It needs Python 3.10 or 3.11, for which TensorFlow 2.15 has wheels; this is "
            f"{sys.version.split()[0]}, and neither python3.11 nor python3.10 is in PATH. "
            "Its tests are skipped."
        )
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing:
        return (
            "Horovod is compiled here and tools for that are missing. On Debian and Ubuntu: "
            f"apt-get install {' '.join(missing)}"
        )
    return None


def install(place: Path, requirements: Path, *, cache: Path, run: Run) -> None:
    """Puts Horovod into an environment, from the cache where a fitting wheel is there.

    Args:
        place: the environment, with everything else already in it.
        requirements: the file that lists what is in it.
        cache: where wheels are kept.
        run: starts a command and raises when it fails.
    """
    lines = requirements.read_text(encoding="utf-8").splitlines()
    against = [line for line in lines if line.startswith(BUILT_AGAINST)]
    recipe = f"{VERSION} {sorted(RECIPE.items())} {PATCHES} {against} {python()} {sys.version}"
    kept = cache / f"horovod-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    pip = (place / "bin" / "python", "-m", "pip")
    if not any(kept.glob("*.whl")):
        cores = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(len(os.sched_getaffinity(0))))
        variables = {
            **RECIPE,
            "PATH": f"{place / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
            "CMAKE_BUILD_PARALLEL_LEVEL": cores,
            "MAKEFLAGS": os.environ.get("MAKEFLAGS", f"-j{cores}"),
        }
        with tempfile.TemporaryDirectory(prefix="perfscope-horovod-") as scratch:
            source = patched_source(pip, Path(scratch), run, variables)
            options = ("--no-build-isolation", "--no-deps", "--wheel-dir", kept)
            run(*pip, "wheel", "--quiet", *options, source, variables=variables)
    wheel = next(kept.glob("*.whl"))
    run(*pip, "install", "--quiet", "--no-deps", "--force-reinstall", wheel)


def patched_source(
    pip: tuple[str | Path, ...], scratch: Path, run: Run, variables: Mapping[str, str]
) -> Path:
    """The source distribution, unpacked, with `PATCHES` applied."""
    options = ("--no-build-isolation", "--no-deps", "--no-binary", "horovod", "--dest", scratch)
    run(*pip, "download", "--quiet", *options, f"horovod=={VERSION}", variables=variables)
    shutil.unpack_archive(scratch / f"horovod-{VERSION}.tar.gz", scratch)
    source = scratch / f"horovod-{VERSION}"
    for name, changes in PATCHES.items():
        path = source / name
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            if old not in text:
                raise ValueError(f"{name} of Horovod {VERSION} holds no {old!r}")
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    return source
