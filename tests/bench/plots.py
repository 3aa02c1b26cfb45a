"""`python -m bench.plots`: the page of figures and its plots, from what was measured last."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from .__main__ import FIGURES
from .figures import Figure
from .migration import RATES

PAGE = Path("docs/reference/figures.md")
IMAGES = Path("docs/images")
OURS = "direct"

_WIDTH, _LEFT, _RIGHT = 760, 250, 70
_BAR, _GAP, _TOP, _BOTTOM = 22, 12, 46, 20
# Both are read on light and on dark pages.
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#777}"
    ".title{font-weight:600;font-size:15px}"
    ".ours{fill:#2f81f7}.other{fill:#8b949e}.round{fill:#d29922}"
)
_PAGE = """# Figures

`make bench` measures them, `make bench-million` those of a million objects, and `make figures` writes this page
from the result. Ratios come from runs that take turns in one go, so another machine should come to about the same.
These were measured on {day} on {machine}.

{plots}

Bars show the best round, dots every round.

| figure | value | aim | reached | how |
|---|---|---|---|---|
{rows}
"""  # noqa: E501


def main() -> int:
    """Write the page and the plots."""
    if not FIGURES.exists():
        print("bench: nothing was measured yet: run make bench", file=sys.stderr)
        return 1
    figures = [Figure(**one) for one in json.loads(FIGURES.read_text())]
    plots = _draw_all(json.loads(RATES.read_text()) if RATES.exists() else {})
    PAGE.write_text(_page(figures, plots))
    print(f"{PAGE} holds {len(figures)} figures and {len(plots)} plots")
    return 0


def _draw_all(measured: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """One plot for each release of the server; by the name of its file, what it shows."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    plots = {}
    for release, run in sorted(measured.items()):
        rates = run["rates"]
        assert isinstance(rates, dict)
        title = f"Objects rewritten in a second, {run['objects']} of 1 KB, server {release}"
        file = IMAGES / f"migration-speed-{release}.svg"
        file.write_text(draw_bars(title, rates))
        plots[file.name] = title
    return plots


def draw_bars(title: str, rates: Mapping[str, Sequence[float]]) -> str:
    """Horizontal bars as long as the best of each, with a dot for every round."""
    ordered = sorted(rates.items(), key=lambda item: -max(item[1]))
    longest = max(max(each) for each in rates.values())
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    height = _TOP + len(ordered) * (_BAR + _GAP) + _BOTTOM
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="0" y="18">{escape(title)}</text>',
    ]
    for number, (name, each) in enumerate(ordered):
        lines += _bar(name, each, _TOP + number * (_BAR + _GAP), scale)
    return "\n".join([*lines, "</svg>", ""])


def _bar(name: str, rates: Sequence[float], top: int, scale: float) -> list[str]:
    middle = top + _BAR / 2
    length, kind = max(rates) * scale, "ours" if name == OURS else "other"
    dots = [
        f'<circle class="round" cx="{_LEFT + rate * scale:.1f}" cy="{middle}" r="3"/>'
        for rate in rates
    ]
    return [
        f'<text x="{_LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>',
        f'<rect class="{kind}" x="{_LEFT}" y="{top}" width="{length:.1f}" height="{_BAR}"/>',
        *dots,
        f'<text x="{_LEFT + length + 8:.1f}" y="{middle + 4}">{max(rates):.0f}</text>',
    ]


def _page(figures: Sequence[Figure], plots: Mapping[str, str]) -> str:
    return _PAGE.format(
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=_machine(),
        plots="\n\n".join(f"![{title}](../images/{name})" for name, title in plots.items()),
        rows="\n".join(_row(figure) for figure in figures),
    )


def _row(figure: Figure) -> str:
    sign = "≥" if figure.better == "higher" else "≤"
    how = figure.how.replace("|", "\\|")
    reached = "yes" if figure.reached else "**no**"
    value = f"{figure.value:.3g} {figure.unit}"
    return f"| `{figure.name}` | {value} | {sign} {figure.aim:.3g} | {reached} | {how} |"


def _machine() -> str:
    """What the figures were measured on."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{os.cpu_count()} cores of {model}, which the servers and all clients share"


if __name__ == "__main__":
    sys.exit(main())
