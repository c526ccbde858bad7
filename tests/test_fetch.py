"""Fetching the real release, from a server on the loopback address that misbehaves in every way it can."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, ROOT, Run
from xldocbench import EvaluationError
from xldocbench.evaluate import main as evaluate_main
from xldocbench.release import DATASET, INDEX, OPTIONAL, PINNED, REQUIRED, REVISION, Source, Transport, fetch, main

REV = "rev-1"
PLAIN_GOLD = (EXAMPLES / "gold_sample.jsonl").read_bytes().splitlines(keepends=True)
FILES = {
    "manifest.json": b'{"release_version": "made_up"}\n',
    "data/documents.jsonl": b'{"document_id": "d"}\n',
    "data/qa_single_doc.jsonl": b"".join(PLAIN_GOLD[:4]),
    "data/qa_cross_doc.jsonl": b"".join(PLAIN_GOLD[4:]),
    "results/scores.jsonl": b'{"system": "s", "question_id": "adubench_single_000001", "accuracy": 1.0}\n',
    "code/evaluate.py": b"raise SystemExit('executed')\n",
}
SUMS = {path: hashlib.sha256(content).hexdigest() for path, content in FILES.items()}
SINGLE = "data/qa_single_doc.jsonl"


class Handler(BaseHTTPRequestHandler):
    """Serves FILES with ranges; what a test put into ``server.faults`` comes first, one fault a request."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.rpartition(f"/resolve/{REV}/")[2]
        self.server.requests.append((path, dict(self.headers)))
        faults = self.server.faults.get(path, [])
        if faults:
            faults.pop(0)(self, path)
        elif path in self.server.files:
            self.serve(path)
        else:
            self.say(404)

    def say(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def serve(self, path: str) -> None:
        body = self.server.files[path]
        asked = self.headers.get("Range")
        if asked is None:
            self.say(200, body)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            self.say(416)
        else:
            self.say(206, body[start:], Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(FILES)
        self.faults: dict[str, list[Callable[[Handler, str], None]]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.released = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def _serve() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


server = pytest.fixture(_serve, name="server")
other_server = pytest.fixture(_serve, name="other_server")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_ENDPOINT", "HF_TOKEN", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Waits(list[float]):
    """Notes how long would have been waited."""

    def transport(self, timeout: float = 5.0) -> Transport:
        return Transport(timeout, self.append)


def source(server: Server, token: str = "") -> Source:
    return Source(server.address, REV, SUMS, token)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder but for the index."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != INDEX)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# ---- faults of the server


def truncated(handler: Handler, path: str) -> None:
    body = handler.server.files[path]
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def stalled(handler: Handler, path: str) -> None:
    body = handler.server.files[path]
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[:10])
    handler.wfile.flush()
    handler.server.released.wait()
    handler.close_connection = True


def dropped(handler: Handler, path: str) -> None:
    handler.close_connection = True


def answers(code: int, **headers: str) -> Callable[[Handler, str], None]:
    return lambda handler, path: handler.say(code, b"busy", **headers)


def wrong_bytes(handler: Handler, path: str) -> None:
    handler.say(200, handler.server.files[path].replace(b"e", b"E"))


def gzipped(handler: Handler, path: str) -> None:
    handler.say(200, gzip.compress(handler.server.files[path]), Content_Encoding="gzip")


def gzipped_and_cut(handler: Handler, path: str) -> None:
    handler.say(200, gzip.compress(handler.server.files[path])[:-9], Content_Encoding="gzip")


def without_length(handler: Handler, path: str) -> None:
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(handler.server.files[path])
    handler.close_connection = True


def without_length_and_cut(handler: Handler, path: str) -> None:
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(handler.server.files[path][:-20])
    handler.close_connection = True


def chunks_and_cut(handler: Handler, path: str) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"5\r\n" + handler.server.files[path][:5] + b"\r\n")
    handler.close_connection = True


def another_range(handler: Handler, path: str) -> None:
    handler.say(206, handler.server.files[path][3:], Content_Range="bytes 3-9/10")


@pytest.mark.parametrize(
    ("faults", "waits"),
    [
        ([truncated], [1.0]),
        ([truncated, truncated, truncated], [1.0, 2.0, 4.0]),
        ([dropped], [1.0]),
        ([answers(503)], [1.0]),
        ([answers(503, Retry_After="7")], [7.0]),
        ([answers(429, Retry_After="0")], [0.0]),
        ([answers(429, Retry_After="Mon, 01 Jan 2001 00:00:00 GMT")], [0.0]),
        ([answers(500), answers(502), answers(504)], [1.0, 2.0, 4.0]),
        ([answers(503, Retry_After="soon")], [1.0]),
        ([wrong_bytes], []),
        ([gzipped], []),
        ([gzipped_and_cut], [1.0]),
        ([without_length], []),
        ([without_length_and_cut], []),
        ([chunks_and_cut], [1.0]),
        ([truncated, another_range], [1.0, 0.0]),
        ([truncated, gzipped], [1.0]),
    ],
    ids=lambda value: "-".join(getattr(item, "__name__", str(item)) for item in value),
)
def test_a_passing_fault_is_survived(
    server: Server, tmp_path: Path, faults: list[Callable[[Handler, str], None]], waits: list[float]
) -> None:
    server.faults[SINGLE] = list(faults)
    noted = Waits()
    assert set(fetch(source(server), tmp_path / "copy", noted.transport())) == set(FILES)
    assert contents(tmp_path / "copy") == FILES
    assert noted == waits
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_a_stalled_server_is_given_up_and_the_rest_fetched(server: Server, tmp_path: Path) -> None:
    server.faults[SINGLE] = [stalled]
    noted = Waits()
    fetch(source(server), tmp_path / "copy", noted.transport(timeout=0.3))
    assert contents(tmp_path / "copy") == FILES
    assert noted == [1.0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (truncated, "the connection broke off after "),
        (dropped, "no connection ("),
        (answers(503), "the server answers 503 (5 attempts); what was received is kept: run it again to go on"),
        (answers(429, Retry_After="3600"), "the server answers 429, and asks to wait 3600 s; run it again later"),
        (wrong_bytes, "is expected; nothing was kept: check --endpoint and proxies"),
        (without_length_and_cut, "is expected; nothing was kept: check --endpoint and proxies"),
        (answers(404), "there is no such file; check --revision and --endpoint"),
        (answers(403), "the server answers 403; set HF_TOKEN, the token of an account that may read it"),
        (answers(401), "the server answers 401; set HF_TOKEN, the token of an account that may read it"),
        (answers(416), "the part that was kept is longer than the file (5 attempts)"),
        (answers(418), "the server answers 418; check --endpoint"),
        (answers(200, Content_Encoding="br"), "sent in the encoding br, which is not read; check --endpoint"),
        (answers(302, Location="ftp://example.org/x"), "redirected to ftp://example.org/x, which is no web address"),
        (answers(302, Location="file:///etc/passwd"), "the server answers 302; check --endpoint"),
        (answers(200, Content_Length=str(1 << 40)), "bytes are more than a release can have; check --endpoint"),
    ],
    ids=str,
)
def test_a_lasting_fault_keeps_nothing_wrong_and_says_what_to_do(
    server: Server, tmp_path: Path, fault: Callable[[Handler, str], None], message: str
) -> None:
    server.faults[SINGLE] = [fault] * 20
    with pytest.raises(EvaluationError) as raised:
        fetch(source(server), tmp_path / "copy", Waits().transport())
    assert message in str(raised.value)
    assert f"/datasets/{DATASET}/resolve/{REV}/{SINGLE}: " in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "copy").exists()


