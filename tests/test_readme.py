"""The README says what is so: its commands, its tables and its outputs are compared with the real ones."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run
from xldocbench import extract_number
from xldocbench.audit import FLAGS
from xldocbench.evaluate import ROW_COLUMNS, RULES

README = (ROOT / "README.md").read_text(encoding="utf-8")


def _table(header: str) -> list[list[str]]:
    """Return the rows of the table that begins with the given header row."""
    lines = README[README.index(header) :].splitlines()[2:]
    end = next(index for index, line in enumerate([*lines, ""]) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def test_the_first_command_prints_what_stands_below_it(run: Run) -> None:
    match = re.search(r"```console\n\$ python (.*?)\n(.*?)```", README, flags=re.DOTALL)
    assert match is not None
    result = run(*shlex.split(match.group(1)), cwd=ROOT)
    assert (result.stdout.decode(), result.stderr) == (match.group(2), b"")


def test_the_commands_for_several_systems_print_what_stands_below_them(run: Run, tmp_path: Path) -> None:
    section = README[README.index("## Several systems") :]
    match = re.search(r"```console\n\$ python (.*?)\n(.*?)\n\$ python (.*?)\n(.*?)```", section, flags=re.DOTALL)
    assert match is not None
    for command, expected in ((match.group(1), f"{match.group(2)}\n"), (match.group(3), match.group(4))):
        script, *arguments = shlex.split(command)
        result = run(str(ROOT / script), *arguments, cwd=tmp_path)
        assert (result.returncode, result.stdout.decode()) == (0, expected)
    assert len(list((tmp_path / "reports").iterdir())) == 13


@pytest.mark.parametrize("heading", ["## See why", "## Error bars and the signature", "## Is it better?"])
def test_a_command_on_the_reference_systems_prints_what_stands_below_it(run: Run, tmp_path: Path, heading: str) -> None:
    section = README[README.index(heading) :]
    match = re.search(r"```console\n\$ python (.*?)\n(.*?)```", section, flags=re.DOTALL)
    assert match is not None
    run(str(ROOT / "code" / "reference_systems.py"), "--output-dir", "runs", cwd=tmp_path)
    arguments = shlex.split(re.sub(r"(?<!\S)code/", f"{ROOT}/code/", match.group(1)))
    result = run(*arguments, cwd=tmp_path, PYTHONIOENCODING="utf-8")
    assert (result.returncode, result.stdout.decode()) == (0, match.group(2))


def test_the_python_example_gives_what_stands_below_it() -> None:
    match = re.search(r"```python\n(.*?)\n\n(.*?)\n# (.*?)\n```", README, flags=re.DOTALL)
    assert match is not None
    scope: dict[str, object] = {}
    exec(match.group(1), scope)
    assert repr(eval(match.group(2), scope)) == match.group(3)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"## Tests\n\n```sh\n(.*?)\n```", README)
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_table_of_reference_systems_is_that_of_the_summary() -> None:
    summary = json.loads((ROOT / "results" / "summary.json").read_bytes())
    assert _table("| system | accuracy | token F1 | ANLS |") == [
        [row["system"].replace("_", " "), *(f"{row[metric]:.2%}" for metric in ("accuracy", "token_f1", "anls"))]
        for row in summary["systems"]
    ]


def test_the_table_of_rule_codes_is_complete() -> None:
    assert _table("| rule | accuracy | meaning |") == [
        [f"`{code}`", f"{rule.accuracy:.0f}", rule.meaning] for code, rule in RULES.items()
    ]


def test_every_option_that_is_named_exists(run: Run) -> None:
    commands = [f"xldocbench.{name}" for name in ("evaluate", "compare", "audit", "quickstart")]
    helps = [run("-m", command, "--help").stdout.decode() for command in commands]
    helps += [run("-m", "xldocbench.release", name, "--help").stdout.decode() for name in ("fetch", "parity")]
    scripts = (
        ROOT / "code" / name for name in ("benchmark.py", "reference_systems.py", "examples/score_with_spark.py")
    )
    text = "".join([*helps, *(path.read_text(encoding="utf-8") for path in scripts)])
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) <= set(re.findall(r"--[a-z][a-z-]+", text))


def test_every_producer_has_its_command() -> None:
    rows = _table("| your file | the command (`evaluate` stands for `python -m xldocbench.evaluate`) |")
    files = " ".join(row[0] for row in rows)
    for producer in (
        "OpenAI",
        "Anthropic",
        "Gemini",
        "Vertex",
        "Bedrock",
        "lm-evaluation-harness",
        "lmms-eval",
        "Inspect",
    ):
        assert producer in files


def test_the_table_of_flags_is_complete() -> None:
    assert _table("| flag | may be | raised when |") == [
        [f"`{code}`", flag.direction, flag.meaning] for code, flag in FLAGS.items()
    ]


def test_the_measured_flags_are_what_the_script_prints() -> None:
    from measure_audit import reference_table

    assert "\n".join(reference_table()) in README


def test_the_columns_of_a_row_are_named_in_order() -> None:
    sentence = README[README.index("A row holds") : README.index("`--per-question-csv rows.csv`")]
    names = [name for name in re.findall(r"`(\w+)`", sentence) if name != "missing"]
    assert tuple(names) == ROW_COLUMNS


@pytest.mark.parametrize("columns", [(0, 1), (3, 4)])
def test_the_table_of_numerals_is_right(columns: tuple[int, int]) -> None:
    rows = _table("| written | read as | | written | read as |")
    assert len(rows) == 12
    for row in rows:
        written = re.findall(r"`(.*?)`", row[columns[0]])
        stated = [None if part == "no number" else float(part) for part in row[columns[1]].split(", ")]
        assert [extract_number(text) for text in written] == stated * (len(written) if len(stated) == 1 else 1)


def test_exit_codes_are_those_of_the_help(run: Run) -> None:
    text = run("-m", "xldocbench.evaluate", "--help").stdout.decode().partition("exit codes:")[2]
    codes = [row[0] for row in _table("| code | meaning |")]
    assert codes == re.findall(r"(?:^|\s{2,})(\d+) ", text)


def test_local_links_lead_somewhere() -> None:
    anchors = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", README, re.M)
    }
    assert set(re.findall(r"\]\(#(.*?)\)", README)) <= anchors
