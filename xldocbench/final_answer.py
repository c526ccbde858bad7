"""Where does an output end its reasoning and state its answer? Pure functions of one text."""

from __future__ import annotations

import json
import re
from typing import Any

from xldocbench.evaluate import text_of

_TAG = r"(?:think|thinking|thought|thoughts|reasoning|reason|reflection|analysis|scratchpad)"
_REASONING_ENDS = re.compile(
    rf"</{_TAG}\s*>|<\|channel\|>\s*final\s*(?:<\|message\|>)?|<\|end_of_thought\|>", re.IGNORECASE
)
_REASONING_BEGINS = re.compile(rf"<{_TAG}\s*>|<\|channel\|>\s*analysis\b|<\|begin_of_thought\|>", re.IGNORECASE)
_EMPHASIS = r"[*_`]{0,3}"
# `Final answer` counts wherever it stands, a bare `Answer` only at the start of a line.
_MARKER = re.compile(
    rf"(?:(?:^|\n)[ \t>#*_`-]{{0,9}}(?:the\s)?(?:answer|答案)|\bfinal\s+answer|最终答案|最后答案)"
    rf"{_EMPHASIS}[ \t]{{0,3}}(?:[:：]|is\b|是|为){_EMPHASIS}[:：]?{_EMPHASIS}",
    re.IGNORECASE,
)


def after_reasoning(text: str) -> str:
    """Return what follows the last closing reasoning tag; of reasoning that never closes, what stands before it.

    Tags are ``<think>``, ``<thinking>``, ``<reasoning>``, ``<analysis>`` and their like, and the channels of
    ``<|channel|>final``. A text without such tags is returned as it is.
    """
    end = 0
    for match in _REASONING_ENDS.finditer(text):
        end = match.end()
    begin = _REASONING_BEGINS.search(text, end)
    return text[end : begin.start() if begin else len(text)]


def after_marker(text: str) -> str | None:
    """Return what follows the last ``Final answer:`` or, at the start of a line, ``Answer:``; None without one.

    The marker may be bold; 最终答案 and 答案 count too.
    """
    # Most texts hold no marker, and a plain search says so a hundred times as fast.
    if "answer" not in text.lower() and "答案" not in text:
        return None
    end = None
    for match in _MARKER.finditer(text):
        end = match.end()
    return None if end is None else text[end:].strip()


_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_ANSWER_KEYS = ("final_answer", "answer")


def _answer_in_json(text: str) -> str | None:
    """Return the ``final_answer`` or ``answer`` of a JSON object, bare or in the last code fence that holds one."""
    candidates = [text.strip(), *(match.group(1).strip() for match in reversed(list(_FENCE.finditer(text))))]
    for candidate in candidates:
        if not candidate.startswith("{"):
            continue
        try:
            data: Any = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        for key in _ANSWER_KEYS:
            if isinstance(data, dict) and key in data:
                return text_of(data[key]) or ""
    return None


_BOXED = re.compile(r"\\boxed\s*\{")
_TEXT_MACRO = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")


def _boxed(text: str) -> str | None:
    """Return what the last ``\\boxed{…}`` with balanced braces holds."""
    matches = list(_BOXED.finditer(text))
    if not matches:
        return None
    # One pass over all braces, as the cost must not grow with the number of boxes.
    begins = {match.end() - 1 for match in matches}
    open_braces: list[int] = []
    ends: dict[int, int] = {}
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        brace = match.group()
        if brace == "{":
            open_braces.append(match.start())
        elif brace == "}" and open_braces:
            ends[open_braces.pop()] = match.start()
    closed = [begin for begin in begins if begin in ends]
    if not closed:
        return None
    begin = max(closed)
    return _TEXT_MACRO.sub(r"\1", text[begin + 1 : ends[begin]])


_WRAPPINGS = (
    *(("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("```", "```"), ("`", "`"), ("$$", "$$"), ("$", "$")),
    *(('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"), ("「", "」"), ("『", "』")),
)


def _unwrapped(text: str) -> str:
    """Return a text without the white space, emphasis, quotes and code ticks around it."""
    text = text.strip()
    changed = True
    while changed:
        changed = False
        for begin, end in _WRAPPINGS:
            inner = text[len(begin) : len(text) - len(end)]
            # What stands inside as well is no wrapping: `"a" or "b"`.
            if len(text) > len(begin) + len(end) and text.startswith(begin) and text.endswith(end) and end not in inner:
                text, changed = inner.strip(), True
                break
    # The emphasis of `**Final answer: 25**` began before the marker.
    return text.strip("*` \t\r\n") or text


def final_answer(text: str) -> str:
    """Return the final answer that an output states.

    First what follows the last closing reasoning tag is taken. Of that, the first that applies: the value of
    ``final_answer`` or ``answer`` of a JSON object, bare or in a code fence; the last ``\\boxed{…}``; the text after
    the last ``Final answer:`` or, at the start of a line, ``Answer:``; all of it. White space, emphasis, quotes
    and code ticks around it are dropped.
    """
    rest = after_reasoning(text)
    for find in (_answer_in_json, _boxed, after_marker):
        found = find(rest)
        if found is not None:
            return _unwrapped(found)
    return _unwrapped(rest)
