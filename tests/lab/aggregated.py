"""An aggregated API of the lab: the sample API server behind a Service."""

from __future__ import annotations

import base64

from .api import ApiError
from .control_plane import ControlPlane
from .processes import Process
from .waiting import eventually

WARDLE = "wardle.example.com"
FLUNDERS = f"flunders.{WARDLE}"
SERVICE = "/api/v1/namespaces/wardle/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"

Endpoint = tuple[str, int]


class Wardle:
    """The sample API behind a Service, with endpoints that a test chooses."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        process, address, port = plane.start_sample_apiserver()
        self.process: Process = process
        self.endpoint: Endpoint = (address, port)
        self._slices: list[str] = []
        self._define()

    def stand_on(self, *endpoints: Endpoint) -> None:
        """Make these the endpoints of the Service, one EndpointSlice each."""
        for name in self._slices:
            self.plane.api.delete(f"{SLICES}/{name}")
        self._slices = [f"wardle-{number}" for number, _endpoint in enumerate(endpoints)]
        for name, (address, port) in zip(self._slices, endpoints, strict=True):
            self.plane.api.create(
                SLICES,
                {
                    "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "wardle"}},
                    "addressType": "IPv4",
                    "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
                    "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
                },
            )
        if endpoints:
            eventually(self.served, within=60)

    def remove(self) -> None:
        self.stand_on()
        for version in ("v1alpha1", "v1beta1"):
            self.plane.api.delete(f"{API_SERVICES}/{version}.{WARDLE}")
        self.plane.api.delete(f"{SERVICE}/wardle")
        self.process.stop()

    def served(self) -> bool:
        """Whether every server passes requests on."""
        try:
            for server in self.plane.servers.values():
                for version in ("v1alpha1", "v1beta1"):
                    server.api.get(f"/apis/{WARDLE}/{version}")
        except ApiError:
            return False
        return True

    def _define(self) -> None:
        api = self.plane.api
        api.create("/api/v1/namespaces", {"metadata": {"name": "wardle"}})
        port = {"name": "https", "port": 443, "protocol": "TCP"}
        api.create(SERVICE, {"metadata": {"name": "wardle"}, "spec": {"ports": [port]}})
        bundle = self.plane.authority.certificate_file.read_bytes()
        for version in ("v1alpha1", "v1beta1"):
            api.create(
                API_SERVICES,
                {
                    "metadata": {"name": f"{version}.{WARDLE}"},
                    "spec": {
                        "group": WARDLE,
                        "version": version,
                        "groupPriorityMinimum": 1000,
                        "versionPriority": 15,
                        "caBundle": base64.b64encode(bundle).decode(),
                        "service": {"namespace": "wardle", "name": "wardle", "port": 443},
                    },
                },
            )
