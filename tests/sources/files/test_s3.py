"""The way into S3 from every face: a store that checks who asks, and secrets that are seen nowhere."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as cl
from crestline.cli.main import run
from crestline.config import load_config
from crestline.errors import ParameterError, QuestionError, SourceError
from crestline.sources.files.s3 import as_s3_source, read_credentials
from crestline.sources.open import needs_table
from crestline.web.service_state import open_state
from tests.servers import free_port

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("way"),
    pytest.mark.sample(of="way"),
]

ADDRESS, SECRET = "s3://lake/t.parquet", "a secret % with = signs"
ASKED: dict[str, Any] = {"user": "user", "item": "item", "k": 1, "epsilon": 1, "delta": "1e-6"}
CALL = ["--user", "user", "--item", "item", "-k", "1", "--epsilon", "1", "--delta", "1e-6"]
SOLD = pa.table({"user": range(300), "item": ["tea"] * 300})


class TestTheValue:
    def test_what_is_secret_is_in_no_text(self) -> None:
        made = cl.S3(ADDRESS, endpoint="https://store.example", key="KEY", secret=SECRET, token="TOKEN")
        for text in (repr(made), str(made), repr([made])):
            assert "store.example" in text
        for text in (repr(made), str(made), repr([made]), repr(cl.connect(made))):
            assert not any(word in text for word in ("KEY", SECRET, "TOKEN"))

    @pytest.mark.parametrize(
        "endpoint",
        [
            "store.example:9000",
            "s3://lake",
            "https://",
            "https://me:word@store.example",
            "https://a?b=word",
            "http://[word",
        ],
    )
    def test_an_endpoint_is_an_address_without_secrets(self, endpoint: str) -> None:
        with pytest.raises(ParameterError, match=r"is written https://minio\.example:9000") as refusal:
            cl.S3(ADDRESS, endpoint=endpoint)
        assert "word" not in str(refusal.value)

    @pytest.mark.parametrize("given", [{"key": "a"}, {"secret": "a"}, {"token": "a"}, {"token": "a", "key": "b"}])
    def test_half_of_the_credentials_is_refused(self, given: dict[str, str]) -> None:
        with pytest.raises(ParameterError, match="a key and a secret"):
            cl.S3(ADDRESS, **given)  # type: ignore[arg-type] # mypy cannot tell which fields these are

    def test_credentials_and_none_at_once_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="not both"):
            cl.S3(ADDRESS, key="a", secret="b", anonymous=True)

    @pytest.mark.parametrize("address", ["t.parquet", "https://store.example/t.parquet", "postgresql://db/shop", 5])
    def test_it_goes_with_an_address_in_a_store(self, address: str) -> None:
        with pytest.raises(QuestionError, match="goes with an address in one"):
            cl.S3(address, region="x")
        with pytest.raises(QuestionError, match="goes with an address in one"):
            cl.S3([ADDRESS, address], region="x")

    def test_a_catalogue_still_needs_its_table(self) -> None:
        assert needs_table(cl.S3("iceberg://prod"))
        assert not needs_table(cl.S3(ADDRESS))
        assert not needs_table(cl.S3([ADDRESS]))


class TestTheFile:
    @pytest.mark.parametrize("section", ["default", "lake"])
    def test_the_default_section_or_the_only_one_is_taken(self, tmp_path: Path, section: str) -> None:
        other = "[other]\naws_access_key_id = X\n" if section == "default" else ""
        path = tmp_path / "keys"
        path.write_text(f"{other}[{section}]\naws_access_key_id = KEY\naws_secret_access_key = {SECRET}\nregion = x\n")
        assert read_credentials(path) == {"key": "KEY", "secret": SECRET}
        path.write_text(path.read_text() + "aws_session_token = TOKEN\n")
        assert as_s3_source(ADDRESS, credentials=path) == cl.S3(ADDRESS, key="KEY", secret=SECRET, token="TOKEN")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "hush",
            "[default]\nhush",
            "[default]\naws_access_key_id = hush",
            "[a]\naws_access_key_id = hush\naws_secret_access_key = hush\n[b]\n",
            "[a]\n[a]\nhush = 1",
            "\ud800",
        ],
    )
    def test_a_file_that_says_nothing_is_refused_and_never_quoted(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "keys"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(ParameterError, match=r"keys holds no credentials .* under \[default\]") as refusal:
            read_credentials(path)
        assert "hush" not in str(refusal.value)
        assert refusal.value.__cause__ is None
        assert refusal.value.__context__ is None  # a traceback would quote a line of it

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="FileNotFoundError"):
            as_s3_source(ADDRESS, credentials=tmp_path / "none")

    def test_nothing_said_is_the_address_itself(self) -> None:
        assert as_s3_source("t.parquet") == "t.parquet"


@dataclass(frozen=True)
class Guarded:
    """A store in which one user may read the bucket `lake`, and nobody else."""

    endpoint: str
    key: str
    secret: str

    def s3(self, address: str | list[str] = ADDRESS, **other: str) -> cl.S3:
        given = {"endpoint": self.endpoint, "region": "us-east-1", "key": self.key, "secret": self.secret} | other
        return cl.S3(address, **given)  # type: ignore[arg-type] # mypy cannot tell which fields these are

    def file(self, folder: Path, secret: str | None = None) -> Path:
        path = folder / "lake.credentials"
        path.write_text(f"[default]\naws_access_key_id = {self.key}\naws_secret_access_key = {secret or self.secret}\n")
        return path


def _check_who_asks(store: str, *, always: bool) -> None:
    """Switch the store's own checks on and off: `inf` requests pass unchecked, or none does."""
    body, kind = b"0" if always else b"inf", {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(f"{store}/moto-api/reset-auth", body, kind)).close()


