"""The page of the role report: what it says of a verdict, and what it never says."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report import render_report

ONE, TWO, THREE = (f"https://192.0.2.{number}:6443" for number in (1, 2, 3))

MIGRATION = {
    "summary": ["migrated: 2 resources migrated."],
    "totals": {"listed": 310, "rewritten": 300, "failed": 0, "seconds": 30.0},
    "resources": {
        "widgets.example.com": {
            "status": "succeeded",
            "listed": 310,
            "rewritten": 300,
            "seconds": 30.0,
            "rate": 10.3,
            "verified": True,
        },
        "ingresses.networking.k8s.io": {"status": "succeeded", "rewritten": None},
    },
}


class Reader(HTMLParser):
    """The text of a page by the tag and class that it stands in, and all addresses in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.cells: list[list[str]] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")
        if tag not in ("meta", "input", "wbr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            return
        self.text.append(data)
        if "td" in self._open or "th" in self._open:
            self.cells[-1][-1] += data

    def close(self) -> None:
        super().close()
        assert self._open == []

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.text))

    def row(self, head: str) -> list[str]:
        """The cells of the first row whose head begins so."""
        rows = ([" ".join(cell.split()) for cell in row] for row in self.cells)
        return next(row for row in rows if row[0].startswith(head))


def read(*verdicts: Any, migration: Any = None, outcome: Any = None) -> Reader:
    reader = Reader(render_report(list(verdicts), migration, outcome))
    reader.close()
    return reader


def verdict(safe: str = "true", **told: Any) -> dict[str, Any]:
    return {
        "safe": safe,
        "passed": safe == "true",
        "from_release": "v1.36.3",
        "to_release": "v1.37.0",
        "rollback_release": "v1.36.3",
        **told,
    }


def finding(check: str = "stored-unknown", **told: Any) -> dict[str, Any]:
    return {"check": check, "severity": "block", "seen": "it is so", "remedy": "do this", **told}


class TestVerdict:
    @pytest.mark.parametrize(
        ("safe", "said"),
        [
            ("true", "Safe"),
            ("false", "Not safe"),
            ("unknown", "Not known to be safe"),
            (True, "Safe"),
            (False, "Not safe"),
            ("perhaps", "Not known to be safe"),
        ],
    )
    def test_comes_first_in_words(self, safe: Any, said: str) -> None:
        page = render_report([verdict(safe)])
        main = re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", "", page.split("<main>")[1]))

        assert main.strip().startswith(f"{said} v1.36.3 → v1.37.0, back to v1.36.3")

    def test_that_an_acknowledged_unknown_goes_on_does_not_make_it_safe(self) -> None:
        known = finding(severity="acknowledgeable", unknown=True, acknowledged="we know")
        words = read(verdict("unknown", passed=True, findings=[known])).words

        assert "Not known to be safe" in words
        assert "1 finding was acknowledged. That does not make it safe." in words
        assert "What stops it" not in words
        assert "Acknowledged: we know" in words

    def test_without_a_word_that_it_passed_it_does_not_go_on(self) -> None:
        document = {"safe": "unknown", "summary": ["not known to be safe", "pods: who knows"]}
        words = read(document).words

        assert "The step must not go on." in words
        assert "pods: who knows" in words

    def test_many_clusters_are_counted_and_named(self) -> None:
        named = [verdict(safe, cluster=f"site-{safe}") for safe in ("true", "unknown", "false")]
        page = read(*named, verdict())

        assert "4 clusters: 1 not safe, 1 not known to be safe, 2 safe" in page.words
        assert page.words.index("site-false") < page.words.index("Cluster 4")
        assert page.addresses == [f"#cluster-{number}" for number in (1, 2, 3, 4)]


