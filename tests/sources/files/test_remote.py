"""Parquet from afar: a store that speaks S3 and a web server, both real and on this machine."""

from __future__ import annotations

import functools
import http.server
import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as cl
from crestline.errors import QuestionError, SourceError
from crestline.question import Question
from crestline.sources import open_source
from tests.servers import free_port

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("way"),
    pytest.mark.sample(of="way"),
]

QUESTION = Question(k=2, k_bar=3)
ROWS = {"user": [1, 2, 2, 3], "item": ["a", "a", "b", None]}
BROKEN = pa.array([b"\xff\xfe", b"a", b"b", b"b"]).view(pa.string())  # the first is no UTF-8


def parquet(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def counted(source: Any) -> dict[Any, int]:
    source.check(QUESTION)
    histogram = source.top_counts(QUESTION)
    return {item: count for item, count in zip(histogram.items, histogram.counts, strict=True) if count}


@pytest.fixture
def bucket(store: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty bucket `lake`, with the environment that finds it."""
    import boto3

    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret words")
    found = boto3.resource("s3").Bucket("lake")
    found.create()
    found.objects.all().delete()
    return found


def test_a_file_and_a_glob_of_a_store(bucket: Any, tmp_path: Path) -> None:
    for name, item in (("one", "a"), ("two [2]", "b")):
        bucket.upload_file(str(parquet(tmp_path / "t", pa.table({"user": [1], "item": [item]}))), f"x/{name}.parquet")
    assert counted(open_source("s3://lake/x/one.parquet")) == {"a": 1}
    assert counted(open_source("s3://lake/x/*.parquet")) == {"a": 1, "b": 1}
    assert counted(open_source(["s3://lake/x/one.parquet", "s3://lake/x/two [2].parquet"])) == {"a": 1, "b": 1}
    answer = cl.top_k("s3://lake/x/*.parquet", user="user", item="item", k=1, epsilon=1, delta="1e-8")
    assert answer.source == "s3://lake/x/*.parquet"


def test_a_file_that_is_replaced_is_seen_and_has_no_version_of_its_own(bucket: Any, tmp_path: Path) -> None:
    bucket.upload_file(str(parquet(tmp_path / "t", pa.table(ROWS))), "t.parquet")
    source = open_source("s3://lake/t.parquet")
    assert counted(source) == {"a": 2, "b": 1}
    assert source.version() is None
    bucket.upload_file(str(parquet(tmp_path / "t", pa.table({"user": [7], "item": ["z"]}))), "t.parquet")
    assert counted(source) == {"z": 1}


def test_a_row_that_cannot_be_read_changes_nothing_for_other_users(bucket: Any, tmp_path: Path) -> None:
    bucket.upload_file(str(parquet(tmp_path / "t", pa.table({"user": [1, 2, 3, 4], "item": BROKEN}))), "t.parquet")
    local = counted(open_source((tmp_path / "t").rename(tmp_path / "t.parquet")))
    assert counted(open_source("s3://lake/t.parquet")) == local == {"b": 2, "a": 1, "\N{REPLACEMENT CHARACTER}" * 2: 1}


def test_without_credentials_it_says_what_to_set(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(SourceError, match=r"no credentials were found: set AWS_ACCESS_KEY_ID .* --s3-anonymous"):
        open_source("s3://lake/t.parquet")


def test_a_profile_that_is_not_there_is_named_as_the_cause(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(SourceError, match="AWS_PROFILE names a profile that is in none of your files"):
        open_source("s3://lake/t.parquet")


def test_a_public_list_may_be_in_the_store_too(bucket: Any, tmp_path: Path) -> None:
    rows = parquet(tmp_path / "t.parquet", pa.table({"user": range(300), "item": ["tea"] * 300}))
    bucket.upload_file(str(rows), "t.parquet")
    bucket.upload_file(str(parquet(tmp_path / "list.parquet", pa.table({"item": ["tea", "rum"]}))), "list.parquet")
    for source in ("s3://lake/t.parquet", rows):  # beside the data, and for data of this machine
        answer = cl.top_k(
            source, user="user", item="item", k=1, epsilon=1, delta="1e-8", domain="s3://lake/list.parquet"
        )
        assert answer.items == ("tea",)


def test_what_else_can_be_wrong(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QuestionError, match=r"there is no file s3://lake/t\.parquet, or no such bucket"):
        open_source("s3://lake/t.parquet")
    with pytest.raises(QuestionError, match="no file matches"):
        open_source("s3://lake/none/*.parquet")
    with pytest.raises(QuestionError, match=r"for a folder write s3://lake/x/\*\.parquet"):
        open_source("s3://lake/x/")
    bucket.put_object(Key="t.parquet", Body=b"PAR1 but not really")
    with pytest.raises(QuestionError, match="damaged"):
        open_source("s3://lake/t.parquet")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(SourceError, match="the store did not answer") as failure:
        open_source("s3://lake/t.parquet")
    assert "secret" not in str(failure.value)


class _Files(http.server.SimpleHTTPRequestHandler):
    """A web server that knows parts of files, as those of stores do."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        whole = path.read_bytes()
        wanted = self.headers.get("Range")
        first, last = (wanted or f"bytes=0-{len(whole) - 1}").removeprefix("bytes=").split("-")
        part = whole[int(first) : int(last) + 1]
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(whole)}")
        self.end_headers()
        self.wfile.write(part)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    handler = functools.partial(_Files, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_of_a_web_server(site: str, tmp_path: Path) -> None:
    parquet(tmp_path / "t.parquet", pa.table(ROWS))
    assert counted(open_source(f"{site}/t.parquet")) == {"a": 2, "b": 1}
    with pytest.raises(QuestionError, match="there is no file"):
        open_source(f"{site}/other.parquet")
    with pytest.raises(QuestionError, match="only Parquet is read from afar"):
        open_source(f"{site}/t.csv")


def test_a_signature_in_an_address_is_never_shown(site: str, tmp_path: Path) -> None:
    parquet(tmp_path / "t.parquet", pa.table(ROWS))
    source = open_source(f"{site}/t.parquet?signature=abc")
    assert counted(source) == {"a": 2, "b": 1}
    assert source.name == f"{site}/t.parquet"
    with pytest.raises(QuestionError) as refusal:
        open_source(f"{site}/none.parquet?signature=abc")
    assert "abc" not in str(refusal.value)


def test_a_signature_in_the_address_of_a_public_list_is_never_shown(site: str, tmp_path: Path) -> None:
    rows = parquet(tmp_path / "t.parquet", pa.table({"user": range(300), "item": ["tea"] * 300}))
    parquet(tmp_path / "list.parquet", pa.table({"item": ["tea", "rum"]}))
    (tmp_path / "broken.parquet").write_text("no Parquet")
    ledger = tmp_path / "ledger.db"
    cl.Ledger.create(ledger, cl.Budget(epsilon=9, delta="1e-4")).close()
    asked: dict[str, Any] = {"user": "user", "item": "item", "k": 1, "epsilon": 1, "delta": "1e-6", "ledger": ledger}
    for name in ("list.parquet?signature=abc", "list.parquet?list=other"):  # which may be another list
        answer = cl.top_k(rows, **asked, domain=f"{site}/{name}", version="1")
        assert (answer.items, answer.stored) == (("tea",), False)
    assert b"=abc" not in ledger.read_bytes()
    with pytest.raises(QuestionError, match=r"broken\.parquet cannot be read") as refusal:
        cl.top_k(rows, **asked, domain=f"{site}/broken.parquet?signature=abc")
    assert "abc" not in str(refusal.value)


def test_a_missing_driver_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = importlib.import_module("fsspec.registry")
    monkeypatch.delitem(registry._registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(SourceError, match=r"pip install 'crestline\[s3\]'"):
        open_source("s3://lake/t.parquet")
    with pytest.raises(SourceError, match="pip install 'gcsfs'"):
        open_source("gs://lake/t.parquet")
