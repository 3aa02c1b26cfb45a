"""The role report: the file that it writes, opened in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from lab.ansible import run_playbook

SERVERS = ("https://192.0.2.1:6443", "https://192.0.2.2:6443", "https://192.0.2.3:6443")
EVIL = "<script>document.title = 'taken over'</script>{{ 6 * 7 }}"
ROLE = "lockstep.kubernetes.report"
# Roles that are nothing to somebody who can't see them, unless they have a name.
NAMED_ROLES = {
    *("checkbox", "columnheader", "DisclosureTriangle", "figure", "heading", "image", "link"),
    *("navigation", "region", "rowheader", "search", "searchbox", "table"),
}
CURRENT = (
    *("configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "pods"),
    *("persistentvolumeclaims", "persistentvolumes", "resourcequotas", "secrets", "services"),
    *("daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps"),
    *("cronjobs.batch", "jobs.batch", "endpointslices.discovery.k8s.io"),
)


def resource(encoding: str, **told: Any) -> dict[str, Any]:
    """One resource of a verdict, with nothing wrong unless it is told."""
    return {
        "origin": "built-in",
        "agreed": True,
        "encoding_version": encoding,
        "encodings": dict.fromkeys(SERVERS, encoding),
        "stored": [encoding],
        "evidence": "etcd",
        "objects": 12,
        "target_encoding": encoding,
        "target_decodes": [encoding],
        "rollback_decodes": [encoding],
        "decodable_by_target": "true",
        "decodable_by_rollback": "true",
        "must_migrate": False,
        **told,
    }


def finding(check: str, resource: str, seen: str, remedy: str, **told: Any) -> dict[str, Any]:
    """One finding of a verdict, which stops it unless it is told otherwise."""
    return {
        "check": check,
        "severity": "block",
        "resource": resource,
        "seen": seen,
        "remedy": remedy,
        "cured_by": "operator",
        "unknown": False,
        "acknowledged": "",
        **told,
    }


def current(name: str) -> dict[str, Any]:
    group = name.partition(".")[2]
    return resource(f"{group}/v1" if group else "v1")


def safe_verdict(**told: Any) -> dict[str, Any]:
    """What upgrade_gate returns where nothing is wrong."""
    return {
        "changed": False,
        "failed": False,
        "safe": "true",
        "passed": True,
        "summary": ["safe: v1.36.3 to v1.37.0, and back to v1.36.3. 0 findings of 0 stop it."],
        "from_release": "v1.36.3",
        "to_release": "v1.37.0",
        "rollback_release": "v1.36.3",
        "judged_by": {"target": "v1.37.0", "rollback": "v1.36.3", "current": "v1.36.3"},
        "servers": [{"address": one, "release": "v1.36.3", "emulated": ""} for one in SERVERS],
        "findings": [],
        "checks": {
            "agreement": {"title": "All servers write alike", "result": "passed", "findings": 0},
            "skew": {"title": "One minor release at once", "result": "passed", "findings": 0},
            "etcd-health": {"title": "etcd is healthy", "result": "passed", "findings": 0},
        },
        "cured_by": {"migration": [], "audit": [], "operator": []},
        "resources": {name: current(name) for name in CURRENT},
        "unused_acknowledgements": [],
        "expired_acknowledgements": [],
        **told,
    }


def verdict(**told: Any) -> dict[str, Any]:
    """What it returns where servers disagree, data would be lost, and something is unknown."""
    document = safe_verdict()
    claims, autoscalers = "resourceclaims.resource.k8s.io", "horizontalpodautoscalers.autoscaling"
    widgets, leases = "widgets.example.com", "leases.coordination.k8s.io"
    v1, old = "resource.k8s.io/v1", "resource.k8s.io/v1beta2"
    document["servers"][2]["emulated"] = "1.34"
    document["resources"] |= {
        claims: resource(
            "",
            agreed=False,
            encodings={**dict.fromkeys(SERVERS, v1), SERVERS[2]: old},
            stored=[old, v1],
            target_encoding=v1,
            target_decodes=[v1, old],
            rollback_decodes=[v1, old],
            objects=36,
        ),
        autoscalers: resource(
            "autoscaling/v2",
            stored=["autoscaling/v2beta2", "autoscaling/v2"],
            target_decodes=["autoscaling/v1", "autoscaling/v2"],
            decodable_by_target="false",
            must_migrate=True,
            objects=1240,
        ),
        leases: resource(
            "coordination.k8s.io/v1",
            stored=["Unknown"],
            evidence="assumed",
            decodable_by_target="unknown",
            decodable_by_rollback="unknown",
            objects=None,
        ),
        widgets: resource(
            "example.com/v2",
            origin="custom",
            stored=["example.com/v1", "example.com/v2"],
            evidence="crd",
            must_migrate=True,
            objects=310,
        ),
    }
    document["findings"] = [
        finding(
            "agreement",
            claims,
            f"192.0.2.3:6443 writes {old}, and 2 servers write {v1}",
            "Finish rolling the servers: restart 192.0.2.3 without --emulated-version",
        ),
        finding(
            "stored-undecodable",
            autoscalers,
            "autoscaling/v2beta2 is stored, which v1.37.0 can't read",
            "Migrate before the upgrade: ansible-playbook lockstep.kubernetes.migrate"
            f' -e \'{{"migrate_resources": ["{autoscalers}"]}}\'',
            cured_by="migration",
        ),
        *(
            finding(
                "stored-unknown",
                name,
                f"nothing is recorded of what is stored of {name}",
                "Read etcd with lockstep.kubernetes.storage_audit and give it as audit",
                severity="acknowledgeable",
                cured_by="audit",
                unknown=True,
            )
            for name in (leases, *(f"gadgets{number}.example.com" for number in range(8)))
        ),
        finding(
            "crd-stored-versions",
            widgets,
            f"{EVIL} status.storedVersions lists v1 besides the storage version v2",
            "Migrate it, and prune the list",
            severity="warn",
            cured_by="migration",
        ),
        finding(
            "unseen-change",
            "pods",
            "servers were restarted while nobody looked",
            "Read etcd with lockstep.kubernetes.storage_audit",
            severity="acknowledgeable",
            cured_by="audit",
            unknown=True,
            acknowledged="unseen-change for v1.36.3 -> v1.37.0 (a known maintenance)",
        ),
    ]
    document["checks"] |= {
        "agreement": {"title": "All servers write alike", "result": "failed", "findings": 1},
        "stored-undecodable": {
            "title": "The target can read all that is stored",
            "result": "failed",
            "findings": 1,
        },
        "stored-unknown": {"title": "What is stored is known", "result": "unknown", "findings": 9},
        "webhooks": {"title": "Webhooks let a write pass", "result": "not run", "findings": 0},
    }
    document["expired_acknowledgements"] = ["stored-unknown for v1.36.3 -> v1.37.0"]
    return {**document, "safe": "false", "passed": False, **told}


def outcome(rewritten: int | None, status: str = "succeeded", **told: Any) -> dict[str, Any]:
    """What storage_migration returns of one resource."""
    return {
        "status": status,
        "reason": "",
        "backend": "direct",
        "listed": rewritten,
        "rewritten": rewritten,
        "already_current": None if rewritten is None else 0,
        "gone": None if rewritten is None else 0,
        "failed": None if rewritten is None else 0,
        "failures": [],
        "seconds": 30.2,
        "rate": None if rewritten is None else rewritten / 30.2,
        "verified": status == "succeeded",
        "notes": [],
        **told,
    }


MIGRATION = {
    "changed": True,
    "summary": ["not finished: 2 resources migrated and 58 current already. 1 object failed."],
    "totals": {
        "resources": 61,
        "migrated": 2,
        "listed": 1551,
        "rewritten": 1550,
        "already_current": 0,
        "gone": 0,
        "failed": 1,
        "seconds": 74.6,
    },
    "resources": {
        "horizontalpodautoscalers.autoscaling": outcome(1240, rate=41.1),
        "widgets.example.com": outcome(
            310,
            "failed",
            failed=1,
            reason="1 object could not be written",
            failures=[{"name": "shop/crooked", "reason": "denied by a webhook"}],
        ),
        "ingresses.networking.k8s.io": outcome(None, backend="in_tree"),
    },
    "left_out": {"pods": "all that is stored of it is in its current version"},
    "unfinished": False,
    "progress_samples": [[0, 0], [5, 160], [15, 520], [30, 1240], [52, 1400], [74.6, 1551]],
}


def report(directory: Path, *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the role with these variables; relative paths begin in the directory."""
    play = {"hosts": "localhost", "gather_facts": False, "roles": [ROLE]}
    with contextlib.chdir(directory):
        return run_playbook([play], *options, variables=variables)