class TestReasons:
    def test_come_with_remedies_and_what_is_known_before_what_is_unknown(self) -> None:
        findings = [
            finding("stored-unknown", unknown=True, remedy="read etcd"),
            finding("agreement", resource="pods", seen="they differ", remedy="roll on"),
            finding("unseen-change", severity="warn", seen="restarted"),
        ]
        words = read(verdict("false", findings=findings)).words
        stops = words[words.index("What stops it") : words.index("What servers write")]

        assert "2 findings stop it" in words
        assert stops.index("roll on") < stops.index("read etcd")
        assert "pods: they differ" in stops
        assert "restarted" not in stops

    def test_come_with_their_commands_the_first_of_many_in_full(self) -> None:
        findings = [finding(resource=f"r{n}", command=f"migrate r{n}") for n in range(20)]
        words = read(verdict("false", findings=findings)).words

        assert "migrate r0" in words
        assert "migrate r19" not in words
        assert "more like these" in words

    def test_of_the_same_kind_are_put_together_and_none_is_left_out(self) -> None:
        findings = [finding(resource=f"r{number}", seen=f"r{number}.") for number in range(70)]
        words = read(verdict("false", findings=findings)).words

        assert "65 more of the same" in words
        assert all(f" r{number}." in words for number in range(70))
        # Once among the reasons, and once among the checks.
        assert words.count("do this") == 2


class TestMatrix:
    @staticmethod
    def resource(**told: Any) -> dict[str, Any]:
        return {"stored": ["apps/v1"], "evidence": "etcd", **told}

    def row(self, **told: Any) -> list[str]:
        resources = {"deployments.apps": self.resource(**told)}
        return read(verdict(resources=resources)).row("deployments.apps")

    def test_odd_one_out_is_marked(self) -> None:
        encodings = {ONE: "apps/v1", TWO: "apps/v1", THREE: "apps/v1beta2"}
        head, *cells = self.row(agreed=False, encodings=encodings)

        assert head == "deployments.apps≠ servers disagree"
        assert cells[:3] == ["apps/v1", "apps/v1", "≠ apps/v1beta2 differs"]

    def test_of_two_that_differ_both_are_marked(self) -> None:
        cells = self.row(encodings={ONE: "apps/v1", TWO: "apps/v1beta2"})

        assert cells[1:3] == ["≠ apps/v1 differs", "≠ apps/v1beta2 differs"]

    def test_server_that_did_not_answer_is_not_passed_over(self) -> None:
        resources = {"pods": self.resource(encodings={ONE: "v1"}, agreed=False)}
        servers = [{"address": one, "release": "v1.36.3"} for one in (ONE, TWO)]
        row = read(verdict(resources=resources, servers=servers)).row("pods")

        assert row[:3] == ["pods≠ no agreement", "v1", "not seen"]

    @pytest.mark.parametrize("told", [None, "", "unknown", "maybe", "True", 1, [], "yes"])
    def test_only_a_plain_true_is_a_yes(self, told: Any) -> None:
        cells = self.row(decodable_by_target=told, decodable_by_rollback=told, must_migrate=told)

        assert cells[3:6] == ["? unknown", "? unknown", "? unknown"]

    def test_what_is_stored_must_be_known_for_a_yes(self) -> None:
        cells = self.row(
            stored=["Unknown", "apps/v1"], decodable_by_target="true", decodable_by_rollback="true"
        )

        assert cells[2] == "? Unknown, apps/v1 etcd"
        assert cells[3:5] == ["? unknown", "? unknown"]

    def test_answers_are_words_and_a_no_says_what_could_be_read(self) -> None:
        cells = self.row(
            decodable_by_target="false",
            target_decodes=["apps/v2"],
            decodable_by_rollback="true",
            must_migrate=True,
            objects=1240,
        )

        assert cells[3:] == ["✕ noreads apps/v2", "✓ yes", "! yes", "1,240"]

    def test_what_is_to_migrate_is_counted_as_far_as_it_is_known(self) -> None:
        due = {"must_migrate": True}
        resources = {
            "a": self.resource(objects=5, **due),
            "b": self.resource(objects=None, **due),
            "c": self.resource(objects=7, must_migrate=False),
        }

        assert "at least 5 objects" in read(verdict(resources=resources)).words

    def test_what_needs_somebody_stands_first(self) -> None:
        good = {"decodable_by_target": "true", "decodable_by_rollback": "true"}
        resources = {
            "a": self.resource(must_migrate=False, **good),
            "b": self.resource(),
            "c": self.resource(**{**good, "decodable_by_target": "false"}),
        }
        page = read(verdict(resources=resources))

        assert [row[0] for row in page.cells[1:]] == ["c", "b", "a"]