def _make_public(store: str) -> None:
    """Let everybody read what is in the bucket."""
    import boto3

    _check_who_asks(store, always=False)
    owner = boto3.Session("owner", "owner", region_name="us-east-1").resource("s3", endpoint_url=store)
    for one in owner.Bucket("lake").objects.all():
        one.Acl().put(ACL="public-read")


@pytest.fixture
def guarded(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    import boto3

    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "SESSION_TOKEN", "ENDPOINT_URL", "DEFAULT_REGION"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("SHARED_CREDENTIALS_FILE", "CONFIG_FILE"):
        monkeypatch.setenv(f"AWS_{name}", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    session = boto3.Session("owner", "owner", region_name="us-east-1")
    iam = session.client("iam", endpoint_url=store)
    iam.create_user(UserName=tmp_path.name)
    made = iam.create_access_key(UserName=tmp_path.name)["AccessKey"]
    rights = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
    policy = json.dumps({"Version": "2012-10-17", "Statement": rights})
    iam.put_user_policy(UserName=tmp_path.name, PolicyName="reads", PolicyDocument=policy)
    bucket = session.resource("s3", endpoint_url=store).Bucket("lake")
    bucket.create()
    pq.write_table(SOLD, tmp_path / "t.parquet")
    bucket.upload_file(str(tmp_path / "t.parquet"), "t.parquet")
    pq.write_table(pa.table({"item": ["tea", "rum"]}), tmp_path / "list.parquet")
    bucket.upload_file(str(tmp_path / "list.parquet"), "list.parquet")
    _check_who_asks(store, always=True)
    yield Guarded(store, made["AccessKeyId"], made["SecretAccessKey"])
    _check_who_asks(store, always=False)
    bucket.objects.all().delete()


def test_in_python(guarded: Guarded) -> None:
    assert cl.top_k(guarded.s3(), **ASKED).items == ("tea",)
    assert cl.top_k(guarded.s3(["s3a://lake/t.parquet", ADDRESS]), **ASKED).items == ("tea",)
    assert cl.top_k(guarded.s3(), **ASKED, domain="s3://lake/list.parquet").items == ("tea",)
    sold = cl.connect(guarded.s3()).dataset("sold", user="user", budget=cl.Budget(epsilon=9, delta="1e-4"))
    assert sold.top(item="item", k=1, epsilon=1, delta="1e-6").items == ("tea",)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"secret": "hush"}, "does not let you read it with these credentials"),
        ({"key": "hush"}, "does not let you read it with these credentials"),
        ({"endpoint": f"http://127.0.0.1:{free_port()}"}, "the store did not answer"),
    ],
)
@pytest.mark.parametrize("address", [ADDRESS, "s3://lake/*.parquet"])
def test_what_is_wrong_is_said_in_one_line_without_secrets(
    guarded: Guarded, other: dict[str, str], says: str, address: str
) -> None:
    with pytest.raises(SourceError, match=says) as failure:
        cl.top_k(guarded.s3(address, **other), **ASKED)
    assert "\n" not in str(failure.value)
    assert not any(word in str(failure.value) for word in ("hush", guarded.key, guarded.secret))
    assert failure.value.__context__ is None  # a traceback would show the words of a library


