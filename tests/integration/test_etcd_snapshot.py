"""`etcd_snapshot` and the role `snapshot`: a file is believed once it was restored."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab import binaries
from lab.ansible import MODULES, run_module, run_playbook, tasks
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.etcd import EtcdStore
from lab.etcd_proxy import Document, EtcdProxy
from lab.processes import AS_IN_A_TERMINAL, Process
from lab.waiting import eventually

CANARY = "canary-8c20f1"


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """A server that keeps writing its leases, and some megabytes of objects in its etcd."""
    with control_plane(ServerSpec(), network=network) as plane:
        values = {f"/registry/lab/{n:03}-{CANARY}": os.urandom(8000) for n in range(200)}
        plane.etcd.put_all({**values, f"/other/{CANARY}": CANARY.encode()})
        yield plane


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    """etcd and etcdutl, as options."""
    return {name: binaries.find(binaries.etcd(name)) for name in ("etcd", "etcdutl")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory for the file; what a module makes elsewhere is made beside it."""
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    place = tmp_path / "backups"
    place.mkdir()
    return place


def connection(store: EtcdStore) -> dict[str, Any]:
    return {
        "endpoints": [store.url],
        "ca_cert": store.ca,
        "client_cert": store.certificate,
        "client_key": store.key,
    }


def snapshot(store: EtcdStore, path: Path, **options: Any) -> Any:
    return run_module("etcd_snapshot", path=path, **{**connection(store), **options})


def save(store: EtcdStore, path: Path, **options: Any) -> Any:
    result = snapshot(store, path, **options)
    assert not result.get("failed"), result["msg"]
    assert result["changed"]
    return result


def assert_told(answer: Any, says: str, remedy: str) -> None:
    assert answer["failed"]
    assert "\n" not in answer["msg"]
    assert says in answer["msg"]
    assert remedy in answer["remedy"]
    assert "exception" not in answer
    assert "Traceback" not in json.dumps(answer)


def assert_nothing_left(place: Path, *kept: str) -> None:
    """Only these files are there, nothing temporary, and no program that works on it."""
    assert sorted(path.name for path in place.iterdir()) == sorted(kept)
    left = [path.name for path in (place.parent / "tmp").iterdir()]
    assert [name for name in left if not name.startswith("ansible")] == []
    assert working_on(place) == []


