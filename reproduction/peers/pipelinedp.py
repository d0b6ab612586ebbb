"""PipelineDP: it lives in an environment of its own, named by CRESTLINE_PIPELINEDP (the path of its Python)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from reproduction.bounded import Pairs
from reproduction.peers.setting import Setting

PYTHON = "CRESTLINE_PIPELINEDP"
_SCRIPT = Path(__file__).with_name("pipelinedp_run.py")


def available(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether there is an environment with PipelineDP."""
    return bool(environment.get(PYTHON))


def noisy_tops(
    samples: Sequence[Pairs], setting: Setting, environment: Mapping[str, str] = os.environ
) -> list[list[int]]:
    """For each sample of bounded contributions the items with the k largest counts that PipelineDP releases."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples.npz"
        np.savez(file, *samples)
        done = subprocess.run(  # noqa: S603 # the operator names this interpreter, as they name ours
            [environment[PYTHON], str(_SCRIPT)],
            input=json.dumps({"file": str(file), **asdict(setting)}),
            env={name: value for name, value in environment.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            check=True,
        )
    answer: list[list[int]] = json.loads(done.stdout.splitlines()[-1])
    return answer