def report_registered(
    directory: Path, verdicts: list[Any], migration: Any = None, outcome: Any = None
) -> subprocess.CompletedProcess[str]:
    """The same with what other tasks registered, which Ansible does not trust as templates."""
    (directory / "results.json").write_text(json.dumps([verdicts, migration or {}, outcome or {}]))
    results = "(results.stdout | from_json)"
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [
            {"command": f"cat {directory / 'results.json'}", "register": "results"},
            {
                "include_role": {"name": ROLE},
                "vars": {
                    "report_verdicts": f"{{{{ {results}[0] }}}}",
                    "report_migration": f"{{{{ {results}[1] }}}}",
                    "report_outcome": f"{{{{ {results}[2] }}}}",
                },
            },
        ],
    }
    return run_playbook([play], variables={"report_path": str(directory / "report.html")})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the report on one cluster that is not safe, with a migration."""
    directory = tmp_path_factory.mktemp("report")
    done = report_registered(directory, [verdict()], MIGRATION)
    assert done.returncode == 0, done.stdout + done.stderr
    return (directory / "report.html").as_uri()


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the report on a run that has stopped."""
    directory = tmp_path_factory.mktemp("run")
    servers = {
        f"cp-{number}": {"address": f"https://192.0.2.{number}:6443", "release": "v1.36.3"}
        for number in (1, 2, 3)
    }
    ended = {
        "state": "stopped",
        "headline": "Stopped at cp-2",
        "reason": "https://192.0.2.2:6443 did not run v1.37.0 within 600 s: connection refused",
        "at": "2026-11-17T22:00:00Z",
        "step": "v1.36.3 to v1.37.0",
        "cluster": "prod-eu",
        "servers": servers,
        "now": ["What is stored was not verified in this run."],
        "snapshot": "cp-1:/var/backups/lockstep/etcd-20261117T214500Z.db",
        "commands": {"To roll back:": "ansible-playbook -i inventory lockstep.kubernetes.rollback"},
    }
    done = report_registered(directory, [verdict()], MIGRATION, ended)
    assert done.returncode == 0, done.stdout + done.stderr
    return (directory / "report.html").as_uri()


