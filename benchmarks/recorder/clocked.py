"""Runs an example and notes what its training took: `clocked.py DIRECTORY FUNCTION SCRIPT ...`.

The training lasts from the first call of that function of the script to the end of its main().
Each process writes `<pid>.json`: seconds of wall and of CPU time.
"""

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def now() -> tuple[float, float]:
    """Wall and CPU seconds of this process."""
    return time.monotonic(), time.process_time()


def main() -> None:
    """Imports the script under another name and calls its main()."""
    place, function, script = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    sys.argv = sys.argv[3:]
    sys.path[0] = str(script.parent)
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module
    spec.loader.exec_module(module)
    began: list[tuple[float, float]] = []
    inner: Callable[..., Any] = getattr(module, function)

    def first(*words: Any, **named: Any) -> Any:
        if not began:
            began.append(now())
        return inner(*words, **named)

    setattr(module, function, first)
    module.main()
    wall_s, cpu_s = (end - start for start, end in zip(began[0], now(), strict=True))
    text = json.dumps({"wall_s": wall_s, "cpu_s": cpu_s})
    (place / f"{os.getpid()}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
