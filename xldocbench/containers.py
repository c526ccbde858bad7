"""From a file to its records, whatever it is packed in: JSONL, JSON, CSV, TSV, an Inspect archive, each also gzipped.

The name tells the container; where it does not, the first bytes do. What a compressed file may unpack to is limited.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from xldocbench.evaluate import (
    BYTE_ORDER_MARK,
    JSON_ADVICE,
    STDIN,
    EvaluationError,
    Intake,
    decoded,
    parse_json,
    records_of_json,
    records_of_lines,
    shown_name,
)

if TYPE_CHECKING:
    import zipfile

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".eval": "eval",
}
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
_GZIP, _ZIP, _OLD_OFFICE, _UTF_16 = b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", (b"\xff\xfe", b"\xfe\xff")
UNPACKED_LIMIT = 1 << 30
MEMBER_LIMIT = 1 << 28
_BUFFER = 1 << 18


class Record(NamedTuple):
    """A record as its container gives it: its place, its value, and its id where the container states it.

    ``origin`` is "table" for a row of a table, where every cell is text, and "inspect" for a sample of a log.
    """

    where: str
    value: Any
    key: str | None = None
    origin: str = ""


def is_predictions_file(name: str) -> bool:
    """Say whether a file in a folder looks like a predictions file, by its name."""
    return not name.startswith(".") and _ending(name) in _ENDINGS


def without_ending(name: str) -> str:
    """Return a file's name without the ending that tells its container."""
    base = os.path.basename(shown_name(name))
    plain = re.sub(r"\.gz\Z", "", base, flags=re.IGNORECASE)
    stem, ending = os.path.splitext(plain)
    return stem if ending.lower() in _ENDINGS else base


def _ending(name: str) -> str:
    return os.path.splitext(re.sub(r"\.gz\Z", "", name.lower()))[1]


class _Noted(io.RawIOBase):
    """A file whose bytes the intake notes as they are read; each read fills the buffer, also from a slow pipe."""

    def __init__(self, file: IO[bytes], intake: Intake) -> None:
        super().__init__()
        self._file = file
        self._intake = intake

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            part = self._file.read(len(view) - filled)
            if not part:
                break
            view[filled : filled + len(part)] = part
            filled += len(part)
        self._intake.update(view[:filled])
        return filled

    def close(self) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, up to a limit; what is wrong with it is an EvaluationError."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        import gzip

        super().__init__()
        self._file = file
        self._inner = gzip.GzipFile(fileobj=file, mode="rb")
        self._name = name
        self._total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        import zlib

        view = memoryview(buffer).cast("B")
        try:
            part = self._inner.read(len(view))
        except (EOFError, zlib.error, OSError) as error:
            raise EvaluationError(f"{self._name}: not a whole gzip file ({error}); compress it again") from None
        self._total += len(part)
        if self._total > UNPACKED_LIMIT:
            raise EvaluationError(
                f"{self._name}: unpacks to more than {UNPACKED_LIMIT >> 20} MiB; unpack it yourself and pass the file"
            )
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._inner.close()
        self._file.close()
        super().close()


class Opened(NamedTuple):
    """A file that was opened: its unpacked bytes from the start, and its container."""

    file: io.BufferedReader
    container: str


def open_file(name: str, intake: Intake, container: str = "") -> Opened:
    """Open a predictions file, or stdin for ``-``; the intake notes the bytes that are read of it.

    ``container`` is jsonl, json, csv, tsv, eval, or empty: then name and content tell. Raises EvaluationError for
    what can be none, OSError for what cannot be read.
    """
    shown = shown_name(name)
    if name == STDIN and sys.stdin is None:
        raise EvaluationError("stdin is closed; name a file")
    raw = sys.stdin.buffer if name == STDIN else io.FileIO(name)
    file: io.BufferedReader = io.BufferedReader(_Noted(raw, intake), _BUFFER)
    try:
        if file.peek(2).startswith(_GZIP):
            file = io.BufferedReader(_Unpacked(file, shown), _BUFFER)
        return Opened(file, container or _container_of(shown, file.peek(_BUFFER)))
    except BaseException:
        file.close()
        raise


def _container_of(name: str, head: bytes) -> str:
    ending = _ending(name)
    if ending in _SPREADSHEETS or head.startswith(_OLD_OFFICE) or (head.startswith(_ZIP) and b"xl/" in head):
        raise EvaluationError(f"{name}: a workbook is not read; save the sheet as CSV (UTF-8)")
    if head.startswith(_ZIP):
        return "eval"
    named = _ENDINGS.get(ending)
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if named == "jsonl" and (text.startswith(b"[") or text.split(b"\n", 1)[0].strip() == b"{"):
        return "json"
    if named == "json" and _is_one_object_a_line(text):
        return "jsonl"
    if named is not None:
        return named
    if text.startswith(b"["):
        return "json"
    if text.startswith(b"{"):
        return "json" if text.split(b"\n", 1)[0].strip() == b"{" else "jsonl"
    first_line = text.split(b"\n", 1)[0]
    if b"\t" in first_line:
        return "tsv"
    return "csv" if b"," in first_line or b";" in first_line else "jsonl"


def _is_one_object_a_line(text: bytes) -> bool:
    first, _, rest = text.partition(b"\n")
    if not (first.startswith(b"{") and rest.lstrip().startswith(b"{")):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


