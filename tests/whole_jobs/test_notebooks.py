"""Notebooks that are executed: output and recording."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.readers import open_recording
from tests.support.environments import Environment

CELL = """
import torch
model = torch.nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(50):
    optimizer.zero_grad()
    model(torch.randn(32, 64)).square().mean().backward()
    optimizer.step()
print("batches", i + 1)
"""


@pytest.mark.long
def test_the_kernel_of_a_notebook_is_what_trains(
    environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    cell = {"cell_type": "code", "source": CELL, "outputs": [], "metadata": {}}
    notebook = {
        "cells": [cell | {"execution_count": None, "id": "train"}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    jupyter = environment("ecosystem").prefix / "bin" / "jupyter"
    perfscope = Path(sys.executable).with_name("perfscope")
    words = "nbconvert --to notebook --execute --output done.ipynb train.ipynb".split()
    path = f"{jupyter.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    subprocess.run(
        [perfscope, "run", "-o", "run", "--", jupyter, *words],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        check=True,
    )
    assert "batches 50" in (tmp_path / "done.ipynb").read_text(encoding="utf-8")
    (rank,) = open_recording(tmp_path / "run").ranks
    assert rank.steps["samples"].tolist() == [0] + [32] * 49
