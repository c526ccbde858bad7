"""The real release: fetched from the hub where its authors publish it, verified, and found again.

    python -m xldocbench.release fetch      download it into the cache, or with --to into a folder
    python -m xldocbench.release list       show the copies in the cache
    python -m xldocbench.release verify     compare a copy with its checksums
    python -m xldocbench.release parity     compare our scores with the published ones

Whatever is downloaded is compared with the checksums of the pinned revision before it is put in place, and is
never executed. Of a download that was cut short the part is kept, and the next run goes on from there.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import math
import os
import re
import shutil
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

from xldocbench.evaluate import (
    GOLD_FILES,
    METRICS,
    PREDICTION_FIELDS,
    EvaluationError,
    Intake,
    Prediction,
    ReadOptions,
    index_questions,
    is_success,
    judge_predictions,
    load_gold_records,
    print_to,
    read_jsonl,
    record_id,
    run_command,
    tell,
    text_of,
    write_files,
)

DATASET = "microsoft/XL-DocBench"
REVISION = "72954bd70ffffe230f08b57c57fa9274ec14d7ea"
NAMES = ("strict", DATASET)
ENDPOINT = "https://huggingface.co"
ENDPOINT_VARIABLE, TOKEN_VARIABLE = "HF_ENDPOINT", "HF_TOKEN"

REQUIRED = ("manifest.json", "data/documents.jsonl", *(f"data/{name}" for name in GOLD_FILES))
OPTIONAL = ("results/scores.jsonl", "results/summary.json", "code/evaluate.py")
PINNED = {
    "manifest.json": "501d322125fca14e65f16f99a9113d9a9467da5974b3eda3c76ab6af4a9766f7",
    "data/documents.jsonl": "f63f9188f29fde8b9f0bc1dee32e594f62616966903458fc90ea772de62d3a38",
    "data/qa_single_doc.jsonl": "ab214f9fee45f763810a0f316911da19915a7c2ee9a0dfaff55f799df283a62d",
    "data/qa_cross_doc.jsonl": "18d514bb3c77e8e3b30ddc514116074b787fafd54153ff208817d24007ef4a13",
}
"""SHA-256 of the files of the pinned revision."""

INDEX = "fetched.json"
SIZE_LIMIT = 1 << 29
ATTEMPTS = 5
LONGEST_WAIT = 60.0
_CHUNK = 1 << 16
_FETCH_COMMAND = "python -m xldocbench.release fetch"


# ---- where copies are


def cache_folder() -> Path:
    """Return the folder of fetched releases in the user's cache."""
    if os.environ.get("XDG_CACHE_HOME"):
        base = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        base = Path(os.environ["LOCALAPPDATA"])
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "xldocbench" / DATASET.replace("/", "--")


def checked_revision(text: str) -> str:
    """Return a revision as it may stand in an address and a path. Raises ValueError for any other text."""
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._-]*", text) or ".." in text:
        raise ValueError(f"{text!r} is no revision")
    return text


def copy_of(release: str) -> Path:
    """Return the folder of the cached copy that a name stands for. Raises EvaluationError where there is none."""
    if release not in NAMES:
        raise EvaluationError(f"--release {release}: not a release; there is {' or '.join(NAMES)}")
    folder = cache_folder() / REVISION
    if index_in(folder) is None:
        raise EvaluationError(f"--release {release}: not fetched yet; run `{_FETCH_COMMAND}`")
    return folder


