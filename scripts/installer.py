"""Installs packages into virtual environments with uv, which takes a third of pip's CPU time.

uv reads no configuration of pip's, which says on many machines where packages come from: what
pip is told, uv is told as well. Where pip is told what uv cannot be, pip installs.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

Run = Callable[..., None]


class NotForUvError(Exception):
    """pip is told what uv cannot be."""


OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "constraint": "--constraints",
    "trusted-host": "--allow-insecure-host",
}
"""What pip may be told, and how uv is told it."""
SWITCHES = {"no-index": "--no-index"}
"""What pip may be told to do or not."""
IN_VARIABLES = {"cert": ("SSL_CERT_FILE",), "proxy": ("HTTP_PROXY", "HTTPS_PROXY")}
"""What uv is told by variables alone."""
HOW = frozenset(
    "cache-dir config-file default-timeout disable-pip-version-check log no-cache-dir no-color "
    "no-compile no-input no-python-version-warning progress-bar quiet require-virtualenv retries "
    "root-user-action timeout verbose".split()
)
"""What pip may be told that has no part in which packages it takes, and where from."""
SEVERAL = ("extra-index-url", "find-links", "constraint", "trusted-host")
"""Of these pip takes a list, separated by spaces."""


def configured(python: Path) -> dict[str, str]:
    """What files and variables tell pip: the narrower section counts."""
    command: list[str | Path] = [python, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[tuple[int, str], str] = {}
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in ("global", "install", ":env:"):
            rank = ("global", "install", ":env:").index(section)
            found[rank, name] = str(ast.literal_eval(value))
    return {name: value for (_, name), value in sorted(found.items())}


def options(pip: dict[str, str]) -> list[str]:
    """The same for uv, which is to choose among all indexes as pip does."""
    words = ["--index-strategy", "unsafe-best-match"]
    for name, option in OPTIONS.items():
        values = pip.get(name, "").split()
        for value in values if name in SEVERAL else values[-1:]:
            words += [option, value]
    return [*words, *(option for name, option in SWITCHES.items() if is_on(pip.get(name, "")))]


def is_on(value: str) -> bool:
    """Whether pip takes it for a yes."""
    return value.lower() in ("y", "yes", "t", "true", "on", "1")


def for_pip_alone(pip: dict[str, str]) -> list[str]:
    """What pip is told and uv is not."""
    known = {*OPTIONS, *SWITCHES, *IN_VARIABLES, *HOW}
    return sorted(name for name, value in pip.items() if value and name not in known)


def variables(pip: dict[str, str]) -> dict[str, str]:
    """The certificates and the proxy that pip is told of, as uv looks for them."""
    return {
        variable: pip[name]
        for name, variables in IN_VARIABLES.items()
        for variable in variables
        if pip.get(name) and (name == "proxy" or variable not in os.environ)
    }


def install(tools: Path, place: Path, arguments: Sequence[str | Path], *, run: Run) -> None:
    """Installs packages into an environment.

    Args:
        tools: an environment with uv and pip.
        place: the environment that gets them.
        arguments: what to install, in words that both understand.
        run: starts a command and raises when it fails.
    """
    told, python = configured(tools / "bin" / "python"), place / "bin" / "python"
    command = (tools / "bin" / "uv", "pip", "install", "--quiet", "--python", python)
    try:
        if unknown := for_pip_alone(told):
            raise NotForUvError(f"pip is told of {', '.join(unknown)}")
        run(*command, *options(told), *arguments, variables=variables(told))
    except Exception as error:  # noqa: BLE001, pip may find what uv does not, and else says why
        sys.stderr.write(f"{place.name}: pip installs what uv could not.\n{error}\n")
        # a test imports few of the 40,000 modules: each is compiled when it is first asked for
        pip = (tools / "bin" / "python", "-m", "pip", "--python", python, "install", "--quiet")
        run(*pip, "--no-compile", *arguments)