def test_a_store_that_takes_calls_and_says_nothing_is_given_up(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_MAX_ATTEMPTS")
    monkeypatch.setattr("s3fs.S3FileSystem.read_timeout", 0.05)
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SourceError, match=r"the store did not answer \(ReadTimeoutError\)"):
            cl.top_k(guarded.s3(endpoint=endpoint), **ASKED)
        silent.settimeout(0)
        calls = 0
        with suppress(BlockingIOError):
            while True:
                silent.accept()[0].close()
                calls += 1
    assert calls <= 10  # of 15 seconds each in earnest; 25 or more unless told


def test_anonymously_only_what_is_public_is_read(guarded: Guarded, store: str) -> None:
    public = cl.S3(ADDRESS, endpoint=store, anonymous=True)
    with pytest.raises(SourceError, match="or with none"):
        cl.top_k(public, **ASKED)
    _make_public(store)
    assert cl.top_k(public, **ASKED).items == ("tea",)


def test_credentials_that_are_given_are_meant(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSSPEC_S3_ANON", "true")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of somebody else")
    assert cl.top_k(guarded.s3(), **ASKED).items == ("tea",)


def test_on_the_command_line(guarded: Guarded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    way = ["--s3-endpoint", guarded.endpoint, "--s3-region", "us-east-1"]
    file = ["--s3-credentials", str(guarded.file(tmp_path))]
    ledger = str(tmp_path / "ledger.db")
    assert run(["ledger", "create", ledger, "--epsilon", "9", "--delta", "1e-4"]) == 0
    capsys.readouterr()
    assert run(["top", ADDRESS, *CALL, *way, *file, "--ledger", ledger, "--data-version", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == ["tea"]
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"k": 1, "item": "item", "epsilon": 1, "delta": 1e-6, "version": "1"}))
    assert run(["ask", str(questions), "--source", ADDRESS, "--user", "user", *way, *file, "--ledger", ledger]) == 0
    said = capsys.readouterr().out
    assert json.loads(said)["stored"] is True  # the same question, whoever opened the door
    assert not any(word in said for word in (guarded.key, guarded.secret))
    for kept in tmp_path.glob("ledger.db*"):
        assert guarded.secret.encode() not in kept.read_bytes()
        assert guarded.key.encode() not in kept.read_bytes()
    assert run(["top", ADDRESS, *CALL, *way]) != 0
    assert "no credentials were found" in capsys.readouterr().err
    guarded.file(tmp_path, "hush")
    assert run(["top", ADDRESS, *CALL, *way, *file]) != 0
    wrong = capsys.readouterr().err
    assert "check key, secret and your rights" in wrong
    assert "hush" not in wrong
    assert run(["top", "t.parquet", *CALL, *way]) == 2
    assert "goes with an address in one" in capsys.readouterr().err


