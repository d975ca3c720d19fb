# Tried: syntax by a test; that Spack 1's own recipes have every package in these versions, by hand. Not run in Spack.
# In a repository of Spack: packages/py_perfscope_hpc/package.py
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyPerfscopeHpc(PythonPackage):
    """Where the time, memory and threads of a multi-rank training job went, and why."""

    pypi = "perfscope-hpc/perfscope_hpc-0.1.0.tar.gz"

    license("Apache-2.0")

    # the checksum of a release: spack checksum py-perfscope-hpc
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@2.4:", type="build")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-pandas@2.1:", type=("build", "run"))
    depends_on("py-rich@13.0:", type=("build", "run"))