def working_on(place: Path) -> list[str]:
    """The programs of etcd that run with a directory in their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            # It has ended meanwhile.
            continue
        if Path(words[0]).name in ("etcd", "etcdutl") and str(place) in " ".join(words):
            found.append(" ".join(words))
    return found


def keys_at(store: EtcdStore, revision: int) -> int:
    """The lab's own count, to hold the module's against."""
    zero = base64.b64encode(b"\0").decode()
    body = {"key": zero, "range_end": zero, "count_only": True, "revision": str(revision)}
    return int(str(store.call("kv/range", body)["count"]))


def wrapper(directory: Path, program: Path, script: str) -> Path:
    """A program that does something else first."""
    path = directory / f"{program.name}-wrapped"
    path.write_text(f'#!/bin/sh\nset -e\n{script}\nexec {program} "$@"\n')
    path.chmod(0o755)
    return path


class TestRestore:
    def test_a_snapshot_is_restored_and_has_as_many_keys_as_etcd(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        path = place / "etcd.db"

        result = save(plane.etcd, path, **programs)

        assert result["verified"] == "restore"
        assert result["keys"] == keys_at(plane.etcd, result["revision"]) > 200
        assert result["summary"][0].startswith("verified: restored into an etcd of its own")
        assert result["path"] == str(path)
        assert result["bytes"] == path.stat().st_size
        assert result["digest"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert path.stat().st_mode & 0o777 == 0o600
        assert_nothing_left(place, "etcd.db")

    def test_etcdutl_says_the_same_of_the_file(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        result = save(plane.etcd, place / "etcd.db", **programs)

        command = [programs["etcdutl"], "snapshot", "status", place / "etcd.db", "-w", "json"]
        status = json.loads(subprocess.check_output(command))

        assert status["revision"] == result["revision"]
        assert status["totalSize"] == result["bytes"] - 32

    def test_writes_meanwhile_do_no_harm(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        done = threading.Event()

        def write() -> None:
            number = 0
            while not done.wait(0.005):
                number += 1
                plane.etcd.put(f"/other/written-{number}", b"x")

        thread = threading.Thread(target=write)
        thread.start()
        try:
            before = plane.etcd.revision()
            result = save(plane.etcd, place / "etcd.db", **programs)
        finally:
            done.set()
            thread.join()

        assert before < result["revision"] < plane.etcd.revision()
        assert result["keys"] == keys_at(plane.etcd, result["revision"])

    def test_programs_are_found_on_the_path(
        self,
        plane: ControlPlane,
        programs: dict[str, Path],
        place: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        found_in = programs["etcd"].parent
        monkeypatch.setenv("PATH", f"{found_in}:{os.environ['PATH']}")

        assert save(plane.etcd, place / "etcd.db")["verified"] == "restore"

    def test_options_of_etcd_in_the_environment_are_not_taken(
        self,
        plane: ControlPlane,
        programs: dict[str, Path],
        place: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("ETCD_LISTEN_METRICS_URLS", "http://127.0.0.1:23790")
        monkeypatch.setenv("ETCD_ENABLE_GRPC_GATEWAY", "false")

        assert save(plane.etcd, place / "etcd.db", **programs)["verified"] == "restore"

    def test_an_earlier_file_is_replaced(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        (place / "etcd.db").write_bytes(b"earlier")

        result = save(plane.etcd, place / "etcd.db", **programs)

        assert (place / "etcd.db").stat().st_size == result["bytes"]

    def test_another_directory_to_restore_in_is_left_as_it_was(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, tmp_path: Path
    ) -> None:
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        (scratch / "mine").touch()

        save(plane.etcd, place / "etcd.db", **programs, scratch=scratch)

        assert [path.name for path in scratch.iterdir()] == ["mine"]
        assert_nothing_left(place, "etcd.db")

    def test_the_restored_etcd_listens_where_nobody_else_can_reach_it(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, tmp_path: Path
    ) -> None:
        script = f'echo "$PWD $*" > {tmp_path}/seen; stat -c %a . > {tmp_path}/mode'
        etcd = wrapper(tmp_path, programs["etcd"], script)

        save(plane.etcd, place / "etcd.db", etcd=etcd, etcdutl=programs["etcdutl"])

        where, *words = (tmp_path / "seen").read_text().split()
        listens = [word.partition("=")[2] for word in words if word.startswith("--listen-")]
        assert listens == [f"unix://{where}/clients", "unix://peers"]
        assert (tmp_path / "mode").read_text() == "700\n"

    def test_neither_keys_nor_values_get_out(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        assert CANARY.encode() in plane.etcd.keys("/other/")[0].encode()

        result = save(plane.etcd, place / "etcd.db", **programs)

        assert CANARY not in json.dumps(result)
        assert "/registry" not in json.dumps(result)


class TestOtherWays:
    @pytest.mark.parametrize(
        ("verify", "verdict"), [("digest", "digest only: "), ("none", "not verified: ")]
    )
    def test_what_was_not_restored_is_said(
        self, plane: ControlPlane, place: Path, verify: str, verdict: str
    ) -> None:
        before = plane.etcd.revision()

        # No program of that name is needed.
        result = save(plane.etcd, place / "etcd.db", verify=verify, etcd="none", etcdutl="none")

        assert result["verified"] == verify
        assert result["summary"][0].startswith(verdict)
        assert "To do: restore it" in result["summary"][-1]
        assert result["revision"] >= before
        assert "keys" not in result
        assert_nothing_left(place, "etcd.db")

    def test_the_manifest_of_an_api_server_tells_where_etcd_is(
        self, plane: ControlPlane, place: Path, tmp_path: Path
    ) -> None:
        etcd = plane.etcd
        manifest = tmp_path / "kube-apiserver.yaml"
        manifest.write_text(
            f"spec:\n  containers:\n  - command:\n    - --etcd-servers={etcd.url}\n"
            f"    - --etcd-cafile={etcd.ca}\n    - --etcd-certfile={etcd.certificate}\n"
            f"    - --etcd-keyfile={etcd.key}\n"
        )

        result = run_module(
            "etcd_snapshot", manifest=manifest, path=place / "etcd.db", verify="digest"
        )

        assert result["endpoint"] == etcd.url

    def test_the_next_endpoint_is_tried(self, plane: ControlPlane, place: Path) -> None:
        endpoints = [plane.etcd.url.replace("6443", "6444"), plane.etcd.url]

        result = save(plane.etcd, place / "etcd.db", endpoints=endpoints, verify="digest")

        assert result["endpoint"] == plane.etcd.url


def flip(number: int, part: Document) -> Document:
    """One bit of the third part is another on arrival."""
    if number == 2:
        blob = bytearray(base64.b64decode(part["result"]["blob"]))
        blob[1000] ^= 1
        part["result"]["blob"] = base64.b64encode(blob).decode()
    return part


def break_off(number: int, part: Document) -> Document | None:
    return part if number < 3 else None


def refuse_midway(number: int, part: Document) -> Document:
    fault = {"grpc_code": 14, "http_code": 503, "message": "etcdserver: no leader"}
    return part if number < 3 else {"error": fault}


def stall(number: int, part: Document) -> Document:
    if number == 3:
        time.sleep(4)
    return part


def count_one_more(path: str, document: Document) -> Document:
    """As if a key had been lost on its way into the file."""
    if path == "/v3/kv/range" and document.get("count"):
        return {**document, "count": str(int(document["count"]) + 1)}
    return document


class TestDamaged:
    @pytest.mark.parametrize("verify", ["restore", "digest", "none"])
    def test_bytes_that_changed_on_the_way_are_refused(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, verify: str
    ) -> None:
        with EtcdProxy(plane.etcd, change_part=flip) as proxy:
            answer = run_module(
                "etcd_snapshot",
                endpoints=[proxy.url],
                path=place / "etcd.db",
                verify=verify,
                **programs,
            )

        assert_told(answer, "is damaged", "name another member in endpoints")
        assert_nothing_left(place)

    @pytest.mark.parametrize(
        ("trouble", "says"),
        [
            (break_off, "the connection broke"),
            (refuse_midway, "no leader"),
            (stall, "no answer within 2 s"),
        ],
    )
    def test_what_did_not_arrive_whole_is_refused(
        self, plane: ControlPlane, place: Path, trouble: Any, says: str
    ) -> None:
        with EtcdProxy(plane.etcd, change_part=trouble) as proxy:
            answer = run_module(
                "etcd_snapshot",
                endpoints=[proxy.url],
                path=place / "etcd.db",
                verify="digest",
                timeout=2,
            )

        assert_told(answer, says, "etcd")
        assert_nothing_left(place)

    def test_an_earlier_file_outlives_a_failure(self, plane: ControlPlane, place: Path) -> None:
        (place / "etcd.db").write_bytes(b"earlier")
        with EtcdProxy(plane.etcd, change_part=flip) as proxy:
            options = {"endpoints": [proxy.url], "verify": "digest"}
            run_module("etcd_snapshot", path=place / "etcd.db", **options)

        assert (place / "etcd.db").read_bytes() == b"earlier"

    def test_a_file_with_other_counts_than_etcd_is_kept_under_another_name(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        with EtcdProxy(plane.etcd, change_answer=count_one_more) as proxy:
            answer = run_module(
                "etcd_snapshot", endpoints=[proxy.url], path=place / "etcd.db", **programs
            )

        assert_told(answer, "is not what etcd holds", "endpoint hashkv")
        assert f"kept as {place}/etcd.db.unverified" in answer["msg"]
        assert (place / "etcd.db.unverified").stat().st_mode & 0o777 == 0o600
        assert_nothing_left(place, "etcd.db.unverified")


def compacting(store: EtcdStore, marks: Path, *, times: int) -> str:
    """A script that lets etcd forget what it had until now, the first few times that it runs."""
    etcdctl = " ".join(
        [
            str(binaries.find(binaries.etcd("etcdctl"))),
            f"--endpoints={store.url} --cacert={store.ca}",
            f"--cert={store.certificate} --key={store.key}",
        ]
    )
    return (
        f"echo ran >> {marks}\n"
        f"if [ $(wc -l < {marks}) -le {times} ]; then\n"
        f"  revision=$({etcdctl} put /other/written x -w fields |"
        " sed -n 's/^\"Revision\" : //p')\n"
        f"  {etcdctl} compact $revision\n"
        "fi"
    )


class TestCompaction:
    def test_a_revision_that_was_compacted_is_no_proof_so_it_is_taken_once_more(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, tmp_path: Path
    ) -> None:
        marks = tmp_path / "marks"
        script = compacting(plane.etcd, marks, times=1)
        etcdutl = wrapper(tmp_path, programs["etcdutl"], script)

        result = save(plane.etcd, place / "etcd.db", etcd=programs["etcd"], etcdutl=etcdutl)

        assert len(marks.read_text().splitlines()) == 2
        assert result["verified"] == "restore"
        assert_nothing_left(place, "etcd.db")

    def test_one_that_was_compacted_again_is_told(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, tmp_path: Path
    ) -> None:
        script = compacting(plane.etcd, tmp_path / "marks", times=9)
        etcdutl = wrapper(tmp_path, programs["etcdutl"], script)

        answer = snapshot(plane.etcd, place / "etcd.db", etcd=programs["etcd"], etcdutl=etcdutl)

        assert_told(answer, "is not verified. etcd has compacted revision", "verify=digest")
        assert_nothing_left(place, "etcd.db.unverified")


class TestRefused:
    @pytest.mark.parametrize("missing", ["etcd", "etcdutl"])
    def test_a_missing_program_is_told_before_anything_is_written(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, missing: str
    ) -> None:
        options = {**programs, missing: f"/nowhere/{missing}"}

        answer = snapshot(plane.etcd, place / "etcd.db", **options)

        assert_told(answer, f"No program /nowhere/{missing} is on this host", "verify=digest")
        assert f"Name its path in {missing}, copy it out of the etcd image" in answer["remedy"]
        assert_nothing_left(place)

    @pytest.mark.parametrize("program", ["etcd", "etcdutl"])
    def test_a_program_that_fails_is_quoted_and_the_file_is_kept_aside(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, program: str
    ) -> None:
        wrong = wrapper(place.parent, programs[program], "echo 'Error: not today' >&2; exit 3")

        answer = snapshot(plane.etcd, place / "etcd.db", **{**programs, program: wrong})

        assert_told(answer, "It said: Error: not today. The file is kept as", "verify=digest")
        assert_nothing_left(place, "etcd.db.unverified")

    def test_a_missing_directory_is_told(self, plane: ControlPlane, place: Path) -> None:
        answer = snapshot(plane.etcd, place / "not-there" / "etcd.db", verify="digest")

        assert_told(answer, f"There is no directory {place}/not-there", "mode 0700")

    def test_a_directory_is_no_file(self, plane: ControlPlane, place: Path) -> None:
        answer = snapshot(plane.etcd, place, verify="digest")

        assert_told(answer, "which is a directory", f"such as {place}/etcd.db")

    def test_a_scratch_that_is_not_there_is_told(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        answer = snapshot(plane.etcd, place / "etcd.db", **programs, scratch="/nowhere")

        assert_told(answer, "The option scratch names /nowhere", "Create it")

    @pytest.mark.parametrize("full", ["path", "scratch"])
    def test_a_disk_without_room_is_told_before_anything_is_written(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path, full: str
    ) -> None:
        with small_disk(place.parent / "small") as small:
            path = small / "etcd.db" if full == "path" else place / "etcd.db"
            scratch = place if full == "path" else small

            answer = snapshot(plane.etcd, path, **programs, scratch=scratch)
            left = list(small.iterdir())

        assert_told(answer, f"There is no room for the snapshot in {small}", "scratch")
        assert left == []
        assert_nothing_left(place)

    @pytest.mark.parametrize(
        ("change", "says", "remedy"),
        [
            ({"endpoints": []}, "option endpoints", "manifest"),
            ({"ca_cert": "/nowhere/ca.crt"}, "names '/nowhere/ca.crt'", "--etcd-cafile"),
            ({"client_cert": None, "client_key": None}, "a missing certificate", "client_cert"),
            ({"tls_server_name": "elsewhere"}, "certificate is not trusted", "tls_server_name"),
            ({"timeout": 0}, "option timeout is 0", "Correct it"),
        ],
    )
    def test_who_is_not_let_in_is_told(
        self, plane: ControlPlane, place: Path, change: dict[str, Any], says: str, remedy: str
    ) -> None:
        answer = snapshot(plane.etcd, place / "etcd.db", **{"verify": "digest", **change})

        assert_told(answer, says, remedy)
        assert_nothing_left(place)

    def test_an_etcd_without_its_gateway_is_told_without_a_remedy_that_is_none(
        self, network: PrivateNetwork, place: Path, tmp_path: Path
    ) -> None:
        with plain_etcd(network, tmp_path, "--enable-grpc-gateway=false") as url:
            answer = run_module(
                "etcd_snapshot", endpoints=[url], path=place / "etcd.db", verify="digest"
            )

        assert_told(answer, "it has no JSON gateway", "etcdctl snapshot save")
        assert "grpcio" not in answer["msg"]


@contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """A disk of its own with next to no room, in the lab's namespaces."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "small", directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", directory], check=True)