def index_in(folder: Path) -> dict[str, Any] | None:
    """Return what was noted when a copy was fetched, or None where the folder holds no whole copy."""
    try:
        index = json.loads((folder / INDEX).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(index, dict) and isinstance(index.get("sha256"), dict)
    return index if whole and all((folder / path).is_file() for path in REQUIRED) else None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def faults_of(folder: Path, index: Mapping[str, Any]) -> dict[str, str]:
    """Return how files of a copy differ from their checksums, the pinned ones before those noted: path → words."""
    pinned = PINNED if index.get("revision") == REVISION else {}
    faults = {}
    for path, noted in index["sha256"].items():
        expected = pinned.get(path, noted)
        try:
            found = sha256_of(folder / path)
        except OSError:
            found = "none"
        if found != expected:
            faults[path] = f"SHA-256 {found[:16]}… where {str(expected)[:16]}… is expected"
    return faults


# ---- downloading


class Source(NamedTuple):
    """Where a release is downloaded from, and the checksums that are known of it: path → SHA-256."""

    endpoint: str
    revision: str
    sha256: Mapping[str, str]
    token: str = ""

    def address_of(self, path: str) -> str:
        """Return the address of a file."""
        return f"{self.endpoint.rstrip('/')}/datasets/{DATASET}/resolve/{self.revision}/{path}"


class Transport(NamedTuple):
    """How a download behaves: seconds until a silent server is given up, and how to wait between attempts."""

    timeout: float = 30.0
    wait: Callable[[float], None] = time.sleep
    progress: Callable[[str, int, int | None], None] = lambda path, done, total: None


class _Retry(Exception):
    """A fault that may pass: what happened, and the seconds that the server asks to wait."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class _Anew(_Retry):
    """A part that was kept does not fit: the next attempt begins at the first byte."""


class _NotThere(Exception):
    """The server has no such file."""


def _origin(address: str) -> tuple[str, str, int | None]:
    parts = urllib.parse.urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to web addresses; the token goes along only to the host that it is for."""

    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302

    def __init__(self, token: str) -> None:
        self._token = token

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme not in ("http", "https"):
            fp.close()
            raise EvaluationError(f"{req.full_url}: redirected to {newurl}, which is no web address; check --endpoint")
        # Python 3.10 does not know the code 308, which keeps the method as 307 does.
        request = super().redirect_request(req, fp, 307 if code == 308 else code, msg, headers, newurl)
        # An unredirected header is not copied by itself: it is given again where the origin stays the same.
        if request is not None and self._token and _origin(newurl) == _origin(req.full_url):
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        return request


def _retry_after(headers: Message) -> float | None:
    text = headers.get("Retry-After")
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _open(source: Source, path: str, start: int, transport: Transport) -> Any:
    address = source.address_of(path)
    request = urllib.request.Request(address, headers={"Accept-Encoding": "identity", "User-Agent": "xldocbench"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    if source.token:
        request.add_unredirected_header("Authorization", f"Bearer {source.token}")
    opener = urllib.request.build_opener(_Redirects(source.token))
    try:
        return opener.open(request, timeout=transport.timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                raise _Anew("the part that was kept is longer than the file", 0.0) from None
            if error.code in (408, 425, 429) or error.code >= 500:
                raise _Retry(f"the server answers {error.code}", _retry_after(error.headers)) from None
            if error.code == 404:
                raise _NotThere from None
            if error.code in (401, 403):
                advice = (
                    f"{'check' if source.token else 'set'} {TOKEN_VARIABLE}, the token of an account that may read it"
                )
                raise EvaluationError(f"{address}: the server answers {error.code}; {advice}") from None
            raise EvaluationError(f"{address}: the server answers {error.code}; check --endpoint") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise EvaluationError(
                f"{address}: the certificate is not trusted ({error.reason.verify_message}); check --endpoint"
            ) from None
        raise _Retry(f"no connection ({error.reason})") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Retry(f"no connection ({error or type(error).__name__})") from None
    except ValueError as error:
        raise EvaluationError(f"{address}: no web address ({error}); check --endpoint") from None


def _length_of(response: Any) -> int | None:
    text = response.headers.get("Content-Length")
    return int(text) if text is not None and text.isdecimal() else None


def _body(response: Any, address: str) -> Iterator[bytes]:
    """Yield the content of a response, unpacked where the server packed it unasked."""
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise EvaluationError(f"{address}: sent in the encoding {encoding}, which is not read; check --endpoint")
    unpack = None if encoding == "identity" else zlib.decompressobj(31)
    length, received = _length_of(response), 0
    try:
        while part := response.read(_CHUNK):
            received += len(part)
            if unpack is None:
                yield part
                continue
            while part:
                yield unpack.decompress(part, 1 << 20)
                part = unpack.unconsumed_tail
        if unpack is not None:
            yield unpack.flush()
    except (OSError, http.client.HTTPException, zlib.error) as error:
        raise _Retry(f"the connection broke off ({error or type(error).__name__})") from None
    if (length is not None and received < length) or (unpack is not None and not unpack.eof):
        raise _Retry(f"the connection broke off after {received} of {length} bytes")


def _attempt(source: Source, path: str, part: Path, transport: Transport) -> None:
    """Download a file, or what is missing of it, to ``part``."""
    start = part.stat().st_size if part.exists() else 0
    address = source.address_of(path)
    with _open(source, path, start, transport) as response:
        if start and (response.status != 206 or response.headers.get("Content-Encoding")):
            # The server sends all of it, or something else: begin anew.
            start = 0
        if start and not (response.headers.get("Content-Range") or "").startswith(f"bytes {start}-"):
            raise _Anew("the server sends another part than was asked for", 0.0)
        length = _length_of(response)
        total = None if length is None else start + length
        if total is not None and total > SIZE_LIMIT:
            raise EvaluationError(f"{address}: {total:,} bytes are more than a release can have; check --endpoint")
        done = start
        with open(part, "ab" if start else "wb") as file:
            for content in _body(response, address):
                done += len(content)
                if done > SIZE_LIMIT:
                    raise EvaluationError(f"{address}: more bytes than a release can have; check --endpoint")
                file.write(content)
                transport.progress(path, done, total)


def _is_whole(path: str, part: Path) -> bool:
    """Say whether a file whose checksum is not known can be read to its end."""
    if path.endswith(".py"):
        return True
    try:
        if path.endswith(".jsonl"):
            return sum(1 for _ in read_jsonl(part)) > 0
        return isinstance(json.loads(part.read_bytes()), dict)
    except (EvaluationError, ValueError, RecursionError):
        return False


def _download(source: Source, path: str, part: Path, transport: Transport) -> str:
    """Download a file whole and verified to ``part``, with as many attempts as are sensible; return its SHA-256."""
    expected = source.sha256.get(path)
    what = ""
    mismatches = 0
    for attempt in range(ATTEMPTS):
        if expected and part.exists() and sha256_of(part) == expected:
            return expected
        try:
            _attempt(source, path, part, transport)
        except _Retry as fault:
            what = str(fault)
            wait = 2.0**attempt if fault.wait is None else fault.wait
            if wait > LONGEST_WAIT:
                raise EvaluationError(
                    f"{source.address_of(path)}: {what}, and asks to wait {math.ceil(wait)} s; run it again later"
                ) from None
            if isinstance(fault, _Anew):
                part.unlink(missing_ok=True)
            if attempt + 1 < ATTEMPTS:
                transport.wait(wait)
            continue
        found = sha256_of(part)
        if (found == expected) if expected else _is_whole(path, part):
            return found
        # A part that was kept may be of another file: the second time all of it is new.
        mismatches += 1
        part.unlink()
        if mismatches == 2 or expected is None:
            stated = f"SHA-256 {found[:16]}… where {expected[:16]}… is expected" if expected else "it is not whole"
            raise Mismatch(f"{source.address_of(path)}: {stated}; nothing was kept: check --endpoint and proxies")
    raise EvaluationError(
        f"{source.address_of(path)}: {what} ({ATTEMPTS} attempts); what was received is kept: run it again to go on"
    )


class Mismatch(EvaluationError):
    """What was downloaded is not what it should be."""


def fetch(source: Source, folder: Path, transport: Transport) -> list[str]:
    """Download a release into a folder; return the paths that were downloaded, none where it was whole already.

    All files are verified before the first is put in place. Raises EvaluationError, saying what to do, for what
    cannot be had, and OSError for a folder that cannot be written; a mismatch leaves nothing behind.
    """
    index = index_in(folder)
    if index is not None and index.get("revision") == source.revision and not faults_of(folder, index):
        return []
    if index is None and folder.is_dir() and any(folder.iterdir()):
        raise EvaluationError(f"{folder}: the folder is not empty; choose another one with --to")
    folder = folder.resolve()
    staging = folder.parent / f".{folder.name}.incomplete"
    staging.mkdir(parents=True, exist_ok=True)
    found: dict[str, str] = {}
    try:
        for path in (*REQUIRED, *OPTIONAL):
            part = staging / path
            part.parent.mkdir(parents=True, exist_ok=True)
            try:
                found[path] = _download(source, path, part, transport)
            except _NotThere:
                if path in REQUIRED:
                    raise EvaluationError(
                        f"{source.address_of(path)}: there is no such file; check --revision and --endpoint"
                    ) from None
    except Mismatch:
        shutil.rmtree(staging)
        raise
    except EvaluationError:
        if not any(path.is_file() for path in staging.rglob("*")):
            shutil.rmtree(staging)
        raise
    index = {"dataset": DATASET, "revision": source.revision, "endpoint": source.endpoint, "sha256": found}
    write_files({str(staging / INDEX): (json.dumps(index, indent=2) + "\n").encode()})
    if folder.exists():
        for path in (*found, INDEX):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / path, folder / path)
        shutil.rmtree(staging)
    else:
        os.replace(staging, folder)
    return list(found)


# ---- parity with published scores

_SYSTEM_FIELDS = ("system", "model", "method", "run")


class Parity(NamedTuple):
    """What a comparison with published scores showed: lines for people, and how many rows differ."""

    lines: list[str]
    different: int


def parity_of(folder: Path, predictions_folder: Path | None) -> Parity:
    """Compare our scores with those of ``results/scores.jsonl``, row by row where the predictions are at hand.

    A row's own prediction counts, else that of the system's file in ``predictions_folder``. Raises EvaluationError
    or OSError for what cannot be read.
    """
    path = folder / "results" / "scores.jsonl"
    if not path.is_file():
        lines = [
            "The copy holds no results/scores.jsonl: no score of the release can be compared with ours.",
            "Its questions and gold answers are verified by `python -m xldocbench.release verify`.",
        ]
        return Parity(lines, 0)
    questions = index_questions(load_gold_records(folder / "data" / name for name in GOLD_FILES))
    given = _predictions_in(predictions_folder) if predictions_folder is not None else {}
    rows = compared = different = unknown = without = 0
    systems: set[str] = set()
    examples: list[str] = []
    for where, row in read_jsonl(path):
        rows += 1
        system = next((str(row[name]) for name in _SYSTEM_FIELDS if row.get(name) not in (None, "")), "unnamed")
        systems.add(system)
        question_id = record_id(row, where)
        if question_id not in questions:
            unknown += 1
            continue
        prediction = _prediction_of_row(row, question_id) or given.get(system, {}).get(question_id)
        stated = {metric: row[metric] for metric in METRICS if isinstance(row.get(metric), (int, float))}
        if prediction is None or not stated:
            without += 1
            continue
        compared += 1
        ours = _scores_of(questions, prediction)
        off = {m: (ours[m], value) for m, value in stated.items() if abs(ours[m] - value) > 1.000001e-6}
        if off:
            different += 1
            if len(examples) < 5:
                words = ", ".join(f"{metric} {a:.6f} here, {b:.6f} published" for metric, (a, b) in off.items())
                examples.append(f"  {system} {question_id}: {words}")
    lines = [
        f"{rows} published scores of {len(systems)} systems",
        f"compared with ours, row by row: {compared}; different by more than 0.000001: {different}",
        *examples,
    ]
    if unknown:
        lines.append(f"{unknown} rows are for no question of the gold and cannot be compared")
    if without:
        lines += [
            f"{without} rows come without a prediction: their scores cannot be computed again.",
            "What can be checked of them: that their ids are those of the gold, and that they add up to"
            " results/summary.json (`python -m xldocbench.quickstart --release-root` does).",
            "To compare them, pass the predictions of the systems, a file each, with --predictions DIR.",
        ]
    return Parity(lines, different)


def _prediction_of_row(row: Mapping[str, Any], question_id: str) -> Prediction | None:
    for name in PREDICTION_FIELDS:
        if name in row:
            return Prediction(question_id, text_of(row[name]), str(row.get("status") or "success"))
    status = str(row.get("status") or "success")
    # What failed or was missing scores 0 whatever was predicted.
    return None if is_success(status) else Prediction(question_id, None, status)


def _predictions_in(folder: Path) -> dict[str, dict[str, Prediction]]:
    from xldocbench.containers import is_predictions_file, without_ending
    from xldocbench.formats import read

    files = sorted(path for path in folder.iterdir() if is_predictions_file(path.name))
    if not files:
        raise EvaluationError(f"{folder}: no predictions file in this folder")
    return {
        without_ending(path.name): {p.question_id: p for p in read(str(path), ReadOptions(), Intake())}
        for path in files
    }


def _scores_of(questions: Mapping[str, Any], prediction: Prediction) -> dict[str, float]:
    (judged,) = judge_predictions(questions, [prediction])
    assert judged.score is not None
    return {metric: round(getattr(judged.score, metric), 6) for metric in METRICS}


# ---- command line


def _show_progress(path: str, done: int, total: int | None) -> None:
    if sys.stderr is None or not sys.stderr.isatty():
        return
    share = f"{done / total:>4.0%}" if total else "    "
    width = 24
    bar = ("#" * round(width * done / total)).ljust(width) if total else " " * width
    print(f"\r{path:<26} [{bar}] {share} {done / 1e6:8.1f} MB", end="", file=sys.stderr, flush=True)


def _end_progress() -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _run_fetch(arguments: argparse.Namespace) -> int:
    endpoint = arguments.endpoint or os.environ.get(ENDPOINT_VARIABLE) or ENDPOINT
    address = urllib.parse.urlsplit(endpoint)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise EvaluationError(f"{endpoint}: no web address; it begins with https://")
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token.isascii() or not token.isprintable():
        raise EvaluationError(f"{TOKEN_VARIABLE} holds characters that no token has; set it again")
    sums = PINNED if arguments.revision == REVISION else {}
    source = Source(endpoint, arguments.revision, sums, token)
    folder = arguments.to or cache_folder() / arguments.revision
    if not sums:
        tell(f"WARNING: the checksums of revision {arguments.revision} are not known; only {REVISION} is pinned")
    try:
        fetched = fetch(source, folder, Transport(arguments.timeout, progress=_show_progress))
    finally:
        _end_progress()
    for path in fetched:
        print_to(f"fetched {path}", sys.stdout)
    print_to(f"{'manifest and data verified' if sums else 'whole'}: {folder}", sys.stdout)
    use = "--release strict" if arguments.to is None and sums else f"--data-dir {folder / 'data'}"
    print_to(f"score with: python -m xldocbench.evaluate {use} --predictions preds.jsonl", sys.stdout)
    return 0


def _copies() -> Iterable[tuple[Path, dict[str, Any]]]:
    try:
        folders = sorted(path for path in cache_folder().iterdir() if path.is_dir())
    except OSError:
        return
    for folder in folders:
        index = index_in(folder)
        if index is not None:
            yield folder, index


def _run_list(arguments: argparse.Namespace) -> int:
    copies = list(_copies())
    for folder, index in copies:
        pinned = "pinned" if index.get("revision") == REVISION else "not pinned"
        print_to(f"{index.get('revision')} ({pinned}, {len(index['sha256'])} files): {folder}", sys.stdout)
    if not copies:
        print_to(f"nothing is fetched yet; run `{_FETCH_COMMAND}`", sys.stdout)
    return 0


def _copy_at(arguments: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    folder = arguments.to or cache_folder() / arguments.revision
    index = index_in(folder)
    if index is None:
        raise EvaluationError(f"{folder}: no fetched release is there; run `{_FETCH_COMMAND}`")
    return folder, index


def _run_verify(arguments: argparse.Namespace) -> int:
    folder, index = _copy_at(arguments)
    faults = faults_of(folder, index)
    for path in index["sha256"]:
        print_to(f"FAIL  {path}: {faults[path]}" if path in faults else f"ok    {path}", sys.stdout)
    if faults:
        tell(f"ERROR: {folder}: {len(faults)} files are not as they were published; delete the folder and fetch again")
    return 1 if faults else 0


def _run_parity(arguments: argparse.Namespace) -> int:
    folder = arguments.to or _copy_at(arguments)[0]
    parity = parity_of(folder, arguments.predictions)
    print_to("\n".join(parity.lines), sys.stdout)
    return 1 if parity.different else 0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 < value <= 3600.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds up to 3600")
    return value


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m xldocbench.release",
        description=f"Fetch, list and verify the real release ({DATASET}).",
        epilog="exit codes: 0 done   1 an error, or a copy or score that differs   2 wrong usage",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    def add_place(added: argparse.ArgumentParser) -> None:
        added.add_argument("--to", type=Path, metavar="DIR", help="folder of the copy (default: in the user's cache)")
        added.add_argument(
            "--revision", type=checked_revision, default=REVISION, metavar="REV", help=f"default: {REVISION}"
        )

    fetching = command("fetch", _run_fetch, "download the release and verify it")
    add_place(fetching)
    fetching.add_argument(
        "--endpoint", metavar="URL", help=f"address of the hub (default: ${ENDPOINT_VARIABLE}, else {ENDPOINT})"
    )
    fetching.add_argument(
        "--timeout", type=_seconds, default=30.0, metavar="S", help="seconds to wait for a silent server (default: 30)"
    )
    command("list", _run_list, "show the copies in the cache")
    add_place(command("verify", _run_verify, "compare a copy with its checksums"))
    comparing = command("parity", _run_parity, "compare our scores with the published ones")
    add_place(comparing)
    comparing.add_argument(
        "--predictions",
        type=Path,
        metavar="DIR",
        help="folder with the systems' predictions, a file each (default: none)",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1, 130 or 141."""
    return run_command(_build_parser(), lambda arguments: int(arguments.run(arguments)), argv)


if __name__ == "__main__":
    sys.exit(main())
