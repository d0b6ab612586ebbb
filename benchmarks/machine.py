"""The machine in one sentence, and how busy it was when the measurement began."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np


def described() -> str:
    cores = os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{_processor()}, {cores} cores, {_gigabytes():.0f} GB, {platform.system()}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}; load {load} at the start."
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _gigabytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