@pytest.fixture(scope="module")
def clusters_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the report on three clusters, each with another verdict."""
    directory = tmp_path_factory.mktemp("clusters")
    verdicts = [
        safe_verdict(cluster="prod-us"),
        verdict(cluster="prod-eu"),
        verdict(cluster="staging", safe="unknown"),
    ]
    done = report_registered(directory, verdicts)
    assert done.returncode == 0, done.stdout + done.stderr
    return (directory / "report.html").as_uri()


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    """Chromium without a screen."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("the Debian packages chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    # The lab's namespaces leave no rights for a sandbox, and the page is our own.
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


def look(
    browser: webdriver.Chrome, address: str, *, width: int = 1280, scheme: str = "light"
) -> None:
    """Open the page in a window of this width."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    show(browser, scheme=scheme)
    browser.get_log("performance")
    browser.get(address)


def show(browser: webdriver.Chrome, *, scheme: str = "light", media: str = "") -> None:
    """Let the user prefer a colour scheme, or let it be printed."""
    prefers = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": prefers})


def visible_rows(browser: webdriver.Chrome) -> list[str]:
    """What the head of each row says that is shown now."""
    rows = browser.find_elements(By.CSS_SELECTOR, "tr[data-row]")
    heads = (row.find_element(By.TAG_NAME, "th") for row in rows if row.is_displayed())
    return [head.text.splitlines()[0] for head in heads]


def accessible_nodes(browser: webdriver.Chrome) -> list[tuple[str, str]]:
    """Role and name of everything that a screen reader is told of."""
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node["ignored"]
    ]


# The contrast of every text with what is behind it; the worst of each colour pair.
CONTRASTS = """
const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
};
const found = {};
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !element.checkVisibility() || element.closest("script, svg")) continue;
  const front = numbers(getComputedStyle(element).color), back = behind(element);
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
  found[`${front} on ${back}: ${element.className || element.tagName}`] = (a + 0.05) / (b + 0.05);
}
return found;
"""


class TestFile:
    def test_only_its_owner_can_read_it_and_a_second_run_changes_nothing(
        self, tmp_path: Path
    ) -> None:
        first = report(tmp_path, report_verdicts=[verdict()])
        again = report(tmp_path, report_verdicts=[verdict()])

        # Where nothing is told, it lies where the command was typed.
        written = tmp_path / "lockstep-report.html"
        assert first.returncode == 0, first.stdout + first.stderr
        assert written.stat().st_mode & 0o777 == 0o600
        assert written.stat().st_uid == os.getuid()
        assert "changed=1 " in first.stdout
        assert "changed=0 " in again.stdout

    @pytest.mark.parametrize("wanted", [False, True])
    def test_check_mode_writes_it_only_if_wanted(self, tmp_path: Path, wanted: bool) -> None:
        variables = {"report_verdicts": [safe_verdict()], "report_in_check_mode": wanted}
        done = report(tmp_path, "--check", "--diff", **variables)

        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / "lockstep-report.html").exists() is wanted
        assert "<html" not in done.stdout

    @pytest.mark.parametrize(
        ("variables", "said"),
        [
            ({}, "report_verdicts"),
            ({"report_verdicts": []}, "report_verdicts is empty"),
            ({"report_verdicts": "safe"}, "report_verdicts"),
            ({"report_verdicts": {"safe": "true"}}, "report_verdicts"),
            (
                {"report_verdicts": [safe_verdict(), {"failed": True, "msg": "no route to host"}]},
                "report_verdicts[1] can't be reported. It has no verdict",
            ),
            ({"report_verdicts": [safe_verdict()], "report_migration": []}, "report_migration"),
            (
                {"report_verdicts": [safe_verdict()], "report_migration": {"resources": 5}},
                "report_migration.resources can't be reported",
            ),
        ],
        ids=["none", "empty", "text", "not-listed", "failed-task", "list", "malformed-migration"],
    )
    def test_wrong_input_is_named(
        self, tmp_path: Path, variables: dict[str, Any], said: str
    ) -> None:
        done = report(tmp_path, **variables)

        assert done.returncode != 0
        assert said.lower() in (done.stdout + done.stderr).lower()
        assert list(tmp_path.iterdir()) == []


class TestPage:
    def test_the_verdict_comes_first(self, chromium: webdriver.Chrome, page: str) -> None:
        look(chromium, page)

        heading = chromium.find_element(By.TAG_NAME, "h1")
        text = chromium.find_element(By.TAG_NAME, "main").text
        assert heading.text == "Not safe"
        assert text.startswith("Not safe\nv1.36.3 → v1.37.0, back to v1.36.3\n")
        parts = ("What stops it", "What servers write", "Checks", "The migration")
        places = [text.index(f"\n{part}") for part in parts]
        assert places == sorted(places)
        # It is read at a glance: all of it stands in the first window.
        assert heading.rect["y"] + heading.rect["height"] < 300

    def test_disagreement_stands_out_in_words(self, chromium: webdriver.Chrome, page: str) -> None:
        look(chromium, page)

        marked = chromium.find_elements(By.CSS_SELECTOR, "td .differs")
        assert [one.text.split()[0] for one in marked] == ["≠"]
        assert "v1beta2" in marked[0].text
        assert int(marked[0].value_of_css_property("font-weight")) >= 700
        row = marked[0].find_element(By.XPATH, "./ancestor::tr")
        assert "≠ servers disagree" in row.text

    def test_markup_and_templates_in_data_are_only_text(
        self, chromium: webdriver.Chrome, page: str
    ) -> None:
        look(chromium, page)

        assert chromium.title.startswith("Not safe: v1.36.3 → v1.37.0")
        assert EVIL in chromium.find_element(By.CLASS_NAME, "checks").text

    def test_filter_hides_what_does_not_fit_and_says_how_many_are_left(
        self, chromium: webdriver.Chrome, page: str
    ) -> None:
        look(chromium, page)
        box = chromium.find_element(By.ID, "filter-text")
        count = chromium.find_element(By.ID, "filter-count")
        every = len(visible_rows(chromium))

        box.send_keys("RESOURCECLAIMS v1beta2")
        found, told = visible_rows(chromium), count.text
        box.clear()
        # A finding that is folded is found as well, and shown.
        box.send_keys("gadgets7")
        unfolded = chromium.find_element(By.CSS_SELECTOR, ".checks tr:not([hidden]) details").text
        box.clear()
        box.send_keys("nothing is like this")
        none = [one.text for one in chromium.find_elements(By.CLASS_NAME, "empty")]
        box.clear()
        chromium.find_element(By.ID, "filter-attention").click()
        urgent = visible_rows(chromium)

        assert found == ["resourceclaims.resource.k8s.io", "All servers write alike"]
        assert told == f"2 of {every} rows shown"
        assert count.get_attribute("aria-live") == "polite"
        assert "gadgets7.example.com" in unfolded
        assert none[0] == "No resource fits the filter."
        assert "widgets.example.com" in urgent
        assert "pods" not in urgent
        assert len(urgent) < every

    def test_paper_shows_what_the_filter_hides(self, chromium: webdriver.Chrome, page: str) -> None:
        look(chromium, page)
        every = len(visible_rows(chromium))
        chromium.find_element(By.ID, "filter-text").send_keys("nothing is like this")

        show(chromium, media="print", scheme="dark")

        assert len(visible_rows(chromium)) == every
        assert not chromium.find_element(By.ID, "filter").is_displayed()
        assert background(chromium) == "rgb(255, 255, 255)"

    def test_without_its_script_nothing_is_missing(
        self, chromium: webdriver.Chrome, page: str
    ) -> None:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            look(chromium, page)
            rows = chromium.find_elements(By.CSS_SELECTOR, "tr[data-row]")

            assert rows
            assert chromium.find_element(By.ID, "filter").get_attribute("hidden") is not None
        finally:
            chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    @pytest.mark.parametrize("which", ["page", "clusters_page", "run_page"])
    def test_everything_has_an_accessible_name(
        self, chromium: webdriver.Chrome, which: str, request: pytest.FixtureRequest
    ) -> None:
        look(chromium, request.getfixturevalue(which))

        nodes = accessible_nodes(chromium)
        roles = {role for role, _name in nodes}
        assert {*NAMED_ROLES, "main", "contentinfo", "status"} - roles <= {
            *(("navigation", "link") if which != "clusters_page" else ("figure", "image")),
        }
        assert [role for role, name in nodes if role in NAMED_ROLES and not name.strip()] == []
        assert chromium.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
        # Whoever tabs through it stops nowhere without being told where.
        stops = chromium.find_elements(By.CSS_SELECTOR, "a, input, summary, [tabindex]")
        assert [one.tag_name for one in stops if not one.accessible_name] == []

    def test_no_request_leaves_the_page(self, chromium: webdriver.Chrome, page: str) -> None:
        look(chromium, page)
        messages = [
            json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")
        ]
        sent = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        loaded = chromium.execute_script("return performance.getEntriesByType('resource')")
        # Even what somebody managed to put into it could neither load nor run.
        refused = chromium.execute_async_script(
            """
            const done = arguments[0], refused = [];
            addEventListener("securitypolicyviolation", (event) => {
              refused.push(event.effectiveDirective);
              if (refused.length === 3) done(refused.sort());
            });
            const script = document.createElement("script");
            script.textContent = "document.title = 'taken over'";
            const image = document.createElement("img");
            image.src = "https://192.0.2.99/pixel.png";
            document.body.append(script, image);
            fetch("https://192.0.2.99/").catch(() => {});
            """
        )

        assert sent == [page]
        assert loaded == []
        assert refused == ["connect-src", "img-src", "script-src-elem"]
        assert "taken over" not in chromium.title

    def test_it_raises_no_error(self, chromium: webdriver.Chrome, page: str) -> None:
        chromium.get_log("browser")
        look(chromium, page)

        assert chromium.get_log("browser") == []

    def test_dark_mode_is_dark(self, chromium: webdriver.Chrome, page: str) -> None:
        look(chromium, page, scheme="light")
        light = background(chromium)
        look(chromium, page, scheme="dark")

        assert light == "rgb(244, 246, 249)"
        assert background(chromium) == "rgb(15, 18, 24)"

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("which", ["page", "clusters_page", "run_page"])
    def test_text_has_enough_contrast(
        self, chromium: webdriver.Chrome, which: str, scheme: str, request: pytest.FixtureRequest
    ) -> None:
        look(chromium, request.getfixturevalue(which), scheme=scheme)

        contrasts = chromium.execute_script(CONTRASTS)
        # The ratio that WCAG 2.2 asks for at level AA.
        assert len(contrasts) > 10
        assert {pair: ratio for pair, ratio in contrasts.items() if ratio < 4.5} == {}

    @pytest.mark.parametrize("which", ["page", "clusters_page", "run_page"])
    @pytest.mark.parametrize("width", [1280, 400, 320])
    def test_it_fits_the_window(
        self, chromium: webdriver.Chrome, which: str, width: int, request: pytest.FixtureRequest
    ) -> None:
        look(chromium, request.getfixturevalue(which), width=width)

        needs = chromium.execute_script("return document.documentElement.scrollWidth")
        hidden = chromium.execute_script(
            "return [...document.querySelectorAll('.scroll')]"
            ".map((one) => one.scrollWidth - one.clientWidth)"
        )
        assert needs <= width
        # Three servers need no scrolling of the tables either.
        assert set(hidden) == {0}

    def test_many_clusters_have_a_section_each(
        self, chromium: webdriver.Chrome, clusters_page: str
    ) -> None:
        look(chromium, clusters_page)

        links = chromium.find_elements(By.CSS_SELECTOR, "nav a")
        headings = [one.text for one in chromium.find_elements(By.CSS_SELECTOR, ".verdict h2")]
        named = [one.text for one in chromium.find_elements(By.CSS_SELECTOR, ".verdict .cluster")]
        links[2].click()

        assert (
            chromium.find_element(By.TAG_NAME, "h1").text
            == "3 clusters: 1 not safe, 1 not known to be safe, 1 safe"
        )
        assert named == ["prod-us", "prod-eu", "staging"]
        assert [one.split() for one in headings] == [
            ["prod-us:", "Safe"],
            ["prod-eu:", "Not", "safe"],
            ["staging:", "Not", "known", "to", "be", "safe"],
        ]
        assert chromium.current_url.endswith("#cluster-3")
        target = chromium.find_element(By.ID, "cluster-3")
        assert (
            chromium.execute_script("return arguments[0].getBoundingClientRect().top", target) < 200
        )


def background(browser: webdriver.Chrome) -> str:
    return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
