"""mpi4py: nothing to wrap, the recorder sees its calls; notes which MPI it works with."""

from __future__ import annotations

from .. import metadata
from ..kinds import ModuleType


def install(module: ModuleType) -> None:
    """Notes the MPI standard and library that mpi4py works with."""
    vendor = getattr(module, "get_vendor", None)
    standard = getattr(module, "Get_version", None)
    name, version = vendor() if vendor is not None else ("", ())
    metadata.framework(
        "mpi4py",
        vendor=name,
        vendor_version=".".join(str(part) for part in version),
        mpi_standard=".".join(str(part) for part in standard()) if standard is not None else "",
    )
    metadata.collect_versions()
    metadata.write()
