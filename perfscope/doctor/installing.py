"""The command that brings a package to the job's Python, also where pip would be refused."""

from perfscope.doctor.check import Surroundings
from perfscope.doctor.running import finish

_TIMEOUT_S = 15.0
# A distribution's Python may say that only its own tools install into it (PEP 668).
_ASK = """
import os, sys, sysconfig
from importlib.util import find_spec
is_own = sys.prefix != sys.base_prefix
mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
print(*map(int, (is_own, os.path.exists(mark), *map(bool, map(find_spec, ("pip", "ensurepip"))))))
"""


def install_command(around: Surroundings, packages: str) -> str:
    """What to type to install packages beside what the job uses."""
    python = around.python
    if python is None:
        return "activate your job's environment"
    plain = f"{python} -m pip install {packages}"
    done = finish([python, "-c", _ASK], environment=around.environment, timeout_s=_TIMEOUT_S)
    told = done.stdout.split()
    if done.exit_code != 0 or len(told) != 4:
        return plain
    is_own, is_managed, has_pip, has_ensurepip = (word == "1" for word in told)
    if has_pip and (is_own or not is_managed):
        return plain
    if is_own and has_ensurepip:
        return f"{python} -m ensurepip && {plain}"
    place = "~/job-python"
    own = f"{python} -m venv {place} && {place}/bin/python -m pip install {packages}"
    first = "" if has_ensurepip else "with your distribution's package python3-venv: "
    return f"{first}{own} && export PATH={place}/bin:$PATH"
