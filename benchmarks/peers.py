"""Other people's top-k, each in a virtual environment of its own, driven as a separate process.

Environments are made once and kept in `$CRESTLINE_PEERS`, or `~/.cache/crestline/peers`. The clock runs inside the
process of the peer, around the release alone: no import, no construction, no transfer of data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

# scikit-learn is held back: diffprivlib imports names that later versions no longer have.
REQUIREMENTS = {"opendp": ["opendp==0.16.0"], "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn==1.4.2"]}

_SHARED = """
import json, sys, time
items, k, runs, seconds = json.loads(sys.argv[1])
counts = [10**6 // rank for rank in range(1, items + 1)]
def measure(release):
    start, times = time.perf_counter(), []
    while len(times) < runs and (not times or time.perf_counter() - start < seconds):
        begun = time.perf_counter()
        release()
        times.append(time.perf_counter() - begun)
    print(json.dumps(times))
"""

# One-shot exponential noise (permute-and-flip when k = 1) for pure differential privacy.
_OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")
space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)
mechanism = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=float(k))
measure(lambda: mechanism(counts))
"""

# The library selects one item; k of them are peeled, each winner being left out of the next draw.
_DIFFPRIVLIB = """
from diffprivlib.mechanisms import Exponential
def peel():
    left, names, chosen = list(counts), list(range(items)), []
    for _ in range(k):
        place = Exponential(epsilon=1 / k, sensitivity=1, utility=left, monotonic=True).randomise()
        chosen.append(names.pop(place))
        left.pop(place)
    return chosen
measure(peel)
"""

SCRIPTS = {"opendp": _OPENDP, "diffprivlib": _DIFFPRIVLIB}
NAMES = {"opendp": "OpenDP `make_noisy_top_k`", "diffprivlib": "diffprivlib `Exponential`, peeled"}
EXACT = {"opendp": True, "diffprivlib": False}


@dataclass(frozen=True)
class Timings:
    """Seconds of every run, or why there are none."""

    times: list[float]
    note: str = ""


def run(peer: str, items: int, k: int, *, runs: int, seconds: float, limit: float) -> Timings:
    """A peer's top `k` of `items`: at most `runs` times within `seconds`, given up after `limit` seconds in all."""
    try:
        python = environment(peer)
    except (OSError, subprocess.CalledProcessError):
        return Timings([], "not installed")
    command = [str(python), "-c", _SHARED + SCRIPTS[peer], json.dumps([items, k, runs, seconds])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return Timings([], f"> {limit:g} s")
    except subprocess.CalledProcessError:
        return Timings([], "failed")
    return Timings([float(value) for value in json.loads(done.stdout.splitlines()[-1])])


def environment(peer: str) -> Path:
    """The interpreter of a peer's environment, made where it is missing."""
    folder = _home() / peer
    python = folder / "bin" / "python"
    mark = folder / "ready"
    if not mark.exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[peer]]
        subprocess.run(command, check=True, capture_output=True)
        mark.write_text("\n".join(REQUIREMENTS[peer]) + "\n")
    return python


def _home() -> Path:
    given = os.environ.get("CRESTLINE_PEERS")
    return Path(given) if given else Path.home() / ".cache" / "crestline" / "peers"


if __name__ == "__main__":
    for one in REQUIREMENTS:
        print(environment(one), file=sys.stderr)
