"""`python -m bench [NAME]...`: measure all figures, or some."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from . import audit, discovery, migration, million, preflight, roll, upgrade
from .figures import MEASUREMENTS, Figure, show, write

# Importing them registers what they measure.
MODULES = (discovery, audit, migration, preflight, roll, upgrade, million)

FIGURES = Path("build/bench/figures.json")


def main() -> int:
    """Measure, keep and show."""
    chosen = sys.argv[1:] or [name for name in MEASUREMENTS if name not in million.NAMES]
    unknown = [name for name in chosen if name not in MEASUREMENTS]
    if unknown:
        known = ", ".join(MEASUREMENTS)
        print(f"bench: no figure {', '.join(unknown)}; there are {known}", file=sys.stderr)
        return 2
    migration.WANTED.update(chosen)
    figures = []
    # One measurement may give several figures, and must run only once.
    for measurement in dict.fromkeys(MEASUREMENTS[name] for name in chosen):
        figures += [_marked(figure) for figure in measurement() if figure.name in chosen]
    write(_with_earlier(figures), FIGURES)
    show(figures)
    print(f"{len(figures)} figures are in {FIGURES}")
    return 0


def _marked(figure: Figure) -> Figure:
    """With fewer objects or rounds than it asks for it must not pass for the real one."""
    changed = sorted(name for name in os.environ if name.startswith("LOCKSTEP_BENCH_"))
    if not changed:
        return figure
    settings = ", ".join(f"{name}={os.environ[name]}" for name in changed)
    return replace(figure, how=f"A TRIAL with {settings}: {figure.how}")


def _with_earlier(figures: Iterable[Figure]) -> list[Figure]:
    """Those of earlier runs stay until they are measured anew."""
    earlier = json.loads(FIGURES.read_text()) if FIGURES.exists() else []
    found = {one["name"]: Figure(**one) for one in earlier}
    found.update({figure.name: figure for figure in figures})
    return [found[name] for name in MEASUREMENTS if name in found]


if __name__ == "__main__":
    sys.exit(main())