# ---- tables


def _delimiter_of(header: str, container: str) -> str:
    if container == "tsv":
        return "\t"
    # Spreadsheets write semicolons, or tabs, into a "CSV" where the comma is the decimal mark.
    return max(",;\t", key=header.count)


def _rows(name: str, file: io.BufferedReader, container: str) -> Iterator[Record]:
    import csv

    head = file.peek(4)
    if head.startswith(_UTF_16):
        raise EvaluationError(f"{name}: the table is in UTF-16; save it as CSV in UTF-8")
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    limit = csv.field_size_limit(2**31 - 1)
    try:
        first = text.readline()
        while first and not first.strip():
            first = text.readline()
        delimiter = _delimiter_of(first, container)
        reader = csv.reader(_chained(first, text), delimiter=delimiter, strict=True)
        header: list[str] | None = None
        start = 1
        for cells in reader:
            place, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                continue
            where = f"{name}, line {place}"
            if len(cells) > len(header) and any(cells[len(header) :]):
                raise EvaluationError(
                    f"{where}: {len(cells)} cells under {len(header)} headings; quote cells that hold the delimiter"
                    f" {delimiter!r}"
                )
            yield Record(where, _row_of(header, cells, where), origin="table")
    except csv.Error as error:
        raise EvaluationError(
            f"{name}, line {reader.line_num}: not a row of CSV ({error}); save the table again"
        ) from None
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise EvaluationError(f"{name}: {found}; save the table as CSV in UTF-8") from None
    finally:
        csv.field_size_limit(limit)


def _chained(first: str, rest: io.TextIOWrapper) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _row_of(header: list[str], cells: list[str], where: str) -> dict[str, str]:
    row: dict[str, str] = {}
    for heading, cell in zip(header, cells, strict=False):
        if heading in row and row[heading] != cell:
            raise EvaluationError(f"{where}: two columns are headed {heading!r}, and differ; rename one")
        row[heading] = cell
    return row


# ---- Inspect AI logs


def _is_inspect_log(data: object) -> bool:
    return isinstance(data, dict) and "eval" in data and ("samples" in data or "version" in data)


def _samples(name: str, data: Mapping[str, Any]) -> Iterator[Record]:
    samples = data.get("samples")
    if not isinstance(samples, list):
        raise EvaluationError(f"{name}: an Inspect log without samples; write it with its samples")
    for position, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict):
            raise EvaluationError(f"{name}, sample {position}: not a JSON object")
        yield Record(f"{name}, sample {position}", sample, origin="inspect")


_SAMPLE = re.compile(r"(?:.*/)?samples/.+\.json")


def _samples_of_archive(name: str, content: bytes, intake: Intake) -> Iterator[Record]:
    import zipfile

    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
        raise EvaluationError(f"{name}: not a whole archive ({error}); copy it again") from None
    # Of a name that stands twice, the last one written counts.
    members = {member.filename: member for member in archive.infolist() if _SAMPLE.fullmatch(member.filename)}
    if "header.json" not in archive.namelist():
        intake.warnings.append(f"{name}: the run did not end (no header.json); the samples that are there are scored")
    if sum(member.file_size for member in members.values()) > UNPACKED_LIMIT:
        raise EvaluationError(f"{name}: unpacks to more than {UNPACKED_LIMIT >> 20} MiB; convert it to .json")
    for member in members.values():
        where = f"{name}, {member.filename}"
        sample = parse_json(decoded(_content_of(archive, member, where), where), where, "copy the log again")
        if not isinstance(sample, dict):
            raise EvaluationError(f"{where}: not a JSON object; copy the log again")
        yield Record(where, sample, origin="inspect")


def _content_of(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> bytes:
    import zipfile
    import zlib

    if member.file_size > MEMBER_LIMIT:
        raise EvaluationError(f"{where}: unpacks to more than {MEMBER_LIMIT >> 20} MiB; convert the log to .json")
    try:
        return archive.read(member)
    except NotImplementedError:
        raise EvaluationError(
            f"{where}: a compression that Python cannot read; convert the log with"
            " `inspect log convert --to json` and pass the result"
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError) as error:
        raise EvaluationError(f"{where}: cannot be unpacked ({error}); copy the log again") from None


# ---- all of them


def records_in(name: str, opened: Opened, intake: Intake) -> Iterator[Record]:
    """Yield the records of an opened file in order; of JSONL and tables each as soon as its line is read.

    Raises EvaluationError, naming file and line, for what is no record.
    """
    shown = shown_name(name)
    if opened.container == "jsonl":
        for where, value in records_of_lines(shown, opened.file):
            yield Record(where, value)
    elif opened.container in ("csv", "tsv"):
        yield from _rows(shown, opened.file, opened.container)
    elif opened.container == "eval":
        yield from _samples_of_archive(shown, opened.file.read(), intake)
    else:
        text = decoded(opened.file.read().removeprefix(BYTE_ORDER_MARK), shown)
        if text.strip():
            data = parse_json(text, shown, JSON_ADVICE)
            if _is_inspect_log(data):
                yield from _samples(shown, data)
            else:
                for where, key, value in records_of_json(shown, text, data):
                    yield Record(where, value, key)