class TestChecks:
    def test_result_is_never_better_than_what_was_found(self) -> None:
        checks = {
            "agreement": {"title": "All write alike", "result": "passed"},
            "skew": {"title": "One release at once", "result": "splendid"},
            "webhooks": {"title": "Webhooks pass", "result": "not run"},
            "etcd": {"title": "etcd is well", "result": "passed"},
        }
        page = read(verdict("false", findings=[finding("agreement")], checks=checks))

        assert page.row("All write alike")[1] == "✕ failed"
        assert page.row("One release")[1] == "? unknown"
        assert page.row("Webhooks pass")[2] == "it did not run"
        assert page.row("etcd is well")[1:] == ["✓ passed", "nothing found"]

    def test_finding_of_a_check_that_is_not_listed_is_shown(self) -> None:
        assert read(verdict("false", findings=[finding("new")])).row("new")[1] == "✕ failed"


class TestMigration:
    def test_has_counts_and_rates_and_says_what_nobody_told(self) -> None:
        page = read(verdict(), migration=MIGRATION)

        assert "migrated: 2 resources migrated." in page.words
        assert page.row("widgets")[1:4] == ["✓ succeeded", "310", "300"]
        assert page.row("widgets")[7:] == ["30.0", "10.3", "✓ yes"]
        assert page.row("ingresses")[3] == "not told"
        assert page.row("ingresses")[-1] == "? unknown"

    def test_is_drawn_over_time_where_there_are_samples(self) -> None:
        samples = [[0, 0], [10, 50], ["x", 3], [float("nan"), 4], [20, 100]]
        page = render_report([verdict()], {**MIGRATION, "progress_samples": samples})

        assert 'points="0.0,240.0 500.0,120.0 1000.0,0.0"' in page
        assert "100 objects done within 20.0 seconds" in page

    @pytest.mark.parametrize("samples", [None, [], [[1, 1]], [[0, 0], [0, 9]], [[0, 0], [5, 0]], 7])
    def test_is_not_drawn_where_there_are_too_few(self, samples: Any) -> None:
        page = render_report([verdict()], {**MIGRATION, "progress_samples": samples})

        assert "<polyline" not in page

    def test_bars_are_as_long_as_their_share(self) -> None:
        resources = {f"r{number}": {"rewritten": number} for number in range(20)}
        page = render_report([verdict()], {"resources": resources})

        assert re.findall(r'class="bar" width="([\d.]+)"', page)[:2] == ["100.0", "94.74"]
        assert "4 more are in the table" in page

    def test_is_left_out_where_there_was_none(self) -> None:
        assert "The migration" not in read(verdict(), migration={}).words


class TestWrongInput:
    @pytest.mark.parametrize(
        ("verdicts", "said"),
        [
            (None, "report_verdicts can't be reported. it is empty, not a list."),
            ({}, "report_verdicts can't be reported. it is a dictionary, not a list."),
            ([], "it is an empty list"),
            (["safe"], "report_verdicts[0] can't be reported. it is a text"),
            ([verdict(), {"msg": "no route"}], "report_verdicts[1]"),
            ([{"msg": "no route"}], "the task said: no route"),
            ([verdict(findings={})], "report_verdicts[0].findings"),
            ([verdict(resources={"pods": 5})], "pods is a number, not a dictionary"),
        ],
    )
    def test_verdicts_are_named(self, verdicts: Any, said: str) -> None:
        with pytest.raises(LockstepError, match=re.escape(said)) as raised:
            render_report(verdicts)
        assert "lockstep.kubernetes.upgrade_gate" in str(raised.value)

    @pytest.mark.parametrize("migration", [[1], "done", {"failed": True, "msg": "no"}])
    def test_migration_is_named(self, migration: Any) -> None:
        with pytest.raises(LockstepError, match="report_migration can't be reported") as raised:
            render_report([verdict()], migration)
        assert "lockstep.kubernetes.storage_migration" in str(raised.value)