def test_a_proxy_of_the_environment_is_used(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.address)
    fetch(Source("http://hub.invalid", REV, SUMS), tmp_path / "copy", Waits().transport())
    assert contents(tmp_path / "copy") == FILES
    assert {headers["Host"] for _, headers in server.requests} == {"hub.invalid"}


def test_progress_is_told_as_the_bytes_come(server: Server, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    transport = Transport(5.0, Waits().append, lambda path, done, total: told.append((path, done, total)))
    server.faults["manifest.json"] = [without_length]
    fetch(source(server), tmp_path / "copy", transport)
    sizes = {path: len(content) for path, content in FILES.items()}
    assert ("manifest.json", sizes["manifest.json"], None) in told
    assert (SINGLE, sizes[SINGLE], sizes[SINGLE]) in told


def test_where_nothing_was_received_nothing_is_left(server: Server, tmp_path: Path) -> None:
    server.faults["manifest.json"] = [dropped] * 9
    with pytest.raises(EvaluationError, match="no connection"):
        fetch(source(server), tmp_path / "copy", Waits().transport())
    assert list(tmp_path.iterdir()) == []


def test_a_mismatch_leaves_not_even_the_good_files(server: Server, tmp_path: Path) -> None:
    server.files["data/qa_cross_doc.jsonl"] += b" "
    with pytest.raises(EvaluationError, match=r"qa_cross_doc\.jsonl: SHA-256 .* is expected; nothing was kept"):
        fetch(source(server), tmp_path / "copy", Waits().transport())
    assert list(tmp_path.iterdir()) == []


def test_the_next_run_goes_on_where_the_last_one_ended(server: Server, tmp_path: Path) -> None:
    server.faults[SINGLE] = [truncated] + [answers(503)] * 9
    with pytest.raises(EvaluationError, match="is kept"):
        fetch(source(server), tmp_path / "copy", Waits().transport())
    server.faults.clear()
    server.requests.clear()
    fetch(source(server), tmp_path / "copy", Waits().transport())
    assert contents(tmp_path / "copy") == FILES
    asked = {path: headers.get("Range") for path, headers in server.requests}
    assert asked[SINGLE] == f"bytes={len(FILES[SINGLE]) // 2}-"
    assert "manifest.json" not in asked


@pytest.mark.parametrize("kept", [b"x" * 10, b"x" * 1_000_000])
def test_a_part_of_another_file_is_no_obstacle(server: Server, tmp_path: Path, kept: bytes) -> None:
    part = tmp_path / ".copy.incomplete" / SINGLE
    part.parent.mkdir(parents=True)
    part.write_bytes(kept)
    fetch(source(server), tmp_path / "copy", Waits().transport())
    assert contents(tmp_path / "copy") == FILES


def test_a_second_run_downloads_nothing_and_a_damaged_copy_is_mended(server: Server, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    fetch(source(server), copy, Waits().transport())
    server.requests.clear()
    assert fetch(source(server), copy, Waits().transport()) == []
    assert server.requests == []
    (copy / SINGLE).write_bytes(b"damaged")
    assert SINGLE in fetch(source(server), copy, Waits().transport())
    assert contents(copy) == FILES


def test_a_folder_of_other_things_is_left_alone(server: Server, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "thesis.txt").write_bytes(b"mine")
    with pytest.raises(EvaluationError, match="not empty; choose another one with --to"):
        fetch(source(server), tmp_path / "copy", Waits().transport())
    assert contents(tmp_path / "copy") == {"thesis.txt": b"mine"}


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_the_token_goes_to_its_host_alone(server: Server, other_server: Server, tmp_path: Path, code: int) -> None:
    def away(handler: Handler, path: str) -> None:
        handler.say(code, Location=f"{other_server.address}/datasets/x/resolve/{REV}/{path}")

    def around(handler: Handler, path: str) -> None:
        handler.say(code, Location=f"{server.address}/moved/resolve/{REV}/{path}")

    server.faults = {SINGLE: [away], "manifest.json": [around]}
    fetch(source(server, token="secret"), tmp_path / "copy", Waits().transport())
    assert contents(tmp_path / "copy") == FILES
    assert {headers.get("Authorization") for _, headers in server.requests} == {"Bearer secret"}
    assert [(path, headers.get("Authorization")) for path, headers in other_server.requests] == [(SINGLE, None)]
    assert b"secret" not in (tmp_path / "copy" / INDEX).read_bytes()


def test_a_larger_file_than_a_release_can_have_is_refused_as_it_comes(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xldocbench.release.SIZE_LIMIT", 200)
    server.faults[SINGLE] = [without_length]
    with pytest.raises(EvaluationError, match=r"qa_single_doc\.jsonl: more bytes than a release can have"):
        fetch(source(server), tmp_path / "copy", Waits().transport())


@pytest.mark.parametrize(
    ("path", "content"),
    [("manifest.json", b"{"), (SINGLE, FILES[SINGLE][:-9]), ("data/documents.jsonl", b"<html>")],
)
def test_of_an_unknown_revision_what_is_not_whole_is_not_kept(
    server: Server, tmp_path: Path, path: str, content: bytes
) -> None:
    server.files[path] = content
    with pytest.raises(EvaluationError, match="it is not whole; nothing was kept"):
        fetch(Source(server.address, REV, {}), tmp_path / "copy", Waits().transport())
    assert list(tmp_path.iterdir()) == []


def test_what_the_release_need_not_have_may_be_absent(server: Server, tmp_path: Path) -> None:
    for path in OPTIONAL:
        server.files.pop(path, None)
    assert fetch(source(server), tmp_path / "copy", Waits().transport()) == list(REQUIRED)


# ---- command line


def test_the_pinned_checksums_are_whole() -> None:
    assert set(PINNED) == set(REQUIRED)
    assert {len(digest) for digest in PINNED.values()} == {64}
    assert len(REVISION) == 40


def test_the_default_revision_is_compared_with_its_pinned_checksums(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.test_fetch.REV", REVISION)
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    assert main(["fetch"]) == 1
    assert f"manifest.json: SHA-256 {SUMS['manifest.json'][:16]}… where 501d322125fca14e… is" in capsys.readouterr().err
    assert contents(tmp_path / "cache") == {}


@pytest.fixture
def pinned(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return a server of the pinned revision, whose checksums are those of the made-up files."""
    monkeypatch.setattr("tests.test_fetch.REV", REVISION)
    monkeypatch.setattr("xldocbench.release.PINNED", {path: SUMS[path] for path in REQUIRED})
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    return server


def test_fetch_list_verify_and_score(
    pinned: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--predictions", str(EXAMPLES / "predictions_sample.jsonl")]
    assert evaluate_main([*arguments, "--release", "strict"]) == 1
    assert "not fetched yet; run `python -m xldocbench.release fetch`" in capsys.readouterr().err
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "nothing is fetched yet; run `python -m xldocbench.release fetch`\n"
    assert main(["verify"]) == 1
    assert "no fetched release is there" in capsys.readouterr().err
    assert main(["fetch"]) == 0
    folder = tmp_path / "cache" / "xldocbench" / "microsoft--XL-DocBench" / REVISION
    output = capsys.readouterr()
    assert output.out.startswith("fetched manifest.json\nfetched data/documents.jsonl\n")
    assert output.out.endswith(
        f"manifest and data verified: {folder}\n"
        "score with: python -m xldocbench.evaluate --release strict --predictions preds.jsonl\n"
    )
    assert output.err == ""
    assert main(["fetch"]) == 0
    assert "fetched" not in capsys.readouterr().out
    assert main(["list"]) == 0
    assert capsys.readouterr().out == f"{REVISION} (pinned, 6 files): {folder}\n"
    assert main(["verify"]) == 0
    assert capsys.readouterr().out.count("ok    ") == 6
    for name in ("strict", DATASET):
        assert evaluate_main([*arguments, "--release", name]) == 0
        assert "Accuracy: 100.00%" in capsys.readouterr().out
    assert evaluate_main([*arguments, "--release", "loose"]) == 1
    assert "not a release; there is strict or microsoft/XL-DocBench" in capsys.readouterr().err
    (folder / SINGLE).write_bytes(b"")
    assert main(["verify"]) == 1
    output = capsys.readouterr()
    assert f"FAIL  {SINGLE}: SHA-256 e3b0c44298fc1c14… where {SUMS[SINGLE][:16]}… is expected" in output.out
    assert "1 files are not as they were published; delete the folder and fetch again" in output.err


def test_another_revision_is_fetched_with_a_warning(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "here"
    arguments = ["fetch", "--endpoint", f"{server.address}/", "--revision", REV, "--to", str(folder), "--timeout", "5"]
    assert main(arguments) == 0
    output = capsys.readouterr()
    assert output.err == f"WARNING: the checksums of revision {REV} are not known; only {REVISION} is pinned\n"
    assert f"score with: python -m xldocbench.evaluate --data-dir {folder / 'data'} --predictions" in output.out
    assert json.loads((folder / INDEX).read_bytes())["sha256"] == SUMS
    assert main(["verify", "--to", str(folder)]) == 0


@pytest.mark.parametrize("revision", ["", "../x", "a..b", "a/b", "-x", "a b", "a?b"])
def test_a_revision_that_is_none_is_wrong_usage(revision: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["fetch", f"--revision={revision}"])
    assert raised.value.code == 2


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HF_ENDPOINT": "ftp://example.org"}, "ERROR: ftp://example.org: no web address; it begins with https://"),
        ({"HF_ENDPOINT": "http://"}, "ERROR: http://: no web address; it begins with https://"),
        ({"HF_TOKEN": "a\nb"}, "ERROR: HF_TOKEN holds characters that no token has; set it again"),
        ({"HF_TOKEN": "ключ"}, "ERROR: HF_TOKEN holds characters that no token has; set it again"),
    ],
)
def test_a_wrong_environment_is_one_line(
    environment: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["fetch"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1


def test_nothing_that_was_fetched_is_executed(pinned: Server, run: Run, tmp_path: Path) -> None:
    assert main(["fetch", "--to", str(tmp_path / "copy")]) == 0
    assert (tmp_path / "copy" / "code" / "evaluate.py").read_bytes() == FILES["code/evaluate.py"]
    data_dir = ("--data-dir", str(tmp_path / "copy" / "data"))
    sample = ("--predictions", str(EXAMPLES / "predictions_sample.jsonl"))
    result = run("-m", "xldocbench.evaluate", *data_dir, *sample, cwd=tmp_path / "copy")
    assert (result.returncode, result.stderr) == (0, b"")


def test_real_ids_on_the_stand_in_lead_to_the_real_release(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data-dir", str(ROOT / "data"), "--predictions", str(EXAMPLES / "predictions_sample.jsonl")]
    assert evaluate_main(arguments) == 1
    assert (
        "the gold is the synthetic stand-in: fetch the real data with `python -m xldocbench.release fetch` and pass"
        " --release strict" in capsys.readouterr().err
    )


# ---- parity


def test_parity_says_what_cannot_be_checked(pinned: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch"]) == 0
    capsys.readouterr()
    assert main(["parity"]) == 0
    output = capsys.readouterr().out
    assert "1 published scores of 1 systems\n" in output
    assert "compared with ours, row by row: 0; different by more than 0.000001: 0\n" in output
    assert "1 rows come without a prediction: their scores cannot be computed again.\n" in output


def test_parity_without_published_scores(pinned: Server, capsys: pytest.CaptureFixture[str]) -> None:
    del pinned.files["results/scores.jsonl"]
    assert main(["fetch"]) == 0
    capsys.readouterr()
    assert main(["parity"]) == 0
    assert "The copy holds no results/scores.jsonl" in capsys.readouterr().out


def test_parity_finds_the_rows_that_differ(pinned: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def row(question: str, accuracy: float, **more: object) -> str:
        return json.dumps({"system": "s", "question_id": question, "accuracy": accuracy, **more}) + "\n"

    pinned.files["results/scores.jsonl"] = "".join(
        [
            row("adubench_single_000002", 1.0, prediction="25"),
            row("adubench_single_000083", 0.0, prediction="B"),
            row("adubench_single_000193", 0.0, status="failed"),
            row("adubench_single_000001", 1.0),
            row("elsewhere", 1.0, prediction="x"),
        ]
    ).encode()
    assert main(["fetch"]) == 0
    capsys.readouterr()
    assert main(["parity"]) == 1
    output = capsys.readouterr().out
    assert "compared with ours, row by row: 3; different by more than 0.000001: 1\n" in output
    assert "  s adubench_single_000083: accuracy 1.000000 here, 0.000000 published\n" in output
    assert "1 rows are for no question of the gold" in output
    assert "1 rows come without a prediction" in output


def test_parity_with_the_predictions_of_the_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from reference_systems import main as write_systems

    assert write_systems(["--output-dir", str(tmp_path / "runs")]) == 0
    capsys.readouterr()
    assert main(["parity", "--to", str(ROOT), "--predictions", str(tmp_path / "runs")]) == 0
    output = capsys.readouterr().out
    assert output.startswith("17485 published scores of 13 systems\ncompared with ours, row by row: 17")
    assert "different by more than 0.000001: 0\n" in output
