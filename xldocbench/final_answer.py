"""Where does an output end its reasoning and state its answer? Pure functions of one text."""

from __future__ import annotations

import re

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
