"""The answer by a pattern of the user's, found in a process of its own: a pattern can take for ever on a text."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from types import TracebackType

from xldocbench.evaluate import EvaluationError

PATIENCE = 2.0
_WORKER = """
import json, re, sys
pattern = re.compile(json.loads(sys.stdin.readline()))
for line in sys.stdin:
    match = pattern.search(json.loads(line))
    print(json.dumps(match and (match.group(1) if pattern.groups else match.group())), flush=True)
"""


class PatternProcess:
    """Finds a pattern in texts, in a process of its own; a text on which it takes too long is an EvaluationError."""

    def __init__(self, pattern: str, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
        )
        self._reader = ThreadPoolExecutor(1)
        self._send(pattern)

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()

    def find(self, text: str, where: str) -> str | None:
        """Return the first group of the pattern in a text, or all of the match without groups; None without a match."""
        assert self._process.stdout is not None
        try:
            self._send(text)
            line = self._reader.submit(self._process.stdout.readline).result(self._patience)
        except FutureTimeoutError:
            # The thread that reads is let go.
            self._process.kill()
            raise EvaluationError(
                f"{where}: --final-answer-pattern takes more than {self._patience:g} s on this text; simplify it"
            ) from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise EvaluationError(f"{where}: --final-answer-pattern fails on this text; simplify it")
        found: str | None = json.loads(line)
        return found

    def __enter__(self) -> PatternProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._reader.shutdown()
