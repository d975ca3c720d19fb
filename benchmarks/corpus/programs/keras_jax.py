"""The same program as keras_torch, on JAX."""

import os
import runpy
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
runpy.run_path(str(Path(__file__).with_name("keras_torch.py")), run_name="__main__")
