"""One row of the quality checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfscope.schema.enums import Status


@dataclass(frozen=True)
class Check:
    """One row: what was checked, how it came out, and the numbers behind it."""

    id: str
    status: Status
    title: str
    detail: str

    def as_json(self) -> dict[str, Any]:
        """The object of analysis.json."""
        return {
            "id": self.id,
            "status": self.status.value,
            "title": self.title,
            "detail": self.detail,
        }
