"""A server that died with SIGKILL: its lease lives for an hour, and its records must not suffer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.recorder import UNKNOWN, Recorder

MAPS, CLASSES = "configmaps", "deviceclasses.resource.k8s.io"
WINDOW = 24
EVERY = 3.0


@pytest.fixture
def recorded(network: PrivateNetwork) -> Iterator[Recorder]:
    """Two servers, asked through the first; what is stored of two resources is known."""
    with control_plane(ServerSpec(), ServerSpec(), network=network) as plane:
        recorder = Recorder(plane, through="cp-1")
        recorder.install()
        look(recorder)
        recorder.vouch(MAPS)
        yield recorder


def look(recorder: Recorder, **options: Any) -> Any:
    return recorder.observe(MAPS, CLASSES, stale_after=WINDOW, **options)


def look_for(recorder: Recorder, seconds: float) -> list[Any]:
    """Look again and again for so long; what each look came to."""
    end = time.monotonic() + seconds
    seen = []
    while time.monotonic() < end:
        seen.append(look(recorder))
        time.sleep(EVERY)
    return seen


def test_it_is_missed_for_several_windows_and_the_records_stand(recorded: Recorder) -> None:
    # Given a record that is known, one that is not, and a migration that somebody wants.
    before = {name: recorded.persisted(name) for name in (MAPS, CLASSES)}
    recorded.migrate_by_hand(MAPS, name="by-hand")
    look(recorded)

    # When a server dies, and is missed for three windows.
    recorded.plane.servers["cp-2"].kill()
    seen = look_for(recorded, 3 * WINDOW)

    # Then no look adds anything, nothing is due or deleted, and it is said who is missed.
    assert {one["states"][MAPS]["change"] for one in seen} <= {"kept", "missed"}
    assert {name: recorded.persisted(name) for name in (MAPS, CLASSES)} == before
    assert [one["due"] + one["superseded"] for one in seen] == [[]] * len(seen)
    assert list(recorded.migrations()) == ["by-hand"]
    last = seen[-1]["states"][MAPS]
    assert (last["change"], last["stale"], last["migrated"]) == ("kept", False, True)
    assert "cp-2" in str(last["evidence"]["missed"])
    assert "Not seen: cp-2" in str(seen[-1]["summary"])
    assert "name it in gone_servers" in str(seen[-1]["notes"])
    refused = recorded.try_to_migrate(CLASSES, stale_after=WINDOW)
    assert "not known to agree" in refused["msg"]

    # When somebody vouches for its death.
    vouched = look(recorded, gone_servers=["cp-2"])

    # Then the mark is gone, and what was unknown can be migrated.
    assert vouched["states"][MAPS]["evidence"]["missed"] == []
    assert vouched["due"] == [CLASSES]


def test_one_whose_process_nobody_had_seen_makes_the_records_unknown(recorded: Recorder) -> None:
    # Given a server that was started anew, and died before anybody looked.
    recorded.plane.servers["cp-2"].restart()
    recorded.plane.servers["cp-2"].kill()

    # When it is missed for longer than a window.
    seen = look_for(recorded, WINDOW + 2 * EVERY)

    # Then it may have written anything.
    assert UNKNOWN in recorded.persisted(MAPS)
    assert "kept" not in {one["states"][MAPS]["change"] for one in seen}
