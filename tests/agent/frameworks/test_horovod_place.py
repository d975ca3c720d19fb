"""What a process notes of its place in a job of Horovod, over MPI and over gloo."""

from types import ModuleType

import pytest

from perfscope.agent.perfscope_agent import metadata
from perfscope.agent.perfscope_agent.frameworks import horovod


class Basics:
    """Horovod's answers; without MPI it raises where it is asked about it."""

    def __init__(self, *, over_mpi: bool) -> None:
        self._over_mpi = over_mpi

    def init(self) -> None:
        """As a program calls it."""

    def rank(self) -> int:
        return 1

    def size(self) -> int:
        return 2

    def local_rank(self) -> int:
        return 1

    def mpi_enabled(self) -> bool:
        return self._over_mpi

    def gloo_enabled(self) -> bool:
        return not self._over_mpi

    def mpi_threads_supported(self) -> bool:
        if not self._over_mpi:
            raise ValueError("Horovod MPI is not enabled")
        return True


@pytest.mark.parametrize("over_mpi", [True, False])
def test_ranks_over_gloo_say_that_what_they_exchange_is_not_measured(
    over_mpi: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "facts", {"frameworks": {}})
    monkeypatch.setattr(metadata, "collect_versions", lambda: None)
    monkeypatch.setattr(metadata, "write", lambda: None)
    monkeypatch.setattr(Basics, "init", Basics.init)  # what is put around it goes with the test
    module = ModuleType("horovod.common.basics")
    vars(module)["HorovodBasics"] = Basics
    horovod.install_basics(module)
    Basics(over_mpi=over_mpi).init()
    told = metadata.facts["frameworks"]["horovod"]
    assert (told["rank"], told["size"], told.get("mpi_threads_supported")) == (
        *(1, 2),
        over_mpi or None,
    )
    assert ("gloo" in told.get("exposed_reason", "")) is not over_mpi
