"""A Spark cluster of our own for the tests and the benchmarks: a master and workers on this machine, as separate
processes from the distribution that PySpark brings along. It listens on this machine only."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.patience import PATIENCE

# A Java that lives for minutes spends half of its time on compiling well what hardly runs again.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
Found = TypeVar("Found")

_HERE = "127.0.0.1"
_LISTENS = re.compile(r"Starting Spark master at (spark://\S+)")


@contextmanager
def running_cluster(workers: int = 2, *, memory: str = "1g") -> Iterator[str]:
    """The URL of a cluster's master with so many workers of one core each; what they wrote goes with them."""
    with (
        tempfile.TemporaryDirectory(prefix="crestline-spark-", ignore_cleanup_errors=True) as name,
        ExitStack() as held,
    ):
        folder = Path(name)
        held.enter_context(_started(folder, "master", "--port", "0", "--webui-port", "0"))
        url = _address(folder / "master.log")
        for number in range(workers):
            arguments = ("--webui-port", "0", "--cores", "1", "--memory", memory, url)
            held.enter_context(_started(folder, f"worker{number}", *arguments))
        yield url


def cluster_settings(java: str = SHORT_LIVED, *, memory: str = "640m") -> dict[str, str]:
    """What a session on such a cluster needs: it talks on this machine only."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": _HERE,
        "spark.driver.bindAddress": _HERE,
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
        "spark.executor.memory": memory,
        "spark.locality.wait": "0",
    }


def session_on(url: str, settings: dict[str, str], *, workers: int = 2) -> Any:
    """A session of PySpark on a cluster, once all workers have joined it."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(url).appName("crestline tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    status = session.sparkContext._jsc.sc().getExecutorMemoryStatus
    _waited(lambda: status().size() == workers + 1 or None, "the workers do not join the session")  # and the driver
    return session


CONNECT = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": _HERE,
    "spark.connect.grpc.binding.port": "0",
}
"""Settings with which a session also serves Spark Connect, at a port that nobody has (`connect_url`)."""


def connect_url(session: Any) -> str:
    """Where a session with the settings of `CONNECT` serves Spark Connect."""
    package = session.sparkContext._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(package, "SparkConnectService$"), "MODULE$")  # an object of Scala, as Java sees it
    return f"sc://{_HERE}:{service.localPort()}"


def _home() -> Path:
    """Where PySpark keeps its programs and jars."""
    import pyspark

    return Path(pyspark.__file__).parent


def _environment(folder: Path) -> dict[str, str]:
    """The environment of a process of Spark that keeps everything it writes in a folder."""
    return {
        **os.environ,
        "SPARK_HOME": str(_home()),
        "SPARK_LOCAL_IP": _HERE,
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def _started(folder: Path, name: str, *arguments: str) -> Iterator[None]:
    """A master or a worker, for as long as the context lasts."""
    kind = name.rstrip("0123456789")
    command = [str(_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}.{kind.title()}"]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", _HERE, *arguments],
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _address(log: Path) -> str:
    """Where a master listens: it takes a port that nobody has, and says which."""
    found = _waited(lambda: _LISTENS.search(log.read_text(errors="replace")), "the master does not say where it is")
    return found[1]


def _waited(look: Callable[[], Found | None], complaint: str) -> Found:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise TimeoutError(complaint)