CONFIG = """
ledger = "ledger.db"

[datasets.sold]
source = "s3://lake/t.parquet"
s3 = { endpoint = "ENDPOINT", region = "us-east-1", credentials = "lake.credentials" }
user = "user"
items = ["item"]
domains = { all = "s3://lake/list.parquet" }
budget = { epsilon = 8, delta = 1e-4 }

[analysts.olga]
role = "owner"
"""


def test_in_the_configuration_of_the_service(guarded: Guarded, tmp_path: Path) -> None:
    guarded.file(tmp_path)
    path = tmp_path / "crestline.toml"
    path.write_text(CONFIG.replace("ENDPOINT", guarded.endpoint))
    config = load_config(path)
    assert config.datasets["sold"].address == guarded.s3()
    assert not any(word in repr(config) for word in (guarded.key, guarded.secret))
    open_state(config).close()
    guarded.file(tmp_path, "hush")
    with pytest.raises(SourceError, match="does not let you read it") as refusal:
        open_state(load_config(path))
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('{ endpoint = "store.example" }', "datasets.sold.s3: an endpoint of S3 is written"),
        ('{ credentials = "none" }', "datasets.sold.s3: .*none holds no credentials"),
        ('{ secret = "hush" }', "datasets.sold.s3.secret is not a setting; it may hold: endpoint, region, credentials"),
        ("{ anonymous = 1 }", "datasets.sold.s3.anonymous must be true or false"),
        ('"hush"', "datasets.sold.s3 must be a table"),
    ],
)
def test_a_mistake_in_it_is_named_with_its_line(tmp_path: Path, setting: str, says: str) -> None:
    path = tmp_path / "crestline.toml"
    lines = [f"s3 = {setting}" if line.startswith("s3 =") else line for line in CONFIG.splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(ParameterError, match=rf"crestline\.toml:6: {says}") as refusal:
        load_config(path)
    assert "hush" not in str(refusal.value)


def test_a_delta_table(guarded: Guarded, store: str) -> None:
    from deltalake import write_deltalake

    _check_who_asks(store, always=False)
    options = {"AWS_ENDPOINT_URL": store, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    options |= {"AWS_ACCESS_KEY_ID": "owner", "AWS_SECRET_ACCESS_KEY": "owner"}
    write_deltalake("s3://lake/sold", SOLD, storage_options=options)
    _check_who_asks(store, always=True)
    assert cl.top_k(guarded.s3("delta:s3://lake/sold"), **ASKED).items == ("tea",)
    pinned = guarded.s3("delta:s3://lake/sold@v0")
    assert cl.top_k(pinned, **ASKED, domain="s3://lake/list.parquet").items == ("tea",)
    with pytest.raises(SourceError, match="also the endpoint and the credentials") as failure:
        cl.top_k(guarded.s3("delta:s3://lake/sold", secret="hush"), **ASKED)
    assert "hush" not in str(failure.value)
    _make_public(store)
    assert cl.top_k(cl.S3("delta:s3://lake/sold", endpoint=store, anonymous=True), **ASKED).items == ("tea",)


def test_an_iceberg_table(guarded: Guarded, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config

    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{tmp_path}/catalogue.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", "s3://lake/iceberg")
    monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())  # it is read once, when the library is imported
    own = {"s3.access-key-id": guarded.key, "s3.secret-access-key": guarded.secret}
    found = catalog.load_catalog("prod", **own, **{"s3.endpoint": store, "s3.region": "us-east-1"})
    found.create_namespace("shop")
    found.create_table("shop.sold", schema=SOLD.schema).append(SOLD)
    source = guarded.s3("iceberg://prod")
    assert cl.top_k(source, table="shop.sold", **ASKED).items == ("tea",)
    with pytest.raises(SourceError, match="also the endpoint and the credentials") as failure:
        cl.top_k(guarded.s3("iceberg://prod", secret="hush"), table="shop.sold", **ASKED)
    assert "hush" not in str(failure.value)
    _make_public(store)
    public = cl.S3("iceberg://prod", endpoint=store, region="us-east-1", anonymous=True)
    assert cl.top_k(public, table="shop.sold", **ASKED).items == ("tea",)
