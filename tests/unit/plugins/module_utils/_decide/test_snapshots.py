# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a snapshot is whole, whether there is room for it, and what is said of it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.snapshots import (
    Digest,
    Disk,
    Snapshot,
    compare_counts,
    foretell,
    last_words,
    require_room,
    require_whole,
)

MEGABYTE = 1_000_000


def passed(pieces):
    digest = Digest()
    for piece in pieces:
        digest.add(piece)
    return digest


class TestDigest:
    @given(st.lists(st.binary(max_size=100)))
    def test_bytes_with_their_digest_behind_them_are_sound_however_they_are_cut(self, pieces):
        content = b"".join(pieces)
        tail = hashlib.sha256(content).digest()

        digest = passed([*pieces, tail[:5], tail[5:]])

        assert digest.sound
        assert digest.size == len(content) + 32
        assert digest.of_file == hashlib.sha256(content + tail).hexdigest()

    @given(st.binary(min_size=1, max_size=200), st.data())
    def test_a_single_bit_that_was_flipped_is_seen(self, content, data):
        whole = bytearray(content + hashlib.sha256(content).digest())
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))

        assert not passed([bytes(whole)]).sound

    @given(st.binary(max_size=200), st.integers(1, 232))
    def test_bytes_that_are_missing_at_the_end_are_seen(self, content, missing):
        whole = content + hashlib.sha256(content).digest()

        assert not passed([whole[: max(len(whole) - missing, 0)]]).sound

    def test_nothing_at_all_is_not_sound(self):
        assert not Digest().sound


class TestRoom:
    def test_a_file_needs_its_own_size(self):
        require_room(MEGABYTE, file=Disk("/a", 1, MEGABYTE + 32), scratch=None)
        with pytest.raises(LockstepError, match="no room for the snapshot in /a") as told:
            require_room(MEGABYTE, file=Disk("/a", 1, MEGABYTE + 31), scratch=None)

        assert "path" in told.value.remedy
        assert "scratch" not in told.value.remedy

    def test_a_restore_on_the_same_disk_comes_on_top(self):
        disk = Disk("/a", 1, 300 * MEGABYTE)

        require_room(50 * MEGABYTE, file=disk, scratch=disk)
        with pytest.raises(LockstepError, match=r"434\.2 MB are needed there, and 300\.0 MB") as no:
            require_room(100 * MEGABYTE, file=disk, scratch=disk)

        assert "verify=digest" in no.value.remedy

    def test_a_restore_on_another_disk_needs_its_room_there(self):
        file, scratch = Disk("/a", 1, 101 * MEGABYTE), Disk("/b", 2, 300 * MEGABYTE)

        with pytest.raises(LockstepError, match="in /b"):
            require_room(100 * MEGABYTE, file=file, scratch=scratch)
        require_room(80 * MEGABYTE, file=file, scratch=scratch)


class TestOtherEtcds:
    def test_what_another_etcd_holds_stops_it_and_is_named(self):
        with pytest.raises(LockstepError, match="keep events and leases in another") as refusal:
            require_whole(("events", "leases"), allow_partial=False)

        assert "allow_partial" in refusal.value.remedy

    def test_it_goes_on_if_nothing_is_kept_elsewhere_or_somebody_knows(self):
        require_whole((), allow_partial=False)
        require_whole(("events",), allow_partial=True)

    def test_the_summary_says_what_is_not_in_the_file(self):
        saved = Snapshot(
            path="/b/etcd.db",
            size=5,
            revision=7,
            keys=3,
            verified="restore",
            digest="d",
            endpoint="https://a:2379",
            seconds=1,
            not_held=("events",),
        ).to_dict()

        assert saved["not_held"] == ["events"]
        assert "It does NOT hold events" in saved["summary"][-1]


def test_counts_that_differ_are_told_with_the_revision():
    compare_counts(restored=7, live=7, revision=12)
    with pytest.raises(LockstepError, match="has 7 keys at revision 12, and etcd had 8 then"):
        compare_counts(restored=7, live=8, revision=12)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "nothing"),
        ("one\ntwo\n\n", "two"),
        ("Error: no such file\nUsage:\n  etcdutl\n", "Error: no such file"),
        ('{"level":"fatal","msg":"it failed","error":"no room"}\n', "it failed: no room"),
        ('{"level":"fatal"}', '{"level":"fatal"}'),
        ("[1]", "[1]"),
        ("x" * 400, f"{'x' * 300}..."),
    ],
)
def test_of_a_log_only_its_point_is_told(log, said):
    assert last_words(log) == said


def saved(**fields):
    values = {
        "path": "/backups/etcd.db",
        "size": 2 * MEGABYTE,
        "revision": 12,
        "keys": None,
        "verified": "digest",
        "digest": "abc",
        "endpoint": "https://a:2379",
        "seconds": 1.234,
    }
    return Snapshot(**{**values, **fields}).to_dict()


class TestSummary:
    def test_the_verdict_comes_first(self):
        told = saved(verified="restore", keys=7)

        assert told["summary"][0].startswith("verified: ")
        assert "7 keys at revision 12" in told["summary"][0]
        assert "/backups/etcd.db: 2.0 MB of https://a:2379, in 1.2 s" in told["summary"][1]
        assert told["keys"] == 7

    @pytest.mark.parametrize(
        ("verified", "verdict"), [("digest", "digest only: "), ("none", "not verified: ")]
    )
    def test_what_was_not_restored_is_not_called_verified(self, verified, verdict):
        told = saved(verified=verified)

        assert told["summary"][0].startswith(verdict)
        assert told["summary"][-1].startswith("To do: restore it")
        assert "keys" not in told

    def test_what_would_be_done_is_told(self):
        wish = {"path": "/a/b.db", "size": MEGABYTE, "endpoint": "https://a:2379"}

        there = foretell(**wish, directory_exists=True, verify="restore")
        not_there = foretell(**wish, directory_exists=False, verify="none")

        assert there[0] == "would be taken: 1.0 MB of https://a:2379."
        assert "count its keys" in there[1]
        assert "left unverified" in not_there[1]
        assert not_there[2].startswith("To do: create the directory")
