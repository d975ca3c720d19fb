"""Which environment variables are written: settings of libraries, and nobody's secrets."""

from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent.environment import performance_environment

AGENT = Path(__file__).parents[2] / "perfscope" / "agent"
SETTINGS = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_XLA_FLAGS",
    "ONEDNN_MAX_CPU_ISA",
    "NPY_DISABLE_CPU_FEATURES",
    "SLURM_CPUS_PER_TASK",
    "SLURM_NTASKS_PER_NODE",
    "NCCL_ALGO",
    "OMPI_MCA_btl_tcp_if_include",
    "I_MPI_PIN_DOMAIN",
    "PMI_RANK",
    "MASTER_ADDR",
    "CUDA_VISIBLE_DEVICES",
]
NOT_OURS = [
    # Terraform
    "TF_CLI_CONFIG_FILE",
    "TF_VAR_database",
    "TF_DATA_DIR",
    "TF_WORKSPACE",
    "TF_LOG_PATH",
    # credentials, cookies and addresses of launchers and schedulers
    "SLURM_JWT",
    "SLURM_JOB_COMMENT",
    "SLURM_JOB_ACCOUNT",
    "SLURM_SPANK_SECRET",
    "PMI_FD",
    "PMI_PORT",
    "PMI_PASSWORD",
    "PMIX_SECURITY_MODE",
    "PMIX_SERVER_URI41",
    "PMIX_MCA_psec",
    "HYDRA_PROXY_PORT",
    "HYDRA_LAUNCHER_EXTRA_ARGS",
    "HOROVOD_SECRET_KEY",
    "HOROVOD_GLOO_RENDEZVOUS_ADDR",
    "OMPI_MCA_orte_precondition_transports",
    "OMPI_MCA_mca_base_env_list",
    "OMPI_MCA_plm_rsh_args",
    # beginnings that other programs use
    "MASTER_PASSWORD",
    "MASTER_KEY",
    "PYTHON_KEYRING_BACKEND",
    "PYTHONSTARTUP",
    "NVIDIA_API_KEY",
    "CUDA_LICENSE",
    "KERAS_HOME",
    "TORCH_HOME",
    "FI_TOKEN",
    "http_proxy",
    "HTTPS_PROXY",
]


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LD_PRELOAD", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_libraries_are_kept(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    assert performance_environment()[name] == "1"


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_may_hold_a_secret_is_not(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "hunter2")
    assert name not in performance_environment()


def test_a_kept_value_loses_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_TOPO_FILE", "http://me:hunter2@proxy.example.org/topology.xml")
    assert "hunter2" not in performance_environment()["NCCL_TOPO_FILE"]


def test_what_recording_added_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    link = tmp_path / "agent"
    link.symlink_to(AGENT)
    monkeypatch.setenv("PYTHONPATH", f"{AGENT}:mine:{link}")
    monkeypatch.setenv("LD_PRELOAD", "/opt/x/libperfscope_recorder.so:libjemalloc.so libx.so")
    found = performance_environment()
    assert found["PYTHONPATH"] == "mine"
    assert found["LD_PRELOAD"] == "libjemalloc.so:libx.so"


def test_search_paths_of_recording_alone_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(AGENT))
    monkeypatch.setenv("LD_PRELOAD", "/opt/x/libperfscope_recorder.so")
    assert not {"PYTHONPATH", "LD_PRELOAD"} & performance_environment().keys()


def test_untouched_search_paths_stay_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "a::b")
    assert performance_environment()["PYTHONPATH"] == "a::b"
