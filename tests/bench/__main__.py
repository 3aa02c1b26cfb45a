"""`python -m bench [NAME]`: measure all figures, or one."""

from __future__ import annotations

import sys
from pathlib import Path

from . import audit, discovery
from .figures import MEASUREMENTS, show, write

# Importing them registers what they measure.
MODULES = (discovery, audit)

FIGURES = Path("build/bench/figures.json")


def main() -> int:
    """Measure, keep and show."""
    chosen = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in chosen if name not in MEASUREMENTS]
    if unknown:
        known = ", ".join(MEASUREMENTS)
        print(f"bench: no figure {', '.join(unknown)}; there are {known}", file=sys.stderr)
        return 2
    figures = []
    # One measurement may give several figures, and must run only once.
    for measurement in dict.fromkeys(MEASUREMENTS[name] for name in chosen):
        figures += [figure for figure in measurement() if figure.name in chosen]
    write(figures, FIGURES)
    show(figures)
    print(f"{len(figures)} figures are in {FIGURES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
