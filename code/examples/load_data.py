"""Load a release with nothing but the standard library: print its counts and the first question."""

import argparse
import json
from pathlib import Path
from typing import Any


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--release-root",
        type=Path,
        default=Path(__file__).resolve().parents[2],
        help="folder that holds data/ (default: this checkout, whose data is a synthetic stand-in)",
    )
    data = parser.parse_args().release_root / "data"
    documents = read_jsonl(data / "documents.jsonl")
    single_doc = read_jsonl(data / "qa_single_doc.jsonl")
    cross_doc = read_jsonl(data / "qa_cross_doc.jsonl")
    print(f"documents: {len(documents)}")
    print(f"single_doc: {len(single_doc)}")
    print(f"cross_doc: {len(cross_doc)}")
    # ASCII escapes: the line prints on any terminal.
    print(f"first question: {json.dumps(single_doc[0])}")


if __name__ == "__main__":
    main()
