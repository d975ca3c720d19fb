"""What the agent and `perfscope run` wrote as JSON: every field is checked, none trusted."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfscope import files

MAX_JSON_BYTES = 16 << 20
"""A larger file is not one that perfscope wrote."""
SHOWN_NAMES = 8
LONGEST_SHOWN = 200

RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK")
SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE")


def read_json(path: Path) -> tuple[dict[str, Any], str | None]:
    """The object in a JSON file and a note on what is missing of it: all or some numbers."""
    odd: list[str] = []
    try:
        value = files.parse_json(files.read_bytes(path, MAX_JSON_BYTES), odd)
    except FileNotFoundError:
        return {}, f"{path.name} is missing."
    except OSError as error:
        return {}, f"{path.name} cannot be read ({error.strerror or type(error).__name__})."
    except UnicodeDecodeError:
        return {}, f"{path.name} is damaged: it is not valid JSON in UTF-8."
    except json.JSONDecodeError:
        return {}, f"{path.name} is damaged: it is not valid JSON."
    except ValueError as error:
        return {}, f"{path.name} is damaged: {error}."
    if not isinstance(value, dict):
        return {}, f"{path.name} is damaged: it does not hold an object."
    return value, _not_finite(path, odd)


def _not_finite(path: Path, names: list[str]) -> str | None:
    if not names:
        return None
    shown = ", ".join(dict.fromkeys(names[:SHOWN_NAMES])) or "its numbers"
    return f"{path.name}: what is no finite number is taken as not known ({shown[:LONGEST_SHOWN]})."


def text(values: Mapping[str, Any], key: str) -> str:
    """The text under a key, "" when there is none."""
    value = values.get(key)
    return value if isinstance(value, str) else ""


def integer(values: Mapping[str, Any], key: str) -> int | None:
    """The integer under a key that fits 63 bits, None when there is none."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
        return None
    return int(value) if abs(int(value)) < 1 << 62 else None


def mapping(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key, empty when there is none."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def texts(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The list of texts under a key, empty when there is none."""
    value = values.get(key)
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value if isinstance(item, str))


def rank_and_size(metadata: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Rank number and world size that a launcher told a process through the environment."""
    told = mapping(metadata, "rank_environment")
    return _first(told, RANK_VARIABLES), _first(told, SIZE_VARIABLES)


def _first(environment: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = environment.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value if 0 <= value < 1 << 31 else None
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
    return None


def framework_rank(metadata: Mapping[str, Any]) -> tuple[int, int] | None:
    """Number and size that a framework gave one of several processes; None where none did."""
    for told in mapping(metadata, "frameworks").values():
        if isinstance(told, Mapping):
            number, size = integer(told, "rank"), integer(told, "size")
            if number is not None and size is not None and 0 <= number < size > 1:
                return number, size
    return None


def job_of(metadata: Mapping[str, Any]) -> str:
    """Which job a process says it belongs to, "" when its launcher does not tell."""
    rank_environment = mapping(metadata, "rank_environment")
    for name in ("PMIX_NAMESPACE", "PMI_JOBID"):
        if value := text(rank_environment, name):
            return f"{name}={value}"
    if job := text(rank_environment, "SLURM_JOB_ID"):
        return f"SLURM_JOB_ID={job}.{text(rank_environment, 'SLURM_STEP_ID')}"
    return ""
