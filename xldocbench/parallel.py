"""Scoring in several processes: the systems of one run, or the lines of one large predictions file.

What comes out is the same, in the same order, for any number of processes.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import BinaryIO, NamedTuple, TypeVar

from xldocbench.containers import Record, open_file
from xldocbench.evaluate import (
    EvaluationError,
    Intake,
    Judged,
    Outcome,
    Question,
    Task,
    finish_file,
    judge_file,
    judge_task,
    records_of_lines,
    shown_name,
)
from xldocbench.formats import BY_NAME, format_of, predictions_of, read_opened

Item = TypeVar("Item")
Result = TypeVar("Result")

# Enough lines to make the way between processes cheap, few enough to keep all of them busy.
BLOCK_BYTES = 1 << 18

_questions: Mapping[str, Question] = {}


class Block(NamedTuple):
    """Some lines of a predictions file, the first of them numbered ``first``, and the format of its records."""

    name: str
    lines: list[bytes]
    first: int
    format: str


def _start_worker(questions: Mapping[str, Question]) -> None:
    global _questions
    _questions = questions
    # Ctrl-C reaches every process of the terminal; the main one alone answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _judge_block(task: Task, block: Block) -> list[Judged]:
    records = (Record(where, value) for where, value in records_of_lines(block.name, block.lines, block.first))
    predictions = predictions_of(records, task.reading, Intake(), BY_NAME[block.format])
    return list(judge_task(_questions, predictions, task))


def _finish_file(task: Task, name: str) -> Outcome:
    return finish_file(_questions, name, task, partial(judge_file, _questions, name, task))


def _in_order(
    work: Callable[[Task, Item], Result],
    task: Task,
    items: Iterable[Item],
    questions: Mapping[str, Question],
    jobs: int,
) -> Iterator[Result]:
    """Yield the result of each item in order, with no more than a few items in flight."""
    executor = ProcessPoolExecutor(jobs, initializer=_start_worker, initargs=(questions,))
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(executor.submit(work, task, item))
            if len(pending) > 2 * jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise EvaluationError("a process of --jobs ended before its work was done; try --jobs 1") from None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _blocks(name: str, file: BinaryIO, intake: Intake) -> Iterator[Block]:
    first, found = 1, ""
    while lines := file.readlines(BLOCK_BYTES):
        if not found:
            # A file is of one format, that of its first record.
            for where, value in records_of_lines(name, lines, first):
                found = intake.format = format_of(Record(where, value)).name
                break
        yield Block(name, lines, first, found or intake.format)
        first += len(lines)


def judge_file_in_processes(
    questions: Mapping[str, Question], name: str, task: Task, jobs: int, intake: Intake
) -> Iterator[Judged]:
    """Yield the judged predictions of a file, in order, as ``judge_file`` does; JSONL alone is split into blocks."""
    opened = open_file(name, intake, task.reading.container)
    if opened.container != "jsonl" or task.reading.final_answer_pattern:
        yield from judge_task(questions, read_opened(name, opened, task.reading, intake), task)
        return
    # The clusters are for the report, which is made here: they need not travel.
    task = task._replace(clusters=None)
    with opened.file:
        for block in _in_order(_judge_block, task, _blocks(shown_name(name), opened.file, intake), questions, jobs):
            yield from block


def finish_files_in_processes(
    questions: Mapping[str, Question], names: Sequence[str], task: Task, jobs: int
) -> Iterator[Outcome]:
    """Yield the outcome of each predictions file, in order, as ``finish_file`` does."""
    return _in_order(_finish_file, task, names, questions, min(jobs, len(names)))
