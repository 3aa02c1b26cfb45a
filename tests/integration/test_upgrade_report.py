"""The report on an upgrade: written whenever a run ends, and it says how."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.upgrade import Cluster, rollable, said

OLD, NEW = "1.36.3", "1.37.0"


def words(page: Path) -> str:
    """What somebody reads on it."""
    text = re.sub(r"<(style|script)>.*?</\1>", "", page.read_text(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.replace("<wbr>", ""))).split())


def headline(page: Path) -> str:
    [found] = re.findall(r"<h1[^>]*>(.*?)</h1>", page.read_text())
    return html.unescape(found)


@pytest.fixture(scope="module")
def untouched(network: PrivateNetwork) -> Iterator[Cluster]:
    """A server that no test changes."""
    with control_plane(ServerSpec(release=OLD), network=network) as plane, rollable(plane) as one:
        yield one


def test_a_run_that_stops_says_where_and_the_next_one_that_it_is_verified(
    cluster: Cluster, tmp_path: Path
) -> None:
    # given a server whose new release will not start
    page = tmp_path / "report.html"
    report = {"upgrade_report_path": str(page), "lockstep_cluster_name": "prod-eu"}
    first = cluster.plane.servers["cp-1"]
    sound = first.spec
    first.spec = replace(sound, arguments=["--no-such-flag"])

    # when
    done = cluster.upgrade(NEW, **report)

    # then the report says where it stopped and why, what is true now, and how to go back
    assert done.returncode != 0
    assert headline(page) == "Stopped at cp-1", said(done)
    told = words(page)
    now, before = told.index("What is true now"), told.index("What was found before")
    assert told.index("prod-eu") < now < before
    assert f"v{OLD} to v{NEW}" in told[:now]
    assert re.search(r"Ended at 20\d\d-\d\d-\d\dT", told[:now])
    assert f"cp-2 ({cluster.plane.servers['cp-2'].url}) runs v{OLD}" in told[now:before]
    assert re.search(r"etcd was saved to \S+:/\S+\.db", told[now:before])
    assert page.stat().st_mode & 0o777 == 0o600

    # and once it is mended, the same command ends with the proof
    first.spec = sound
    again = cluster.upgrade(NEW, **report)
    assert again.returncode == 0, said(again)
    assert headline(page) == "Upgraded and verified"
    assert f"cp-1 ({first.url}) runs v{NEW}" in words(page)

    # and one more run changes nothing, and still leaves a report
    page.unlink()
    third = cluster.upgrade(NEW, **report)
    assert not re.search(r"changed=[1-9]", third.stdout), third.stdout
    assert headline(page) == "Verified, and nothing was left to upgrade"


@pytest.mark.parametrize(
    ("release", "options", "told"),
    [
        ("1.38.0", [], "more than one minor release up"),
        ("", [], "give the release to go to with all three numbers"),
        (NEW, ["--skip-tags", "preflight,pre-migrate"], "This run has not judged"),
    ],
    ids=["two minors", "none", "not judged"],
)
def test_a_run_that_stops_before_it_has_touched_anything_leaves_a_report(
    untouched: Cluster, tmp_path: Path, release: str, options: list[str], told: str
) -> None:
    page = tmp_path / "report.html"

    done = untouched.upgrade(release, *options, upgrade_report_path=str(page))

    assert done.returncode != 0
    assert headline(page).startswith("Stopped before")
    assert told in words(page)
    assert "What was found before" not in words(page)


def test_a_host_that_can_not_be_reached_is_in_the_report(
    untouched: Cluster, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    inventory = untouched.inventory.read_text()
    untouched.inventory.write_text(
        inventory.replace('"cp-1": {', '"cp-1": {"ansible_connection": "ssh", "ansible_port": 1, ')
    )
    try:
        done = untouched.upgrade(NEW, upgrade_report_path=str(page))
    finally:
        untouched.inventory.write_text(inventory)

    assert done.returncode != 0
    assert page.exists(), said(done)
    assert headline(page) == "Stopped before anything was touched"
    assert "cp-1 can't be reached" in words(page)


def test_check_mode_says_that_nothing_was_changed(untouched: Cluster, tmp_path: Path) -> None:
    page = tmp_path / "report.html"

    done = untouched.upgrade(NEW, "--check", upgrade_report_path=str(page))

    assert done.returncode == 0, said(done)
    assert headline(page) == "Checked only, nothing was changed"
    assert f"runs v{OLD}" in words(page)


@pytest.mark.parametrize("playbook", ["upgrade_snapshot", "upgrade_verify"])
@pytest.mark.parametrize("mode", ["rolling", "coordinated"])
def test_a_part_of_an_upgrade_never_says_that_all_was_done(
    untouched: Cluster, tmp_path: Path, playbook: str, mode: str
) -> None:
    page = tmp_path / "report.html"

    untouched.upgrade(NEW, playbook=playbook, upgrade_mode=mode, upgrade_report_path=str(page))

    assert headline(page).startswith(("Ended, and not verified", "Verified what", "Stopped in"))
    assert f"runs v{OLD}" in words(page)
