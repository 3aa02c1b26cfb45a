# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each check of stored data finds."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    parse_catalogue,
    parse_catalogues,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks import (
    CHECKS,
    IDS,
    find_all,
    join_findings,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    AuditFacts,
    CrdFacts,
    Facts,
    ListFacts,
    SampleFacts,
    Step,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.commands import (
    EtcdLogin,
    Terms,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import Epoch
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.flags import (
    ApiFlags,
    shows_feature,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import Finding
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    MigrationKey,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    EtcdMember,
    EtcdSight,
    Release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    Evidence,
    StorageState,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    DeploymentSight,
    find_trigger,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import NOW, three_servers

THINGS = "deployments.apps"
WIDGETS = "widgets.example.com"
REVISION = 7


def line(release, encoding, decodable, name=THINGS, emulated="", defaults=None):
    storage_hash = hash_of(group_version=f"apps/{encoding}", kind="Deployment")
    return (
        f"release {release}\nemulated {emulated}\nhow by hand\nwhen now\n"
        f"{name}|Deployment|namespaced|{storage_hash}|{encoding}|{encoding}|{decodable}"
        f"|{encoding if defaults is None else defaults}|{encoding}\n"
    )


# 1.36 writes v1beta1 and reads both; 1.37 writes v1 and reads both; 1.38 has forgotten v1beta1.
KNOWN = parse_catalogues(
    "\n".join(
        (
            line("v1.35.0", "v1alpha1", "v1alpha1 v1beta1"),
            line("v1.36.0", "v1beta1", "v1beta1 v1"),
            line("v1.36.0", "v1beta1", "v1beta1 v1", emulated="1.35"),
            line("v1.37.0", "v1", "v1beta1 v1"),
            line("v1.38.0", "v1", "v1"),
            line("v1.39.0", "v1", "v1", name="replicasets.apps"),
        )
    )
)


def audit(**more):
    """An audit that read everything and found nothing worth a word."""
    names = ("versions", "bytes", "encryption", "undecodable", "unmapped")
    nothing = {name: {} for name in names}
    given = {"keys": {THINGS: 2, WIDGETS: 2}, "revision": REVISION, "complete": True, **more}
    return AuditFacts(**nothing | given)


def listed(objects=2, **more):
    return {"lists": {THINGS: ListFacts(objects=objects, **{"revision": REVISION, **more})}}


def hashed(version):
    return hash_of(group_version=version, kind="Deployment")


def facts(*stored, writes="apps/v1", frm="v1.37.0", to="v1.38.0", age=10, **more):
    """A cluster of two servers that write a version, with these versions in its record."""
    encodings = (writes, writes) if isinstance(writes, str) else writes
    sight = three_servers(THINGS, *encodings)
    membership = decide_membership(sight)
    agreements = decide_agreement(sight=sight, membership=membership)
    states = {}
    if stored:
        hashes = tuple(one if one == "Unknown" else hashed(one) for one in stored)
        states[THINGS] = StorageState(
            THINGS,
            persisted=hashes,
            current=hashes[-1],
            heartbeat=NOW - timedelta(seconds=age),
            evidence=Evidence(source="observed", time=NOW, unseen=more.pop("unseen", ())),
        )
    step = Step(frm, to, frm, KNOWN.find(to), KNOWN.find(frm), KNOWN.find(frm))
    asked = {
        **listed(),
        "audit": audit(),
        "snapshot": NOW,
        "crds": {},
        "migrations": (),
        "formula_holds": True,
        "window": timedelta(seconds=600),
        **more,
    }
    return Facts(
        step=step, catalogue=KNOWN, look=Look(sight, membership, agreements), states=states, **asked
    )


def found(seen, check):
    return [one for one in find_all(seen) if one.check == check]


def ids(seen):
    return {one.check for one in find_all(seen) if one.check != "skew"}


def test_what_is_stored_as_the_target_reads_it_raises_nothing():
    assert ids(facts("apps/v1")) == set()


def test_an_old_version_that_the_target_cant_read_is_cured_by_a_migration():
    (one,) = found(facts("apps/v1beta1", "apps/v1"), "stored-undecodable")
    assert one.severity == "block"
    assert one.cured_by == "migration"
    assert "apps/v1beta1" in one.seen
    assert "lockstep.kubernetes.migrate" in one.command


def test_what_even_the_servers_write_cant_be_migrated_away():
    seen = facts("apps/v1beta1", writes="apps/v1beta1", frm="v1.37.0")
    (one,) = found(seen, "stored-undecodable")
    assert one.cured_by == "operator"
    assert one.command == ""
    assert one.destructive_command.startswith("kubectl get deployments.apps")


def test_without_objects_it_only_warns():
    seen = facts("apps/v1beta1", writes="apps/v1beta1", **listed(0))
    assert found(seen, "stored-undecodable")[0].severity == "warn"


def test_a_rollback_that_would_strand_data_offers_the_way_down():
    seen = facts("apps/v1", frm="v1.36.0", to="v1.35.0")
    (one,) = found(seen, "stored-undecodable")
    assert "--emulated-version=1.35" in one.remedy


def test_a_rollback_without_a_way_down_says_so():
    seen = facts("apps/v1alpha1", writes="apps/v1alpha1", frm="v1.37.0", to="v1.36.0")
    (one,) = found(seen, "stored-undecodable")
    assert "Save the objects and delete them" in one.remedy
    assert one.command == ""
    assert one.destructive_command.startswith("kubectl get deployments.apps")


def test_what_the_target_writes_must_be_readable_by_those_still_old():
    seen = facts("apps/v1beta1", writes="apps/v1beta1", frm="v1.35.0", to="v1.37.0")
    (one,) = found(seen, "target-writes")
    assert "v1.37.0 writes deployments.apps as apps/v1" in one.seen
    assert "coordinated" in one.remedy


@pytest.mark.parametrize(
    ("stored", "more", "words"),
    [
        ((), {}, "nothing is recorded"),
        (("Unknown",), {}, "not known in which versions"),
        (("apps/v1",), {"age": 700}, "stale"),
        (("apps/v7",), {"formula_holds": False}, "not known in which versions"),
    ],
)
def test_what_is_not_known_is_found_and_cured_by_an_audit(stored, more, words):
    (one,) = found(facts(*stored, **more), "stored-unknown")
    assert one.unknown
    assert one.cured_by == "audit"
    assert words in one.seen


class TestTogether:
    """What many resources have in common is told once, and each of them is still named (R14)."""

    def unknown(self, *names, cause="not recorded", **more):
        return [
            Finding(
                "stored-unknown",
                "acknowledgeable",
                f"nothing is known of {name}",
                "read etcd",
                "audit",
                resource=name,
                command="one",
                unknown=True,
                cause=cause,
                **more,
            )
            for name in names
        ]

    def test_without_etcd_one_finding_names_all_resources_and_has_one_command(self):
        every = [f"r{number}" for number in range(69)]
        (one,) = join_findings(facts(audit=None), self.unknown(*every))
        assert one.resource == ""
        assert one.about == tuple(every)
        assert one.seen == (
            "etcd was not read, and nothing else tells in which versions 69 resources may be stored"
            " (69 not recorded): r0, r1, r2, r3, r4 and 64 more"
        )
        assert one.command.count("ansible-playbook") == 1
        assert '"r68"' in one.command
        assert (one.unknown, one.stops, one.cured_by) == (True, True, "audit")

    def test_all_of_them_are_migrated_without_naming_each(self):
        (one,) = join_findings(facts(audit=None), self.unknown(THINGS, THINGS))
        assert one.command == "ansible-playbook lockstep.kubernetes.migrate"

    def test_events_which_are_never_migrated_are_told_apart_and_left_out_of_the_command(self):
        events = self.unknown("events", "events.events.k8s.io")
        apart = [replace(one, cured_by="operator", command="") for one in events]
        rest, both = join_findings(facts(audit=None), [*self.unknown("a", "b"), *apart])
        assert "events" not in rest.command
        assert (both.command, both.about) == ("", ("events", "events.events.k8s.io"))
        assert "expire by themselves" in both.remedy

    def test_the_causes_are_counted(self):
        together = [*self.unknown("a"), *self.unknown("b", "c", cause="recorded as Unknown")]
        (one,) = join_findings(facts("apps/v1"), together)
        assert "(1 not recorded and 2 recorded as Unknown)" in one.seen
        assert "etcd was not read" not in one.seen

    @pytest.mark.parametrize(
        "other", [{"acknowledged": "somebody knows"}, {"differs_by_upgrade": True}]
    )
    def test_r8_what_was_acknowledged_or_may_wait_stays_apart(self, other):
        apart = [*self.unknown("a", "b"), *self.unknown("c", "d", **other)]
        first, second = join_findings(facts(audit=None), apart)
        assert (first.about, second.about) == (("a", "b"), ("c", "d"))
        assert (first.stops, first.acknowledged) == (True, "")

    def test_one_alone_is_told_by_itself(self):
        (one,) = found(facts(), "stored-unknown")
        assert join_findings(facts(), [one]) == (one,)

    def test_findings_of_other_checks_are_left_as_they_are(self):
        every = find_all(facts("apps/v1beta1", to="v1.39.0", **listed(fault="broken")))
        assert join_findings(facts(), every) == every


class TestTerms:
    """Remedies name what somebody can set who ran just that."""

    @pytest.mark.parametrize(
        ("asked_by", "words"),
        [
            ("module", "give their results as audit and audited_after"),
            ("preflight", "-e preflight_etcd_host=HOST"),
            ("upgrade", "-e upgrade_etcd_host=HOST"),
        ],
    )
    @pytest.mark.parametrize("check", ["stored-unknown", "keys-unseen"])
    def test_how_to_have_etcd_read(self, check, asked_by, words):
        (one,) = found(facts(audit=None, terms=Terms(asked_by=asked_by)), check)
        assert words in one.remedy

    @pytest.mark.parametrize(
        ("asked_by", "words"),
        [
            ("module", "Name it in gone_servers, or in servers"),
            ("preflight", "Name it in preflight_gone_servers, or in preflight_servers"),
            ("upgrade", "Name it in upgrade_gone_servers, or in lockstep_server of its host"),
        ],
    )
    def test_a_reason_that_knows_of_no_gate_names_what_can_be_set_there(self, asked_by, words):
        terms = Terms(asked_by=asked_by)
        assert terms.translate("Name it in gone_servers, or in servers") == words

    def test_whoever_ran_a_playbook_is_not_sent_to_a_module(self):
        against = Reason("it is older", "Bring the audit up to date (storage_audit with since)")
        seen = facts("apps/v1", audit=audit(against=(against,)), terms=Terms("preflight"))
        (one,) = found(seen, "keys-unseen")
        assert one.remedy == "Run it again, which reads etcd once more"

    @pytest.mark.parametrize(
        ("asked_by", "words"),
        [("module", "Leave the option lists on"), ("preflight", "Leave preflight_lists on")],
    )
    def test_an_option_is_called_what_it_is_there(self, asked_by, words):
        seen = facts("apps/v1", lists=None, terms=Terms(asked_by=asked_by))
        (one,) = found(seen, "list-unreadable")
        assert one.remedy == words


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('kubernetes_feature_enabled{name="Gate",stage="BETA"} 1', True),
        ('kubernetes_feature_enabled{name="Gate",stage="BETA"} 0', False),
        ('kubernetes_feature_enabled{name="OtherGate",stage="BETA"} 1', False),
        ("", False),
    ],
)
def test_a_feature_is_on_only_where_a_server_says_so(line, shown):
    assert shows_feature(f"other 1\n{line}\nmore 1\n", "Gate") is shown


def test_a_hash_that_no_release_encodes_is_unknown_even_if_the_formula_holds():
    assert found(facts("apps/v7", "apps/v1"), "stored-unknown")


def test_servers_that_disagree_block_it():
    (one,) = found(facts("apps/v1", writes=("apps/v1", "apps/v1beta1")), "agreement")
    assert one.severity == "block"
    assert not one.unknown


def rolling(*, other="v1.37.0"):
    """Two servers that differ in the middle of a roll from v1.36.0 to v1.37.0."""
    seen = facts("apps/v1", writes=("apps/v1", "apps/v1beta1"), frm="v1.36.0", to="v1.37.0")
    servers = tuple(
        replace(one, release=Release(release))
        for one, release in zip(seen.look.sight.servers, (other, "v1.36.0"), strict=True)
    )
    look = replace(seen.look, sight=replace(seen.look.sight, servers=servers))
    return replace(seen, look=look, step=replace(seen.step, rolling=True))


@pytest.mark.parametrize("check", ["agreement", "skew"])
def test_servers_that_differ_because_they_are_being_rolled_do_not_stop_the_roll(check):
    (one,) = found(rolling(), check)
    assert one.severity == "warn"
    assert one.remedy == "Roll the servers that are left"


@pytest.mark.parametrize("check", ["agreement", "skew"])
def test_a_server_of_a_third_release_stops_even_a_roll_that_has_begun(check):
    (one,) = found(rolling(other="v1.38.0"), check)
    assert one.severity == "block"


def test_a_release_that_is_not_in_the_catalogue_is_unknown():
    (one,) = found(facts("apps/v1", to="v1.38.0+vendor"), "release-unknown")
    assert one.unknown
    assert "make catalogue" in one.remedy


@pytest.mark.parametrize(
    ("count", "severity", "unknown"),
    [(3, "block", False), (None, "acknowledgeable", True)],
)
def test_objects_of_a_resource_that_the_target_has_not_are_found(count, severity, unknown):
    seen = facts("apps/v1", frm="v1.38.0", to="v1.39.0", **listed(count))
    (one,) = found(seen, "stored-undecodable-removed")
    assert (one.severity, one.unknown) == (severity, unknown)
    assert "the last release with it is v1.38.0" in one.seen


def test_a_resource_that_the_target_has_not_and_nobody_uses_is_fine():
    seen = facts("apps/v1", frm="v1.38.0", to="v1.39.0", **listed(0))
    assert not found(seen, "stored-undecodable-removed")


@pytest.mark.parametrize(
    ("frm", "to", "words"),
    [("v1.36.0", "v1.38.0", "release up"), ("v1.38.0", "v1.36.0", "release back")],
)
def test_more_than_one_minor_release_is_refused(frm, to, words):
    (one,) = found(facts("apps/v1", frm=frm, to=to), "skew")
    assert words in one.seen


@pytest.mark.parametrize(
    ("stored", "severity"), [("apps/v1", "warn"), ("Unknown", "acknowledgeable")]
)
def test_an_unfinished_migration_stops_only_what_is_unknown(stored, severity):
    pending = MigrationSight("m", IN_TREE, THINGS)
    (one,) = found(facts(stored, migrations=(pending,)), "migration-unfinished")
    assert one.severity == severity


def test_a_failed_migration_is_told_with_its_reason():
    failed = MigrationSight("m", IN_TREE, THINGS, phase="failed", message="denied")
    (one,) = found(facts("apps/v1", migrations=(failed,)), "migration-failed")
    assert "denied" in one.seen


def test_migrations_that_cannot_be_listed_leave_it_unknown():
    (one,) = found(facts("apps/v1", unlisted_migrations={IN_TREE: "500"}), "migrations-unlisted")
    assert (one.severity, one.unknown) == ("acknowledgeable", True)
    assert one.resource == f"storageversionmigrations.{IN_TREE}"


def test_migrations_of_the_alpha_api_block_the_way_to_1_35():
    seen = facts("apps/v1", migrations=(MigrationSight("m", IN_TREE, THINGS, phase="succeeded"),))
    step = replace(seen.step, from_release="v1.34.4", to_release="v1.35.4")
    assert found(replace(seen, step=step), "alpha-migrations")
    assert not found(seen, "alpha-migrations")


class TestDefinitions:
    OLD = CrdFacts(
        "widgets.example.com",
        "Widget",
        versions=("example.com/v1", "example.com/v2"),
        storage="example.com/v2",
        stored=("example.com/v1", "example.com/v2"),
    )

    def test_versions_that_may_be_stored_besides_the_storage_version_warn(self):
        (one,) = found(facts("apps/v1", crds={self.OLD.resource: self.OLD}), "crd-stored-versions")
        assert one.severity == "warn"
        assert one.cured_by == "migration"

    def test_objects_in_a_version_that_it_does_not_have_block(self):
        stored = audit(versions={WIDGETS: ("example.com/v0", "example.com/v2")})
        seen = facts("apps/v1", crds={WIDGETS: self.OLD}, audit=stored)
        (one,) = found(seen, "stored-undecodable")
        assert "stored as example.com/v0, which its definition does not have" in one.seen

    def test_a_manifest_that_drops_a_stored_version_blocks(self):
        new = replace(self.OLD, versions=("example.com/v2",), stored=())
        seen = facts(
            "apps/v1", crds={self.OLD.resource: self.OLD}, incoming={self.OLD.resource: new}
        )
        (one,) = found(seen, "crd-manifest-drops-version")
        assert one.severity == "block"
        assert one.cured_by == "migration"

    def test_one_that_drops_even_the_storage_version_needs_another_manifest_first(self):
        new = replace(self.OLD, versions=("example.com/v3",), storage="example.com/v3", stored=())
        seen = facts(
            "apps/v1", crds={self.OLD.resource: self.OLD}, incoming={self.OLD.resource: new}
        )
        (one,) = found(seen, "crd-manifest-drops-version")
        assert one.cured_by == "operator"
        assert "Install first" in one.remedy


class TestConversions:
    CONVERTED = replace(TestDefinitions.OLD, stored=("example.com/v2",), webhook=True)

    def seen(self, *, unconverted=(), **more):
        crd = replace(self.CONVERTED, **more)
        samples = {WIDGETS: SampleFacts(unconverted=unconverted)}
        return facts("apps/v1", crds={WIDGETS: crd}, samples=samples)

    def test_a_webhook_that_does_its_work_raises_nothing(self):
        assert ids(self.seen(ca_expires=NOW + timedelta(days=300))) == set()

    def test_one_that_does_not_convert_blocks_with_the_servers_words(self):
        (one,) = found(
            self.seen(unconverted=(("example.com/v1", "refused"),)), "conversion-webhook"
        )
        assert one.severity == "block"
        assert "can't be read as example.com/v1: refused" in one.seen

    @pytest.mark.parametrize(
        ("days", "severity", "words"),
        [(-1, "block", "expired at"), (3, "warn", "expires at")],
    )
    def test_a_ca_that_is_over_or_soon_is_told(self, days, severity, words):
        (one,) = found(self.seen(ca_expires=NOW + timedelta(days=days)), "conversion-webhook-ca")
        assert one.severity == severity
        assert words in one.seen

    def test_a_ca_that_cant_be_read_is_told(self):
        assert found(self.seen(ca_fault="not PEM"), "conversion-webhook-ca")


class TestLists:
    def test_one_that_cant_be_decoded_blocks_and_names_the_namespace(self):
        seen = facts("apps/v1", **listed(None, fault="no kind", namespaces=("team-a",)))
        (one,) = found(seen, "list-unreadable")
        assert one.severity == "block"
        assert "in the namespace team-a (no kind)" in one.seen

    KEY = "/registry/deployments/team-a/broken"

    def unreadable(self, **more):
        stored = audit(undecodable={THINGS: (self.KEY,)})
        seen = facts("apps/v1", **listed(None, fault="no kind"), audit=stored)
        (one,) = found(replace(seen, **more), "list-unreadable")
        return one

    def test_with_an_audit_the_keys_are_named_and_saved_before_they_are_deleted(self):
        one = self.unreadable()
        save = f"etcdctl get --print-value-only {self.KEY} > registry_deployments_team-a_broken"
        assert self.KEY in one.seen
        assert one.command == save
        assert one.destructive_command == f"{save} && etcdctl del {self.KEY}"

    def test_how_etcd_was_reached_is_filled_in(self):
        login = EtcdLogin(("https://a:1", "https://b:1"), "/ca", "/cert", "/key of etcd")
        one = self.unreadable(terms=Terms(etcd=login))
        assert one.command.startswith(
            "etcdctl --endpoints=https://a:1,https://b:1 --cacert=/ca --cert=/cert"
            " '--key=/key of etcd' get "
        )

    def test_a_server_that_deletes_what_it_cant_read_is_asked_to_in_place_of_etcd(self):
        one = self.unreadable(deletes_unreadable=True, terms=Terms(kubectl="kubectl --context=x"))
        path = "/apis/apps/v1/namespaces/team-a/deployments/broken"
        assert one.destructive_command.endswith(
            f" && kubectl --context=x delete --raw"
            f" '{path}?ignoreStoreReadErrorWithClusterBreakingPotential=true'"
        )
        assert "etcdctl del" not in one.destructive_command

    def test_one_that_may_not_be_read_is_unknown(self):
        seen = facts("apps/v1", **listed(None, fault="403 Forbidden", unknown=True))
        (one,) = found(seen, "list-unreadable")
        assert one.unknown

    def test_r13_objects_in_etcd_that_servers_do_not_show_block(self):
        (one,) = found(facts("apps/v1", **listed(1)), "objects-hidden")
        assert one.severity == "block"
        assert "etcd holds 2 objects of deployments.apps, and the server shows 1" in one.seen

    def test_r13_objects_that_the_audited_etcd_lacks_are_unknown(self):
        (one,) = found(facts("apps/v1", **listed(5)), "objects-hidden")
        assert one.unknown
        assert "show 5 objects of deployments.apps, and the etcd that was read holds 2" in one.seen

    def test_r13_objects_that_etcd_has_none_of_are_unknown(self):
        (one,) = found(facts("apps/v1", audit=audit(keys={})), "objects-hidden")
        assert one.unknown

    @pytest.mark.parametrize(
        "more",
        [
            pytest.param(listed(2, revision=0), id="compacted before it was listed"),
            pytest.param({"audit": audit(keys=None)}, id="compacted while it was read"),
        ],
    )
    def test_r13_what_was_not_counted_at_one_moment_is_unknown(self, more):
        (one,) = found(facts("apps/v1", **more), "objects-hidden")
        assert one.unknown
        assert "since" in one.remedy

    def test_r12_an_audit_that_does_not_count_leaves_keys_unseen(self):
        seen = facts("apps/v1", audit=audit(against=(Reason("it is older", "Audit again"),)))
        (one,) = found(seen, "keys-unseen")
        assert one.unknown
        assert one.seen == "the audit of etcd does not count: it is older"

    def test_lists_that_nobody_read_are_unknown(self):
        (one,) = found(facts("apps/v1", lists=None), "list-unreadable")
        assert one.unknown

    @pytest.mark.parametrize(
        ("stored", "severity"), [("apps/v1", "warn"), ("apps/v1beta1", "acknowledgeable")]
    )
    def test_orphans_stop_only_what_has_to_be_rewritten(self, stored, severity):
        seen = facts(stored, "apps/v1", **listed(orphans=("gone/web",), orphan_count=1))
        (one,) = found(seen, "orphans")
        assert one.severity == severity
        assert one.command == "kubectl create namespace gone"
        assert one.destructive_command == f"{one.command} && kubectl delete namespace gone"

    def test_fields_managed_in_a_version_that_is_not_served_warn(self):
        seen = facts("apps/v1", **listed(unserved_fields=("a/web",), unserved_count=1))
        assert found(seen, "managed-fields")[0].severity == "warn"


class TestWrites:
    @pytest.mark.parametrize(
        ("stored", "severity"), [("apps/v1", "warn"), ("apps/v1beta1", "acknowledgeable")]
    )
    def test_a_refused_rewrite_stops_only_what_has_to_be_rewritten(self, stored, severity):
        samples = {THINGS: SampleFacts(refused=(("a/web", "denied by policy"),))}
        (one,) = found(facts(stored, "apps/v1", samples=samples), "write-refused")
        assert one.severity == severity
        assert "a/web of deployments.apps" in one.seen
        assert "denied by policy" in one.seen

    def test_what_could_not_be_tried_is_said(self):
        samples = {THINGS: SampleFacts(untried="no right to patch")}
        (one,) = found(facts("apps/v1", samples=samples), "write-untried")
        assert one.unknown


class TestEtcd:
    def test_keys_that_nobody_read_are_unknown(self):
        (one,) = found(facts("apps/v1", audit=None), "keys-unseen")
        assert one.unknown
        assert one.cured_by == "audit"

    def test_what_no_server_serves_and_the_target_cant_read_is_found(self):
        stored = {"replicasets.apps": ("apps/v1beta2",)}
        seen = facts("apps/v1", to="v1.39.0", frm="v1.38.0", audit=audit(versions=stored))
        (one,) = found(seen, "stored-unserved")
        assert "replicasets.apps is stored as apps/v1beta2" in one.seen

    def test_what_no_server_serves_is_unknown_even_in_a_version_that_the_target_reads(self):
        stored = {"replicasets.apps": ("apps/v1",)}
        seen = facts("apps/v1", to="v1.39.0", frm="v1.38.0", audit=audit(versions=stored))
        (one,) = found(seen, "stored-unserved")
        assert one.unknown

    def test_keys_of_no_known_resource_are_unknown(self):
        (one,) = found(
            facts("apps/v1", audit=audit(unmapped={"/registry/odd": 2})), "stored-unserved"
        )
        assert one.unknown
        assert "2 keys below /registry/odd" in one.seen

    def test_a_member_that_is_not_well_blocks(self):
        etcd = EtcdSight(faults=("etcd's member a: no leader",), used_bytes=1, quota_bytes=10)
        assert found(facts("apps/v1", audit=audit(etcd=etcd)), "etcd-health")

    @pytest.mark.parametrize(
        ("versions", "severities", "asks"),
        [
            (["3.6.16"] * 3, [], ""),
            (["3.6.8"] * 3, ["acknowledgeable"], "3.6.9"),
            (["3.6.8"], [], ""),
            (["3.4.30"] * 3, ["acknowledgeable"], "3.4.42"),
            (["3.5.27"] * 3, ["acknowledgeable"], "3.5.28"),
            (["3.5.21"] * 3, ["acknowledgeable", "warn"], "3.5.28"),
            (["3.5.21"], ["warn"], "3.5.28"),
            (["3.5.28", "3.5.28", "3.5.26"], ["acknowledgeable"], "3.5.28"),
            (["3.6.16", "3.6.16", ""], [], ""),
        ],
    )
    def test_versions_with_known_bugs_are_named(self, versions, severities, asks):
        members = tuple(
            EtcdMember(f"e{at}", f"https://e{at}:2379", voter=True, version=version)
            for at, version in enumerate(versions)
        )
        etcd = EtcdSight(faults=(), used_bytes=1, quota_bytes=10, members=members)
        told = found(facts("apps/v1", audit=audit(etcd=etcd)), "etcd-version")
        assert [one.severity for one in told] == severities
        assert all(f"to {asks} or newer" in one.remedy for one in told)
        assert all("https://github.com/etcd-io/etcd/issues/" in one.seen for one in told)

    @pytest.mark.parametrize(("used", "blocked"), [(5_000_000, False), (9_500_000, True)])
    def test_a_rewrite_must_fit_into_what_is_left(self, used, blocked):
        etcd = EtcdSight(faults=(), used_bytes=used, quota_bytes=10_000_000)
        seen = audit(etcd=etcd, bytes={THINGS: 1_000_000})
        assert bool(found(facts("apps/v1beta1", "apps/v1", audit=seen), "etcd-quota")) is blocked
        assert not found(facts("apps/v1", audit=seen), "etcd-quota")

    @pytest.mark.parametrize("taken", [None, NOW - timedelta(days=2)])
    def test_no_snapshot_of_late_warns(self, taken):
        assert found(facts("apps/v1", snapshot=taken), "etcd-snapshot")[0].severity == "warn"


KEYS = {"secrets": {"aescbc:v1:key1": 3, "aescbc:v1:key2": 4}}


class TestEncryption:
    def test_objects_under_several_keys_warn(self):
        assert found(facts("apps/v1", audit=audit(encryption=KEYS)), "encryption-mixed")

    @pytest.mark.parametrize("key", ["key1", "aescbc:v1:key1"])
    def test_a_retired_key_that_is_still_needed_blocks(self, key):
        seen = facts("apps/v1", audit=audit(encryption=KEYS), retired_keys=(key,))
        (one,) = found(seen, "encryption-key-needed")
        assert "3 objects of secrets" in one.seen
        assert one.cured_by == "migration"

    def test_a_retired_key_that_nothing_needs_is_fine(self):
        seen = facts("apps/v1", audit=audit(encryption=KEYS), retired_keys=("key3",))
        assert not found(seen, "encryption-key-needed")

    def test_without_an_audit_nobody_knows(self):
        (one,) = found(
            facts("apps/v1", audit=None, retired_keys=("key1",)), "encryption-key-needed"
        )
        assert one.unknown

    @pytest.mark.parametrize(
        ("configs", "severities"),
        [
            ({"a": "x", "b": "x"}, []),
            ({"a": "x", "b": "y"}, ["block"]),
            ({"a": "x", "b": ""}, ["warn"]),
        ],
    )
    def test_servers_must_encrypt_by_one_configuration(self, configs, severities):
        seen = found(facts("apps/v1", encryption_configs=configs), "encryption-config")
        assert [one.severity for one in seen] == severities


def test_another_trigger_blocks_and_the_command_stops_what_was_found():
    runs = DeploymentSight("migration", "the-trigger", programs=("/trigger",))
    trigger = find_trigger("trigger", [runs])
    (one,) = found(facts("apps/v1", foreign_trigger=trigger), "foreign-trigger")
    assert one.severity == "block"
    assert one.command == "kubectl --namespace migration delete deployment the-trigger"


def test_what_nobody_saw_warns():
    (one,) = found(facts("apps/v1", unseen=("server a restarted",)), "unseen-change")
    assert one.severity == "warn"


def test_every_finding_has_an_id_that_is_announced():
    seen = [
        facts(),
        facts("apps/v1beta1", "apps/v1"),
        facts("apps/v1", frm="v1.38.0", to="v1.39.0"),
        facts("apps/v1", writes=("apps/v1", "apps/v1beta1")),
        facts("apps/v1", audit=None, lists=None, snapshot=None),
    ]
    assert {one.check for facts_ in seen for one in find_all(facts_)} <= IDS
    assert set(CHECKS) <= IDS


class TestServing:
    """Whether releases serve what is stored, with this cluster's flags."""

    # 1.38 reads and writes it, and has it off unless it is turned on.
    OFF = KNOWN.with_release(parse_catalogue(line("v1.38.0", "v1", "v1", defaults="")))
    TOLD_NOTHING = KNOWN.with_release(
        parse_catalogue(line("v1.38.0", "v1", "v1").replace("|v1|v1\n", "\n"))
    )

    def seen(self, known=OFF, **more):
        before = facts("apps/v1", **more)
        step = replace(before.step, target=known.find("v1.38.0"))
        return replace(before, step=step, catalogue=known)

    def test_objects_of_what_the_target_has_off_are_named_with_their_count(self):
        (one,) = found(self.seen(flags=ApiFlags()), "target-unserved")
        assert (one.severity, one.unknown, one.resource) == ("acknowledgeable", False, THINGS)
        assert "does not serve deployments.apps with these flags, and 2 objects are" in one.seen
        assert "--runtime-config=apps/v1=true" in one.remedy
        assert one.command == ""
        assert one.destructive_command.startswith("kubectl get deployments.apps")

    def test_a_flag_that_turns_it_on_there_is_enough(self):
        assert not found(self.seen(flags=ApiFlags({"apps/v1": True})), "target-unserved")

    def test_without_objects_there_is_nothing_to_strand(self):
        none = {**listed(objects=0), "audit": audit(keys={})}
        assert not found(self.seen(flags=ApiFlags(), **none), "target-unserved")

    def test_objects_that_only_an_audit_has_counted_are_stranded_as_well(self):
        stored = audit(keys={THINGS: 3})
        (one,) = found(self.seen(flags=ApiFlags(), audit=stored, **listed(0)), "target-unserved")
        assert "3 objects are stored" in one.seen

    def test_without_flags_it_is_not_known(self):
        (one,) = found(self.seen(), "target-unserved")
        assert (one.severity, one.unknown) == ("acknowledgeable", True)
        assert "only with --runtime-config=apps/v1=true" in one.seen
        assert "runtime_config" in one.remedy

    def test_defaults_that_are_not_in_the_catalogue_are_not_known(self):
        (one,) = found(self.seen(self.TOLD_NOTHING), "target-unserved")
        assert (one.unknown, one.resource) == (True, "")
        assert "is not in the catalogue" in one.seen

    def test_what_a_server_of_the_target_serves_already_counts_more_than_any_flag(self):
        before = self.seen(flags=ApiFlags())
        servers = (
            replace(before.look.sight.servers[0], release=Release("v1.38.0")),
            before.look.sight.servers[1],
        )
        look = replace(before.look, sight=replace(before.look.sight, servers=servers))
        assert not found(replace(before, look=look), "target-unserved")

    def test_what_the_target_does_not_serve_it_does_not_write(self):
        # 1.35 can't read v1.
        step = replace(
            facts().step, target=self.OFF.find("v1.38.0"), rollback=KNOWN.find("v1.35.0")
        )
        on, off = ApiFlags({"apps/v1": True}), ApiFlags()
        assert found(replace(self.seen(flags=on), step=step), "target-writes")
        assert not found(replace(self.seen(flags=off), step=step), "target-writes")

    def test_the_release_to_go_back_to_is_held_to_the_same(self):
        before = self.seen(flags=ApiFlags())
        step = replace(before.step, rollback_release="v1.38.0", rollback=before.step.target)
        (one,) = found(replace(before, step=step), "rollback-unserved")
        assert (one.severity, one.unknown) == ("acknowledgeable", False)

    def test_while_servers_are_upgraded_what_a_rollback_would_strand_stops_nothing(self):
        before = self.seen(flags=ApiFlags())
        back = {"rollback_release": "v1.38.0", "rollback": before.step.target}
        step = replace(before.step, rolling=True, **back)
        (one,) = found(replace(before, step=step), "rollback-unserved")
        assert one.severity == "warn"

    def test_what_the_step_turns_on_and_a_rollback_would_strand_is_a_warning(self):
        new = KNOWN.with_release(parse_catalogue(line("v1.38.0", "v1", "v1", name="jobs.batch")))
        old = parse_catalogue(line("v1.37.0", "v1", "v1", name="jobs.batch", defaults=""))
        before = facts("apps/v1", flags=ApiFlags())
        step = replace(before.step, target=new.find("v1.38.0"), rollback=old)
        (one,) = found(replace(before, step=step), "rollback-unserved")
        assert (one.severity, one.resource) == ("warn", "jobs.batch")


def test_finished_migrations_of_ours_are_told_from_those_of_others():
    name = f"storageversionmigrations.{IN_TREE}"
    known = parse_catalogue(line("v1.38.0", "v1", "v1", name=name, defaults=""))
    key = MigrationKey(hashed("apps/v1"), Epoch((), ()), NOW)
    ours = MigrationSight("m", IN_TREE, THINGS, phase="succeeded", created=NOW, key=key)
    foreign = replace(ours, name="n", key=None)

    def one(*migrations):
        before = facts("apps/v1", flags=ApiFlags(), migrations=migrations)
        agreement = replace(before.look.agreements[THINGS], resource=name)
        look = replace(before.look, agreements={name: agreement})
        step = replace(before.step, target=known)
        lists = {name: ListFacts(objects=len(migrations))}
        (found_,) = found(replace(before, look=look, step=step, lists=lists), "target-unserved")
        return found_

    assert one(ours).cured_by == "migration"
    assert "have done their work" in one(ours).seen
    assert one(ours, foreign).cured_by == "operator"


def test_every_command_is_one_that_a_shell_can_parse():
    seen = facts("apps/v1beta1", to="v1.39.0", **listed(fault="broken"))
    told = [(one.command, one.destructive_command) for one in find_all(seen)]
    commands = [command for pair in told for command in pair if command]
    assert commands
    for command in commands:
        assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0, command