class TestSelfContained:
    def test_names_no_address_but_its_own(self) -> None:
        page = render_report([verdict(cluster="a"), verdict()], MIGRATION)

        assert Reader(page).addresses == ["#cluster-1", "#cluster-2"]
        assert "://" not in page
        assert not re.search(r"@import|url\(", page)
        assert "default-src 'none'" in page
        assert "unsafe" not in page

    @given(
        text=st.one_of(
            st.sampled_from(["<script>alert(1)</script>", '"><img src=x onerror=y>', "</style>"]),
            st.text(max_size=20),
        )
    )
    def test_data_stays_text(self, text: str) -> None:
        one = {"stored": [text], "evidence": text, "origin": text, "encodings": {text: text}}
        checks = {text: {"title": text, "result": text}}
        found = finding(
            text, resource=text, seen=text, remedy=text, command=text, acknowledged=text
        )
        outcome = {"status": text, "backend": text, "reason": text, "notes": [text]}
        documents = {"resources": {text: one}, "findings": [found], "checks": checks}
        migration = {"summary": [text], "resources": {text: outcome}, "left_out": {text: text}}

        # Reading it fails if a tag is opened or closed by what should be text.
        page = read(verdict("false", cluster=text, **documents), migration=migration)

        assert page.tags.count("script") == 1
        assert page.tags.count("style") == 1
        assert "img" not in page.tags
        assert page.addresses == []


def ended(state: str = "done", headline: str = "Upgraded and verified", **told: Any) -> Any:
    return {"state": state, "headline": headline, **told}


class TestOutcome:
    """The report on a run: how it ended and what is true now come before what was found first."""

    def test_the_headline_says_how_it_ended_and_not_what_was_found_before(self) -> None:
        page = render_report([verdict("unknown")], None, ended(cluster="prod-eu"))
        assert "<title>Upgraded and verified: prod-eu" in page
        assert re.findall(r"<h1[^>]*>([^<]*)", page) == ["Upgraded and verified"]

    def test_what_is_true_now_stands_before_what_was_found_before(self) -> None:
        words = read(verdict("unknown"), outcome=ended(now=["verified."])).words
        now, before = words.index("What is true now"), words.index("What was found before")
        assert now < words.index("verified.", now) < before < words.index("Not known to be safe")

    def test_a_run_that_stopped_before_any_verdict_is_told_too(self) -> None:
        told = ended("stopped", "Stopped at cp-2", reason="it did not start", at="2026-11-17")
        words = read(outcome=told).words
        assert "Stopped at cp-2" in words
        assert "it did not start" in words
        assert "Ended at 2026-11-17" in words
        assert "What was found before" not in words

    def test_hosts_are_named_with_what_they_run_now(self) -> None:
        servers = {
            "cp-1": {"address": ONE, "release": "v1.37.0", "emulated_version": "1.36"},
            "cp-2": {"address": TWO, "release": "", "fault": "connection refused"},
        }
        resources = {"pods": {"encodings": {ONE: "v1"}, "stored": ["v1"]}}
        page = read(verdict(resources=resources), outcome=ended(servers=servers))
        assert f"cp-1 ({ONE}) runs v1.37.0 and emulates 1.36" in page.words
        assert f"cp-2 ({TWO}) runs what nobody could see: connection refused" in page.words
        assert page.row("Resource")[1].startswith("cp-1")

    def test_the_snapshot_and_what_to_do_next_are_told(self) -> None:
        told = ended(snapshot="cp-1:/var/etcd.db", commands={"To roll back:": "ansible-playbook x"})
        words = read(outcome=told).words
        assert "etcd was saved to cp-1:/var/etcd.db" in words
        assert "To roll back: ansible-playbook x" in words

    @pytest.mark.parametrize(
        "told",
        ["done", {"state": "perhaps", "headline": "x"}, {"state": "done"}, {"headline": "x"}],
    )
    def test_an_outcome_that_is_none_is_refused(self, told: Any) -> None:
        with pytest.raises(LockstepError, match="report_outcome"):
            render_report([], None, told)


def test_what_deletes_data_is_folded_and_marked() -> None:
    lost = finding(remedy="Restore it", command="save", destructive_command="delete")
    words = read(verdict("false", findings=[lost])).words
    assert words.index("save") < words.index("As a last resort, which deletes data delete")


def test_r14_every_resource_of_a_finding_on_many_is_named() -> None:
    many = [f"things{number}.example.com" for number in range(69)]
    page = read(verdict("unknown", findings=[finding(seen="etcd was not read", resources=many)]))
    assert "All 69 resources" in page.words
    assert all(name in page.words for name in many)