@contextmanager
def plain_etcd(network: PrivateNetwork, directory: Path, *flags: str) -> Iterator[str]:
    address, port = network.take()
    url, peer = f"http://{address}:{port}", f"http://{address}:2380"
    command = [
        binaries.find(binaries.etcd()),
        f"--data-dir={directory / 'plain'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        *flags,
    ]
    process = Process(command, log=directory / "etcd.log")
    try:
        eventually(lambda: "ready to serve client requests" in process.tail(200), within=30)
        yield url
    finally:
        process.kill()
        network.give_back(address)


class TestCheckMode:
    def test_it_says_what_it_would_do_and_writes_nothing(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        result = save(plane.etcd, place / "etcd.db", **programs, check=True)

        assert result["summary"][0].startswith("would be taken: ")
        assert result["verified"] == "none"
        assert result["bytes"] > 1_000_000
        assert_nothing_left(place)

    def test_a_directory_that_an_earlier_task_would_make_is_no_error(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        result = save(plane.etcd, place / "later" / "etcd.db", **programs, check=True)

        assert result["summary"][-1].startswith("To do: create the directory")
        assert_nothing_left(place)

    def test_a_missing_program_is_told_all_the_same(self, plane: ControlPlane, place: Path) -> None:
        answer = snapshot(plane.etcd, place / "etcd.db", etcdutl="/nowhere/etcdutl", check=True)

        assert_told(answer, "/nowhere/etcdutl", "verify=digest")


@contextmanager
def begun(store: EtcdStore, place: Path, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """The module while it runs."""
    document = {**connection(store), "path": place / "etcd.db", **options}
    file = place.parent / "arguments.json"
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": document}, default=str))
    command = [sys.executable, "-m", f"{MODULES}.etcd_snapshot", str(file)]
    with subprocess.Popen(
        [*AS_IN_A_TERMINAL, *command], stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def alive(pid: int) -> bool:
    try:
        # One that has ended and was not waited for is a zombie.
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


class TestStopped:
    """Whatever ends the module ends its programs too."""

    @pytest.fixture
    def waiting(self, programs: dict[str, Path], tmp_path: Path) -> dict[str, dict[str, Path]]:
        """The options with one program that does nothing for a long time, by its name."""
        started = tmp_path / "started"
        script = f"echo $$ > {started}; mv {started} {tmp_path}/pid; exec sleep 99"
        return {
            name: {**programs, name: wrapper(tmp_path, programs[name], script)} for name in programs
        }

    @pytest.mark.parametrize("program", ["etcdutl", "etcd"])
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_leaves_nothing_behind(
        self,
        plane: ControlPlane,
        waiting: dict[str, dict[str, Path]],
        place: Path,
        tmp_path: Path,
        program: str,
        number: signal.Signals,
    ) -> None:
        with begun(plane.etcd, place, **waiting[program]) as running:
            eventually((tmp_path / "pid").exists, within=30)
            pid = int((tmp_path / "pid").read_text())
            was_alive = alive(pid)
            running.send_signal(number)
            output, _nothing = running.communicate(timeout=30)

        assert was_alive
        assert not alive(pid)
        assert "Stopped by hand" in json.loads(output)["msg"]
        assert_nothing_left(place)

    @pytest.mark.parametrize("program", ["etcdutl", "etcd"])
    def test_where_it_is_killed_the_kernel_ends_them(
        self,
        plane: ControlPlane,
        waiting: dict[str, dict[str, Path]],
        place: Path,
        tmp_path: Path,
        program: str,
    ) -> None:
        with begun(plane.etcd, place, **waiting[program]) as running:
            eventually((tmp_path / "pid").exists, within=30)
            pid = int((tmp_path / "pid").read_text())
            running.kill()
            running.wait()

        eventually(lambda: not alive(pid), within=10)
        assert not (place / "etcd.db").exists()


class TestTask:
    def test_progress_is_shown_while_it_works(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> None:
        options = {**connection(plane.etcd), **programs, "path": place / "etcd.db"}

        done = run_playbook(
            tasks({"name": "Save etcd", "lockstep.kubernetes.etcd_snapshot": options})
        )

        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"^ +received \d+\.\d MB; restoring it", done.stderr, re.MULTILINE)
        assert CANARY not in done.stdout + done.stderr
        assert_nothing_left(place, "etcd.db")


class TestRole:
    @pytest.fixture
    def variables(
        self, plane: ControlPlane, programs: dict[str, Path], place: Path
    ) -> dict[str, Any]:
        """How to reach etcd, the programs, and a path with the time in it as the default has."""
        reach = {f"snapshot_etcd_{key}": value for key, value in connection(plane.etcd).items()}
        time_stamp = "{{ now(utc=true, fmt='%Y%m%dT%H%M%SZ') }}"
        return {
            **reach,
            "snapshot_etcd": programs["etcd"],
            "snapshot_etcdutl": programs["etcdutl"],
            "snapshot_path": f"{place}/etcd-{time_stamp}.db",
        }

    @staticmethod
    def apply(variables: dict[str, Any], *options: str, **more: Any) -> Any:
        told = "{{ inventory_hostname }}={{ snapshot_taken.verified | default('-') }}"
        play = {
            "hosts": "all",
            "gather_facts": False,
            "roles": [{"role": "lockstep.kubernetes.snapshot"}],
            "post_tasks": [{"name": "Tell", "ansible.builtin.debug": {"msg": told}}],
        }
        return run_playbook([play], *options, variables={**variables, **more})

    def test_it_saves_etcd_and_says_what_it_proved(
        self, variables: dict[str, Any], place: Path
    ) -> None:
        done = self.apply(variables)

        assert done.returncode == 0, done.stdout + done.stderr
        assert "verified: restored into an etcd of its own" in done.stdout
        assert "localhost=restore" in done.stdout
        (file,) = place.iterdir()
        assert re.fullmatch(r"etcd-\d{8}T\d{6}Z\.db", file.name)

    def test_its_directory_is_made_for_the_owner_only(
        self, variables: dict[str, Any], place: Path
    ) -> None:
        path = str(variables["snapshot_path"]).replace("/etcd-", "/new/deep/etcd-")

        done = self.apply(variables, snapshot_path=path, snapshot_verify="digest")

        assert done.returncode == 0, done.stdout + done.stderr
        assert (place / "new" / "deep").stat().st_mode & 0o777 == 0o700
        assert "digest only: " in done.stdout

    def test_a_directory_that_is_there_keeps_its_mode(
        self, variables: dict[str, Any], place: Path
    ) -> None:
        place.chmod(0o755)

        self.apply(variables, snapshot_verify="digest")

        assert place.stat().st_mode & 0o777 == 0o755

    def test_older_files_are_removed_and_no_others(
        self, variables: dict[str, Any], place: Path
    ) -> None:
        older = [f"etcd-2025010{day}T000000Z.db" for day in range(1, 6)]
        others = ["etcd-mine.db", "etcd-20250101T000000Z.db.unverified", "a-20250101T000000Z.db"]
        for name in (*older, *others):
            (place / name).touch()

        done = self.apply(variables, snapshot_keep=3, snapshot_verify="digest")

        assert done.returncode == 0, done.stdout + done.stderr
        left = {path.name for path in place.iterdir()}
        assert left.issuperset({*others, *older[-2:]})
        assert len(left) == len(others) + 3

    @pytest.mark.parametrize(
        "change",
        [
            {"snapshot_verify": "none"},
            {"snapshot_keep": 0, "snapshot_verify": "digest"},
            {"snapshot_etcdutl": "/nowhere/etcdutl"},
        ],
        ids=["unverified", "keep all", "failed"],
    )
    def test_older_files_stay(
        self, variables: dict[str, Any], place: Path, change: dict[str, Any]
    ) -> None:
        older = {f"etcd-2025010{day}T000000Z.db" for day in range(1, 9)}
        for name in older:
            (place / name).touch()

        self.apply(variables, **change)

        assert {path.name for path in place.iterdir()} >= older

    def test_where_it_fails_the_play_stops(self, variables: dict[str, Any]) -> None:
        done = self.apply(variables, snapshot_etcdutl="/nowhere/etcdutl")

        assert done.returncode != 0
        assert "Name its path in etcdutl" in done.stdout
        assert "localhost=" not in done.stdout

    def test_a_skipped_one_is_said(self, variables: dict[str, Any], place: Path) -> None:
        done = self.apply(variables, snapshot_skip=True)

        assert done.returncode == 0, done.stdout + done.stderr
        assert "NO snapshot of etcd is taken" in done.stdout
        assert "localhost=-" in done.stdout
        assert list(place.iterdir()) == []

    def test_check_mode_reports_no_change_and_makes_nothing(
        self, variables: dict[str, Any], place: Path
    ) -> None:
        path = str(variables["snapshot_path"]).replace("/etcd-", "/new/etcd-")

        done = self.apply(variables, "--check", snapshot_path=path)

        assert done.returncode == 0, done.stdout + done.stderr
        assert "would be taken: " in done.stdout
        assert "changed=0" in done.stdout
        assert list(place.iterdir()) == []

    def test_for_several_hosts_it_is_taken_once(
        self, variables: dict[str, Any], place: Path
    ) -> None:
        done = self.apply(variables, "-i", "a,b,", snapshot_verify="digest")

        assert done.returncode == 0, done.stdout + done.stderr
        assert all(f"{host}=digest" in done.stdout for host in ("localhost", "a", "b"))
        assert len(list(place.iterdir())) == 1

    @pytest.mark.parametrize(
        ("groups", "host"),
        [
            ({"etcd": "e1", "kube_control_plane": "c1"}, "e1"),
            ({"kube_control_plane": "c1"}, "c1"),
            ({}, "localhost"),
        ],
        ids=["etcd", "control plane", "neither"],
    )
    def test_the_host_is_found_in_the_inventory(
        self, tmp_path: Path, groups: dict[str, str], host: str
    ) -> None:
        inventory = tmp_path / "inventory.yml"
        listed = {group: {"hosts": {name: {}}} for group, name in groups.items()}
        inventory.write_text(json.dumps(listed or {"all": {"hosts": {"other": {}}}}))
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {
                    "name": "Read the defaults",
                    "ansible.builtin.include_role": {
                        "name": "lockstep.kubernetes.snapshot",
                        "public": True,
                    },
                    "vars": {"snapshot_skip": True},
                },
                {
                    "name": "Tell",
                    "ansible.builtin.debug": {"msg": "{{ snapshot_host }} {{ snapshot_become }}"},
                },
            ],
        }

        done = run_playbook([play], "-i", str(inventory))

        assert f"{host} {host != 'localhost'}" in done.stdout, done.stdout + done.stderr
