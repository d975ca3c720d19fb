"""The stand-in for NVIDIA's management library, compiled where a test needs one."""

import subprocess
from pathlib import Path

from tests.support.requirements import require_tool

SOURCE = Path(__file__).with_suffix(".c")
GIB = 1 << 30


def gpu_uuid(index: int) -> str:
    """The name that the stand-in gives a GPU."""
    return f"GPU-00000000-0000-0000-0000-00000000000{index:x}"


def mig_uuid(instance: int) -> str:
    """The name that the stand-in gives an instance of GPU 0."""
    return f"MIG-00000000-0000-0000-0000-00000000000{instance:x}"


def compile_mock(directory: Path, *, is_old: bool = False) -> Path:
    """The library; `is_old`: as drivers of before 2020 had it."""
    target = directory / ("old" if is_old else "new") / "libnvidia-ml.so.1"
    target.parent.mkdir(parents=True)
    compiler = str(require_tool("cc"))
    options = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *(["-DOLD_DRIVER"] * is_old)]
    subprocess.run([compiler, *options, "-o", str(target), str(SOURCE)], check=True)
    return target


def compile_runtime(directory: Path) -> Path:
    """An empty library, for that of CUDA, which a process loads that uses a GPU."""
    source, target = directory / "runtime.c", directory / "libmockcuda.so"
    source.write_text("int mock_cuda;\n")
    compiler = str(require_tool("cc"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(target), str(source)], check=True)
    return target
