"""The recorder's own rules for secrets, in texts of a few characters, under sanitizers."""

import subprocess
from pathlib import Path

import pytest

from tests.support.environments import REPOSITORY
from tests.support.requirements import require_tool

SOURCES = REPOSITORY / "native" / "recorder"
MAIN = """
#include <stdio.h>
#include <string.h>
#include "secrets.h"
int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        char name[16] = "", path[4096] = "";
        strncpy(name, words[i], sizeof name - 1);
        strncpy(path, words[i], sizeof path - 1);
        ps_redact(name, sizeof name);
        ps_redact(path, sizeof path);
        printf("%s\\n%s\\n", name, path);
    }
    return 0;
}
"""
SECRETS = [
    "ghp_" + "1a2B3c4D5e6",
    "io ghu_" + "1a2B3c4D",
    "glpat-" + "x1y2z3a4b",
    "shpat_" + "0a1b2c3d4",
    "token=" + "hunter2",
    "pw:" + "hunter2",
    "db_pass=" + "swordf",
    "q8Zr4Tn" + "W1xLpV7s",
    "hf_" + "AbCdEfGhIjKl",
]
PATHS = ["/opt/run_shpat_" + "0a1b2c3d4e5f6071" + "/lib/libmpi.so", "/opt/token=" + "hunter2/lib"]
PLAIN = [
    "python",
    "cuda-EvtHandlr",
    "pt_autograd_0",
    "NCCL I/O thr 0",
    "cuda00001400006",
    "tf_XLAEigen",
    "hf_worker12",
    "sk-learn-0",
    "npm_worker1",
    "kworker/0:1",
    "OMP:worker 3",
    "session:3",
    "",
    "async",
    "C2 CompilerThre",
    "grpc_global_tim",
    "monkey:abc",
    "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What prints its arguments as the recorder would write them: as a name and as a path."""
    directory = tmp_path_factory.mktemp("secrets")
    source, target = directory / "main.c", directory / "redact"
    source.write_text(MAIN, encoding="utf-8")
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address,undefined"]
    files = [source, SOURCES / "secrets.c", f"-I{SOURCES}", "-o", target]
    command = [require_tool("cc"), *strict, "-fno-sanitize-recover", *files]
    subprocess.run([str(word) for word in command], check=True, timeout=60)
    return target


def shown(program: Path, words: list[str]) -> list[tuple[str, str]]:
    done = subprocess.run([program, *words], capture_output=True, check=True, timeout=30)
    lines = done.stdout.decode().split("\n")[:-1]
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_names_of_threads_lose_secrets(program: Path) -> None:
    for word, (name, path) in zip(SECRETS, shown(program, SECRETS), strict=True):
        assert word[-6:] not in name
        assert word[-6:] not in path
        assert "[red" in name
        assert len(name) < 16


def test_a_path_loses_only_the_secret(program: Path) -> None:
    [(_, first), (_, second)] = shown(program, PATHS)
    assert first == "/opt/run_[redacted]/lib/libmpi.so"
    assert second == "/opt/token=[redacted]"


def test_ordinary_names_stay(program: Path) -> None:
    for word, (name, path) in zip(PLAIN, shown(program, PLAIN), strict=True):
        assert (name, path) == (word[:15], word)


def test_no_text_is_too_long_or_too_odd(program: Path) -> None:
    words = ["ghp_a1B2c3" * 800, "token=" * 900, "=" * 5000, "a:b=" * 2000, "ghp_", "token=", ":"]
    words += [f"x ghp_a1B2c3D4{'z' * length} ghp_a1B2c3D4" for length in range(24)]
    for name, path in shown(program, words):
        assert len(name) < 16
        assert len(path) < 4096
        assert "a1B2c3D4" not in path
