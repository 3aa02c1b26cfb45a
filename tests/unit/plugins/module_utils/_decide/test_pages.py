# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages: every key once, in order, in requests that etcd need not count far for."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    KeyRange,
    below,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.pages import (
    PageWalk,
    list_limit,
)


class Store:
    """Answers as etcd does: the first keys of a range, and how many there are in it."""

    def __init__(self, keys, size=1000):
        self.keys, self.size = sorted(set(keys)), size
        self.asked, self.counted = 0, 0

    def walk(self, whole, page_size):
        walk, read = PageWalk(whole, page_size=page_size), []
        while ask := walk.ask():
            assert whole.start <= ask.keys.start < ask.keys.end <= whole.end
            assert 0 < ask.limit <= page_size
            start = bisect_left(self.keys, ask.keys.start)
            stop = bisect_left(self.keys, ask.keys.end)
            page = self.keys[start : min(stop, start + ask.limit)]
            self.asked += 1
            self.counted += stop - start
            read += page
            walk.took(
                first=page[0] if page else b"",
                last=page[-1] if page else b"",
                keys=len(page),
                size=len(page) * self.size,
                count=stop - start,
            )
        return read


@given(
    st.lists(st.binary(max_size=6).map(lambda rest: b"/r/" + rest), max_size=200),
    st.integers(min_value=1, max_value=20),
)
def test_every_key_comes_once_and_in_order(keys, page_size):
    store = Store(keys)
    assert store.walk(below(b"/r/"), page_size) == store.keys
    # Each request brings a page, or leaves a range, of which there are few.
    assert store.asked <= 3 * len(store.keys) + 30


@given(
    st.lists(st.sampled_from([b"\xff", b"a", b"/", b"\x00"]), max_size=5).map(b"".join),
    st.integers(min_value=1, max_value=3),
)
def test_a_range_of_any_bytes_ends(rest, page_size):
    store = Store([b"/r/" + rest + bytes([number]) for number in range(0, 256, 7)])
    assert store.walk(below(b"/r/"), page_size) == store.keys


def test_an_empty_range_is_not_asked_for():
    assert PageWalk(KeyRange(b"b", b"b"), page_size=10).ask() is None


def cluster(objects):
    """A store with one large directory, many namespaces, and small resources before and after."""
    for number in range(objects):
        yield b"/registry/example.com/widgets/widget-%06d" % number
        yield b"/registry/configmaps/team-%03d/object-%06d" % (number % 300, number)
    for resource in (b"apples", b"pods", b"secrets", b"zebras"):
        yield from (b"/registry/%s/default/x-%d" % (resource, number) for number in range(50))


def test_etcd_counts_little_more_than_it_reads_however_large_the_store_is():
    for objects in (5_000, 50_000):
        store = Store(cluster(objects))
        read = store.walk(below(b"/registry/"), 1000)
        assert read == store.keys
        assert store.asked < 1.5 * len(store.keys) / 1000 + 40
        assert store.counted < 20 * len(store.keys)


def test_a_small_store_is_read_in_few_requests():
    store = Store(cluster(100))
    store.walk(below(b"/registry/"), 5000)
    assert store.asked <= 3


def test_pages_of_large_objects_are_smaller():
    walk = PageWalk(below(b"/r/"), page_size=5000)
    walk.took(first=b"/r/a", last=b"/r/b", keys=256, size=256 * 1_000_000, count=5000)
    assert walk.ask().limit == 3
    walk.took(first=b"/r/c", last=b"/r/d", keys=3, size=300, count=4744)
    assert walk.ask().limit == 12


def test_a_page_that_was_too_large_is_asked_for_again_with_fewer_keys():
    walk = PageWalk(below(b"/r/"), page_size=64)
    before = walk.ask()
    assert walk.too_large()
    assert walk.ask().keys == before.keys
    assert walk.ask().limit == 8
    assert walk.too_large()
    assert not walk.too_large()


def gone_over(objects, size=300):
    """How many objects a server goes over for a whole list, in pages as they are asked for."""
    limit, left, total = 500, objects, 0
    while left > 0:
        total += left
        names = min(limit, left)
        left -= names
        limit = list_limit(left=left, names=names, size=names * size)
    return total


def test_what_a_server_goes_over_for_each_object_does_not_grow_with_the_list():
    # In pages of 500 it would be 1000, and twice that for twice as many.
    assert gone_over(1_000_000) / 1_000_000 < 200


def test_a_short_list_comes_in_pages_as_kubectl_asks_for():
    assert list_limit(left=9_500, names=500, size=150_000) == 500


def test_a_page_of_large_objects_grows_only_as_far_as_it_fits():
    assert list_limit(left=10**6, names=500, size=500 * 2_000) < 2_000
    assert list_limit(left=10**6, names=500, size=500 * 900_000) == 500


def test_a_page_in_which_nothing_came_does_not_end_the_list():
    assert list_limit(left=10**6, names=0, size=120) == 500
