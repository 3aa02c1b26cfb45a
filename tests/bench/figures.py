"""Figures: what was measured, what was aimed at, and how."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One measured figure."""

    name: str
    value: float
    unit: str
    aim: float
    better: Literal["higher", "lower"]
    how: str

    @property
    def reached(self) -> bool:
        return self.value >= self.aim if self.better == "higher" else self.value <= self.aim


Measurement = Callable[[], Iterable[Figure]]
MEASUREMENTS: dict[str, Measurement] = {}


def measures(*names: str) -> Callable[[Measurement], Measurement]:
    """Register a function that measures the figures of these names."""

    def register(measurement: Measurement) -> Measurement:
        for name in names:
            MEASUREMENTS[name] = measurement
        return measurement

    return register


def write(figures: list[Figure], path: Path) -> None:
    """Keep the figures for other programs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")


def show(figures: list[Figure]) -> None:
    """Print the figures against their aims."""
    table = Table("figure", "value", "aim", "reached", "how", title="Figures")
    for figure in figures:
        sign = ">=" if figure.better == "higher" else "<="
        table.add_row(
            figure.name,
            f"{figure.value:.2f} {figure.unit}",
            f"{sign} {figure.aim:g}",
            "yes" if figure.reached else "NO",
            figure.how,
        )
    Console().print(table)
