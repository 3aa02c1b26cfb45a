"""Run every static check and say what each looked at; one that looked at nothing has failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGE = Path(".stage/ansible_collections/lockstep/kubernetes")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Check:
    """One tool's run. `looked_at` finds in its output how many things it judged."""

    name: str
    command: tuple[str, ...]
    looked_at: Callable[[str], int]
    things: str
    directory: Path = ROOT


def number(pattern: str) -> Callable[[str], int]:
    """The number that the tool itself reports."""

    def find(output: str) -> int:
        found = re.search(pattern, output)
        return int(found[1]) if found else 0

    return find


def occurrences(pattern: str) -> Callable[[str], int]:
    """How often the tool announced a piece of its work."""
    return lambda output: len(re.findall(pattern, output, re.MULTILINE))


def files(*patterns: str) -> Callable[[str], int]:
    """For a tool that is silent when all is well: the files that it had to read."""
    return lambda _output: sum(len(list(ROOT.glob(pattern))) for pattern in patterns)


def lines_of(*command: str) -> Callable[[str], int]:
    """For a tool that lists what it reads when asked."""
    return lambda _output: len(subprocess.check_output(command, cwd=ROOT).splitlines())


CHECKS = (
    Check(
        "ruff check",
        ("ruff", "check", "--output-format=concise"),
        lines_of("ruff", "check", "--show-files"),
        "files",
    ),
    Check(
        "ruff format",
        ("ruff", "format", "--check", "--diff"),
        number(r"(\d+) files? already formatted"),
        "files",
    ),
    Check("mypy --strict", ("mypy",), number(r"found in (\d+) source files?"), "files"),
    Check(
        "antsibull-changelog",
        ("antsibull-changelog", "lint"),
        files("changelogs/fragments/*.y*ml"),
        "fragments",
    ),
    Check(
        "antsibull-docs",
        (
            "antsibull-docs",
            "lint-collection-docs",
            "--plugin-docs",
            "--validate-collection-refs=dependent",
            ".",
        ),
        files(
            "plugins/modules/*.py",
            "plugins/filter/*.y*ml",
            "plugins/test/*.y*ml",
            "roles/*/meta/argument_specs.yml",
        ),
        "documented plugins and roles",
    ),
    Check(
        "ansible-lint",
        ("ansible-lint", "--offline", "--profile=production", "--nocolor"),
        number(r"in (\d+) files processed"),
        "files",
    ),
    Check(
        "ansible-test sanity",
        ("ansible-test", "sanity", "--python", PYTHON, "--color", "no"),
        occurrences(r"^Running sanity test "),
        "tests",
        ROOT / STAGE,
    ),
)

# The random name of antsibull-docs' directory, which reads as a link if it ends in an underscore.
UNLUCKY = 'Unknown target name: "antsibull-docs-'


def main(only: list[str]) -> int:
    let_ansible_test_have_pip()
    chosen = [check for check in CHECKS if not only or any(word in check.name for word in only)]
    if not chosen:
        print(f"No check is named {' or '.join(only)}.")
        return 1
    # Two at a time, the longest ones first; each is told as soon as it is done.
    with ThreadPoolExecutor(2) as pool:
        runs = as_completed([pool.submit(run, check) for check in reversed(chosen)])
        failed = [done.check.name for done in (one.result() for one in runs) if not passed(done)]
    if failed:
        print(f"\nFailed: {', '.join(failed)}")
    return bool(failed)


def execute(check: Check) -> subprocess.CompletedProcess[str]:
    """Run it, and keep what it prints."""
    return subprocess.run(
        check.command,
        cwd=check.directory,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": ceiling()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@dataclass(frozen=True)
class Run:
    """A check that was run."""

    check: Check
    code: int
    printed: str
    seconds: float


def run(check: Check) -> Run:
    """Run one check, once more if it was only unlucky."""
    started = time.monotonic()
    done = execute(check)
    if UNLUCKY in done.stdout:
        done = execute(check)
    return Run(check, done.returncode, done.stdout, time.monotonic() - started)


def passed(done: Run) -> bool:
    """Tell how a check went; its output is shown only if there is something to mend."""
    check = done.check
    count = 0 if "All targets skipped" in done.printed else check.looked_at(done.printed)
    if done.code:
        verdict = "FAILED"
    elif not count:
        verdict = f"FAILED: checked no {check.things}"
    else:
        verdict = f"{count} {check.things}"
    print(f"{check.name:20} {verdict:40} {done.seconds:6.1f} s", flush=True)
    if done.code or not count:
        # Tools that see the staged copy should still name the file to edit.
        print(done.printed.replace(f"{ROOT / STAGE}/", "").replace(f"{STAGE}/", ""))
        return False
    return True


def ceiling() -> str:
    """Keeps antsibull-docs from taking the venv's collections for git-ignored files."""
    return str(Path(sysconfig.get_path("purelib")).parents[2])


def let_ansible_test_have_pip() -> None:
    """Its own pip comes from a site that is often out of reach; Python's bundled one does."""
    target = Path.home() / ".ansible/test/cache/get_pip_24_2.py"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
