"""`python -m truth [--seed N] [--stores N]`: hold the gate's verdicts against real servers."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from lab.control_plane import PrivateNetwork

from .runs import NO_VERDICT, Outcome, run_store
from .stores import plan_store
from .target import NOT_SERVED, named_keys

# A store keeps a core busy: its two API servers mostly start one after the other.
_AT_ONCE = max(1, os.cpu_count() or 1)
_ALARMS_AIM = 1.0


def main() -> int:
    """Run the stores of some seeds; how often the gate was wrong decides on success."""
    seeds = _seeds()
    started = time.monotonic()
    outcomes: list[Outcome] = []
    broken: list[int] = []
    with ProcessPoolExecutor(min(_AT_ONCE, len(seeds))) as pool:
        waiting = {pool.submit(run_seed, seed): seed for seed in seeds}
        for done in as_completed(waiting):
            seed = waiting[done]
            try:
                outcomes.append(done.result())
            except Exception as error:
                broken.append(seed)
                # The cause is the traceback in the other process.
                print(f"seed {seed} could not be judged: {error.__cause__ or error}", flush=True)
            else:
                for line in _told(outcomes[-1], len(outcomes) + len(broken), len(seeds)):
                    print(line, flush=True)
    for line in summarise(outcomes, broken, time.monotonic() - started):
        print(line)
    return 1 if broken or any(one.false_safe for one in outcomes) else 0


def run_seed(seed: int) -> Outcome:
    """One store, in a process of its own."""
    return run_store(plan_store(seed), network=PrivateNetwork())


def _seeds() -> Sequence[int]:
    parser = argparse.ArgumentParser(prog="python -m truth", description=__doc__)
    parser.add_argument("--seed", type=int, help="the first seed, by itself the only one")
    parser.add_argument("--stores", type=int, help="how many, from the first seed on (20)")
    given = parser.parse_args()
    first = 1 if given.seed is None else given.seed
    count = given.stores or (20 if given.seed is None else 1)
    return range(first, first + count)


def _told(outcome: Outcome, number: int, of: int) -> Iterable[str]:
    """A store in one line; in more where the gate was wrong."""
    unreadable = len(outcome.reading.unreadable)
    true = f"{unreadable} of {outcome.reading.keys} keys unreadable" if unreadable else "readable"
    wrong = next((name for name, found in _wrong(outcome) if found), "")
    marked = f"  <== {wrong}" if wrong else ""
    yield (
        f"[{number}/{of}] {outcome.store}: said {outcome.safe}, {true}"
        f" ({outcome.seconds:.0f} s){marked}"
    )
    if wrong or outcome.safe == NO_VERDICT:
        yield from (f"      {line}" for line in _details(outcome))


def _wrong(outcome: Outcome) -> Iterable[tuple[str, bool]]:
    yield "FALSE SAFE", outcome.false_safe
    yield "overlooked", bool(outcome.overlooked)
    yield "false alarm", outcome.false_alarm


def _details(outcome: Outcome) -> Iterable[str]:
    yield from (f"found {check} {about}".rstrip() for check, about in outcome.stops[:10])
    yield from (f"overlooked {key}" for key in outcome.overlooked)
    if outcome.message:
        yield outcome.message
    yield from named_keys(outcome.reading)


def summarise(outcomes: Sequence[Outcome], broken: Sequence[int], seconds: float) -> list[str]:
    """The table at the end."""
    audited = [one for one in outcomes if one.store.audited]
    sound = [one for one in audited if one.readable]
    alarms = [one for one in audited if one.false_alarm]
    share = f"{100 * len(alarms) / len(sound):.1f}% of {len(sound)}" if sound else "of 0"

    def said(word: str) -> int:
        return sum(1 for one in outcomes if one.safe == word)

    def seeds(found: Iterable[Outcome]) -> str:
        return ", ".join(str(one.store.seed) for one in found)

    safes = [one for one in outcomes if one.false_safe]
    overlooked = [one for one in outcomes if one.overlooked]
    unserved = [one for one in outcomes if one.unserved_alarm]
    stranded = [
        one for one in outcomes if any(why == NOT_SERVED for why in one.reading.unreadable.values())
    ]
    each = seconds / len(outcomes) if outcomes else 0
    rows = [
        ("stores", len(outcomes), f"{each:.1f} s each, {seconds:.0f} s in all"),
        ("could not be judged", len(broken), ", ".join(map(str, broken))),
        ("said safe: true", said("true"), ""),
        ("said safe: false", said("false"), ""),
        ("said safe: unknown", said("unknown"), ""),
        ("gave no verdict", said(NO_VERDICT), ""),
        ("truly readable", sum(1 for one in outcomes if one.readable), ""),
        ("truly unreadable", sum(1 for one in outcomes if not one.readable), ""),
        ("false safes", len(safes), seeds(safes) or "must be 0"),
        ("overlooked a key", len(overlooked), seeds(overlooked)),
        ("audited", len(audited), f"{len(sound)} of them readable"),
        ("false alarms among audited", len(alarms), f"{share} readable (aim {_ALARMS_AIM:g}%)"),
        ("", "", seeds(alarms)),
        ("stopped for unserved kinds", len(unserved), "readable all the same"),
        ("with keys that no API serves", len(stranded), "counted as unreadable"),
    ]
    shown = (f"{name:30}{value:>6}  {note}".rstrip() for name, value, note in rows)
    return ["", *filter(None, shown)]


if __name__ == "__main__":
    sys.exit(main())
