"""Loads the agent's modules from the code that Python keeps of them."""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

_LARGEST = 1 << 16
"""Bytes of the code of one module that are read at once."""


class Kept:
    """Finds the agent's modules by the code that Python keeps of them, and loads it.

    Python's own way asks each finder and each place of the path for each module, which was half of
    what starting the agent takes. It stays the way of all that is not kept as is usual.
    """

    def __init__(self, directory: str) -> None:
        """What is imported lies below a directory."""
        self._directory = directory
        self._codes: dict[str, CodeType] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """How a module of the agent is loaded; None where Python has to see to that."""
        if name.partition(".")[0] != "perfscope_agent":
            return None
        base = f"{self._directory}/{name.replace('.', '/')}"
        code, place = _kept_code(base), None
        if code is None:
            code, place = _kept_code(base + "/__init__"), base
        if code is None:
            return None
        self._codes[name] = code
        spec = sys.modules["_frozen_importlib"].ModuleSpec(name, self, origin=code.co_filename)
        spec.submodule_search_locations = [place] if place else None
        return spec

    def create_module(self, spec: object) -> None:
        """Has Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs a module that was found."""
        code = self._codes.pop(module.__name__)
        module.__file__ = code.co_filename
        sys.modules["_frozen_importlib"]._call_with_frames_removed(exec, code, module.__dict__)


def _kept_code(base: str) -> CodeType | None:
    """What Python keeps of a source, if that is as it was."""
    source, (directory, _, name) = base + ".py", base.rpartition("/")
    tag = sys.implementation.cache_tag
    try:
        status = os.stat(source)
        kept = os.open(f"{directory}/__pycache__/{name}.{tag}.pyc", os.O_RDONLY)
        try:
            data = os.read(kept, _LARGEST)
        finally:
            os.close(kept)
        numbers = (0, int(status.st_mtime), status.st_size)
        begin = b"".join([(n & 0xFFFFFFFF).to_bytes(4, "little") for n in numbers])
        if data[:16] != sys.modules["_frozen_importlib_external"].MAGIC_NUMBER + begin:
            return None
        code: CodeType = marshal.loads(data[16:])
        sys.modules["_imp"]._fix_co_filename(code, source)
        return code
    except (OSError, ValueError, EOFError, TypeError):
        return None
