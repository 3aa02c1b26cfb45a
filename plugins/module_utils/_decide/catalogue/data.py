# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

# Written by `make catalogue`. Do not edit it: read the release off its server again.

"""What each release encodes and decodes: one resource a line, read off real API servers."""

from __future__ import annotations

RELEASES = r"""
release v1.31.4
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects
when 2026-11-16
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|XGGGW2kGm+w=|v1alpha1|v1alpha1|v1alpha1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1
deviceclasses.resource.k8s.io|DeviceClass|cluster|12soGlw2WzE=|v1alpha3|v1alpha3|v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1 v1beta3|v1 v1beta1 v1beta2 v1beta3
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1
ipaddresses.networking.k8s.io|IPAddress|cluster|O4H8VxQhW5Y=|v1beta1|v1beta1|v1alpha1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|VM2ILh8OBCI=|v1alpha1|v1alpha1|v1alpha1
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1
podschedulingcontexts.resource.k8s.io|PodSchedulingContext|namespaced|SkSsa067T7g=|v1alpha3|v1alpha3|v1alpha3
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1 v1beta3|v1 v1beta1 v1beta2 v1beta3
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|ozQSw6/HyJ4=|v1alpha3|v1alpha3|v1alpha3
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|lbw3G0J+kqQ=|v1alpha3|v1alpha3|v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|8Uqm6frD4H0=|v1alpha3|v1alpha3|v1alpha3
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|8ufAXOnr3Yg=|v1beta1|v1beta1|v1alpha1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|N0mJdFqO17c=|v1alpha1|v1alpha1|v1alpha1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1 v1beta1 v1alpha1|v1 v1alpha1 v1beta1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1 v1beta1 v1alpha1
|v1 v1alpha1 v1beta1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1

release v1.32.2
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|XGGGW2kGm+w=|v1alpha1|v1alpha1|v1alpha1||
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|OgEE055Fbnc=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1||v1beta1 v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|O4H8VxQhW5Y=|v1beta1|v1beta1|v1alpha1 v1beta1||v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|RuOD9aJW3DI=|v1alpha2|v1alpha2|v1alpha2||v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|lP2+lF8aHIY=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|Q2Qe566oRi8=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|RnQSwRxMnsw=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1||v1beta1 v1alpha3
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|F6aZtQPvFlU=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1||v1beta1 v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|7r9IQQZblMY=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1||v1beta1 v1alpha3
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|8ufAXOnr3Yg=|v1beta1|v1beta1|v1alpha1 v1beta1||v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|N0mJdFqO17c=|v1alpha1|v1alpha1|v1alpha1||
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1 v1beta1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||v1beta1 v1alpha1

release v1.32.2
emulated 1.31
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|OgEE055Fbnc=|v1beta1|v1alpha3|v1alpha3 v1beta1||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1 v1beta3|v1 v1beta1 v1beta2 v1beta3|v1|v1 v1beta3
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|O4H8VxQhW5Y=|v1beta1|v1beta1|v1alpha1 v1beta1||v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1 v1beta3|v1 v1beta1 v1beta2 v1beta3|v1
|v1 v1beta3
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|RnQSwRxMnsw=|v1beta1|v1alpha3|v1alpha3 v1beta1||v1alpha3
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|F6aZtQPvFlU=|v1beta1|v1alpha3|v1alpha3 v1beta1||v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|7r9IQQZblMY=|v1beta1|v1alpha3|v1alpha3 v1beta1||v1alpha3
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|8ufAXOnr3Yg=|v1beta1|v1beta1|v1alpha1 v1beta1||v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1 v1beta1 v1alpha1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1 v1alpha1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1 v1beta1 v1alpha1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1 v1alpha1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||v1beta1 v1alpha1

release v1.33.4
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|v5yhuVertL4=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|OgEE055Fbnc=|v1beta1|v1beta2 v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2||v1beta2 v1beta1 v1alpha3
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|O4H8VxQhW5Y=|v1beta1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|lP2+lF8aHIY=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|Q2Qe566oRi8=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|RnQSwRxMnsw=|v1beta1|v1beta2 v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2|
|v1beta2 v1beta1 v1alpha3
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|F6aZtQPvFlU=|v1beta1|v1beta2 v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2|
|v1beta2 v1beta1 v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|7r9IQQZblMY=|v1beta1|v1beta2 v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2||v1beta2 v1beta1 v1alpha3
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|8ufAXOnr3Yg=|v1beta1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|N0mJdFqO17c=|v1alpha1|v1alpha1|v1alpha1||
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1 v1beta1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||v1beta1 v1alpha1

release v1.33.4
emulated 1.32
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|OgEE055Fbnc=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2||v1beta1 v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|O4H8VxQhW5Y=|v1beta1|v1beta1|v1 v1alpha1 v1beta1||v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1alpha2|v1alpha2 v1beta1||v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|lP2+lF8aHIY=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|Q2Qe566oRi8=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|RnQSwRxMnsw=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2||v1beta1 v1alpha3
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|F6aZtQPvFlU=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2|
|v1beta1 v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|7r9IQQZblMY=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1 v1beta2||v1beta1 v1alpha3
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|8ufAXOnr3Yg=|v1beta1|v1beta1|v1 v1alpha1 v1beta1||v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1 v1beta1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||v1beta1 v1alpha1

release v1.34.4
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|v5yhuVertL4=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|weQRMT6DeYM=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|lP2+lF8aHIY=|v1alpha1|v1beta1 v1alpha1|v1alpha1 v1beta1|
|v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|Q2Qe566oRi8=|v1alpha1|v1beta1 v1alpha1
|v1alpha1 v1beta1||v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
podcertificaterequests.certificates.k8s.io|PodCertificateRequest|namespaced|3F2mRg06NdI=|v1alpha1|v1alpha1|v1alpha1||
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|EJAWH5WrAYg=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|24m0okHrUtk=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1
|v1 v1beta2 v1beta1
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|z6Bc9vgk6yE=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|N0mJdFqO17c=|v1alpha1|v1alpha1|v1alpha1||
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1 v1beta1 v1alpha1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1 v1alpha1

release v1.34.4
emulated 1.33
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|OgEE055Fbnc=|v1beta1|v1beta2 v1beta1|v1 v1beta1 v1beta2||v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|O4H8VxQhW5Y=|v1beta1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|lP2+lF8aHIY=|v1alpha1|v1alpha1|v1alpha1 v1beta1||v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|Q2Qe566oRi8=|v1alpha1|v1alpha1|v1alpha1 v1beta1|
|v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|RnQSwRxMnsw=|v1beta1|v1beta2 v1beta1|v1 v1beta1 v1beta2||v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|F6aZtQPvFlU=|v1beta1|v1beta2 v1beta1|v1 v1beta1 v1beta2||v1beta2 v1beta1
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|7r9IQQZblMY=|v1beta1|v1beta2 v1beta1|v1 v1beta1 v1beta2||v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|8ufAXOnr3Yg=|v1beta1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1 v1beta1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1beta1 v1alpha1|v1 v1alpha1 v1beta1||v1beta1 v1alpha1

release v1.35.4
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|v5yhuVertL4=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|Yk2PTc1Ybxk=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|LYmCf+UMVdg=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1|
|v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|90V5FRZZ3Zg=|v1beta1|v1beta1 v1alpha1
|v1alpha1 v1beta1||v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
podcertificaterequests.certificates.k8s.io|PodCertificateRequest|namespaced|wYA9yXQH8fg=|v1beta1|v1beta1|v1beta1||
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|wgAZaHcZxUg=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|TuzjC49aUfM=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|KsC072WgaEY=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|pCjmmKOkLy4=|v1beta1|v1beta1|v1beta1||
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1
workloads.scheduling.k8s.io|Workload|namespaced|7X3nQnlLxCA=|v1alpha1|v1alpha1|v1alpha1||

release v1.35.4
emulated 1.34
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|weQRMT6DeYM=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2 v2beta1 v2beta2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|LYmCf+UMVdg=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1|
|v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|90V5FRZZ3Zg=|v1beta1|v1beta1 v1alpha1
|v1alpha1 v1beta1||v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|EJAWH5WrAYg=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|24m0okHrUtk=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1
|v1 v1beta2 v1beta1
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|z6Bc9vgk6yE=|v1beta2|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|Bl3MtjZ/n/s=|v1beta1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1

release v1.36.3
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|v5yhuVertL4=|v1beta1|v1beta1 v1alpha1|v1alpha1 v1beta1||
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|Yk2PTc1Ybxk=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1beta2 v1alpha3|v1alpha3 v1beta2||v1beta2 v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|LYmCf+UMVdg=|v1beta1|v1 v1beta1 v1alpha1|v1 v1alpha1 v1beta1
|v1|v1 v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|90V5FRZZ3Zg=|v1beta1|v1 v1beta1 v1alpha1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
podcertificaterequests.certificates.k8s.io|PodCertificateRequest|namespaced|wYA9yXQH8fg=|v1beta1|v1beta1|v1beta1||
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
podgroups.scheduling.k8s.io|PodGroup|namespaced|YYgX3v5V204=|v1alpha2|v1alpha2|v1alpha2||
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|wgAZaHcZxUg=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|TuzjC49aUfM=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourcepoolstatusrequests.resource.k8s.io|ResourcePoolStatusRequest|cluster|iy583CtMwdY=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|KsC072WgaEY=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|pCjmmKOkLy4=|v1beta1|v1beta1|v1beta1||
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|tIjydgKBC5w=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1
workloads.scheduling.k8s.io|Workload|namespaced|vSX7gJe5Mx8=|v1alpha2|v1alpha2|v1alpha2||

release v1.36.3
emulated 1.35
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|Yk2PTc1Ybxk=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|DJ3UJ0fj8MI=|v1alpha3|v1alpha3|v1alpha3 v1beta2||v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|LYmCf+UMVdg=|v1beta1|v1beta1 v1alpha1|v1 v1alpha1 v1beta1|
|v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|90V5FRZZ3Zg=|v1beta1|v1beta1 v1alpha1
|v1 v1alpha1 v1beta1||v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|wgAZaHcZxUg=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|TuzjC49aUfM=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|KsC072WgaEY=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|tIjydgKBC5w=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1

release v1.37.0
emulated
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clustertrustbundles.certificates.k8s.io|ClusterTrustBundle|cluster|v5yhuVertL4=|v1beta1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1
compositepodgroups.scheduling.k8s.io|CompositePodGroup|namespaced|L+dT284DGFE=|v1alpha3|v1alpha3|v1alpha3||
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|Yk2PTc1Ybxk=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|i+85+TcIKpA=|v1beta2|v1 v1beta2 v1alpha3|v1 v1alpha3 v1beta2|v1|v1 v1beta2 v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
evictionrequests.lifecycle.k8s.io|EvictionRequest|namespaced|0sGDWzI0u0Q=|v1alpha1|v1alpha1|v1alpha1||
evictions.lifecycle.k8s.io|Eviction|namespaced|Un48RuLRFt0=|v1alpha1|v1alpha1|v1alpha1||
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1|v1 v1beta1|v1|v1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|mHCkTKpUTrE=|v1|v1 v1beta1 v1alpha1|v1 v1alpha1 v1beta1|v1
|v1 v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|ZKgZT1uTmZ0=|v1|v1 v1beta1 v1alpha1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
podcertificaterequests.certificates.k8s.io|PodCertificateRequest|namespaced|wYA9yXQH8fg=|v1beta1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
podgroups.scheduling.k8s.io|PodGroup|namespaced|QjOl2H5qPs0=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1||
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|wgAZaHcZxUg=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|TuzjC49aUfM=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourcepoolstatusrequests.resource.k8s.io|ResourcePoolStatusRequest|cluster|iy583CtMwdY=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|KsC072WgaEY=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1|v1 v1beta1|v1|v1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversionmigrations.storagemigration.k8s.io|StorageVersionMigration|cluster|pCjmmKOkLy4=|v1beta1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|tIjydgKBC5w=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
workloads.scheduling.k8s.io|Workload|namespaced|Fgcxusx6IUo=|v1beta1|v1beta1 v1alpha3|v1alpha3 v1beta1||

release v1.37.0
emulated 1.36
how read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects; without flags, and with all APIs and no features on: discovery
when 2026-11-17
apiservices.apiregistration.k8s.io|APIService|cluster|InPBPD7+PqM=|v1|v1|v1 v1beta1|v1|v1
certificatesigningrequests.certificates.k8s.io|CertificateSigningRequest|cluster|95fRKMXA+00=|v1|v1|v1 v1beta1|v1|v1
clusterrolebindings.rbac.authorization.k8s.io|ClusterRoleBinding|cluster|48tpQ8gZHFc=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
clusterroles.rbac.authorization.k8s.io|ClusterRole|cluster|bYE5ZWDrJ44=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
configmaps|ConfigMap|namespaced|qFsyl6wFWjQ=|v1|v1|v1|v1|v1
controllerrevisions.apps|ControllerRevision|namespaced|85nkx63pcBU=|v1|v1|v1 v1beta1 v1beta2|v1|v1
cronjobs.batch|CronJob|namespaced|sd5LIXh4Fjs=|v1|v1|v1 v1beta1|v1|v1
csidrivers.storage.k8s.io|CSIDriver|cluster|hL6j/rwBV5w=|v1|v1|v1 v1beta1|v1|v1
csinodes.storage.k8s.io|CSINode|cluster|Pe62DkZtjuo=|v1|v1|v1 v1beta1|v1|v1
csistoragecapacities.storage.k8s.io|CSIStorageCapacity|namespaced|xeVl+2Ly1kE=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
customresourcedefinitions.apiextensions.k8s.io|CustomResourceDefinition|cluster|jfWCUB31mvA=|v1beta1|v1|v1 v1beta1|v1|v1
daemonsets.apps|DaemonSet|namespaced|dd7pWHUlMKQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
deployments.apps|Deployment|namespaced|8aSe+NMegvE=|v1|v1|v1 v1beta1 v1beta2 extensions/v1beta1|v1|v1
deviceclasses.resource.k8s.io|DeviceClass|cluster|Yk2PTc1Ybxk=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
devicetaintrules.resource.k8s.io|DeviceTaintRule|cluster|i+85+TcIKpA=|v1beta2|v1beta2 v1alpha3|v1 v1alpha3 v1beta2||v1beta2 v1alpha3
endpoints|Endpoints|namespaced|fWeeMqaN/OA=|v1|v1|v1|v1|v1
endpointslices.discovery.k8s.io|EndpointSlice|namespaced|qgS0xkrxYAI=|v1|v1|v1 v1beta1|v1|v1
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 events.k8s.io/v1beta1 v1|v1|v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1|v1|v1
flowschemas.flowcontrol.apiserver.k8s.io|FlowSchema|cluster|GJVAJZSZBIw=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
horizontalpodautoscalers.autoscaling|HorizontalPodAutoscaler|namespaced|qwQve8ut294=|v2|v2 v1|v1 v2|v2 v1|v2 v1
ingressclasses.networking.k8s.io|IngressClass|cluster|l/iqIbDgFyQ=|v1|v1|v1 v1beta1|v1|v1
ingresses.networking.k8s.io|Ingress|namespaced|39NQlfNR+bo=|v1|v1|extensions/v1beta1 v1 v1beta1|v1|v1
ipaddresses.networking.k8s.io|IPAddress|cluster|3f/plJFChNE=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
jobs.batch|Job|namespaced|mudhfqk/qZY=|v1|v1|v1|v1|v1
leasecandidates.coordination.k8s.io|LeaseCandidate|namespaced|lvME0iHWE20=|v1beta1|v1beta1 v1alpha2|v1alpha2 v1beta1||v1beta1 v1alpha2
leases.coordination.k8s.io|Lease|namespaced|gqkMMb/YqFM=|v1|v1|v1 v1beta1|v1|v1
limitranges|LimitRange|namespaced|EBKMFVe6cwo=|v1|v1|v1|v1|v1
mutatingadmissionpolicies.admissionregistration.k8s.io|MutatingAdmissionPolicy|cluster|LYmCf+UMVdg=|v1beta1|v1 v1beta1 v1alpha1|v1 v1alpha1 v1beta1
|v1|v1 v1beta1 v1alpha1
mutatingadmissionpolicybindings.admissionregistration.k8s.io|MutatingAdmissionPolicyBinding|cluster|90V5FRZZ3Zg=|v1beta1|v1 v1beta1 v1alpha1
|v1 v1alpha1 v1beta1|v1|v1 v1beta1 v1alpha1
mutatingwebhookconfigurations.admissionregistration.k8s.io|MutatingWebhookConfiguration|cluster|Sqi0GUgDaX0=|v1|v1|v1 v1beta1|v1|v1
namespaces|Namespace|cluster|Q3oi5N2YM8M=|v1|v1|v1|v1|v1
networkpolicies.networking.k8s.io|NetworkPolicy|namespaced|YpfwF18m1G8=|v1|v1|extensions/v1beta1 v1|v1|v1
nodes|Node|cluster|XwShjMxG9Fs=|v1|v1|v1|v1|v1
persistentvolumeclaims|PersistentVolumeClaim|namespaced|QWTyNDq0dC4=|v1|v1|v1|v1|v1
persistentvolumes|PersistentVolume|cluster|HN/zwEC+JgM=|v1|v1|v1|v1|v1
poddisruptionbudgets.policy|PodDisruptionBudget|namespaced|EVWiDmWqyJw=|v1|v1|v1 v1beta1|v1|v1
pods|Pod|namespaced|xPOwRZ+Yhw8=|v1|v1|v1|v1|v1
podtemplates|PodTemplate|namespaced|LIXB2x4IFpk=|v1|v1|v1|v1|v1
priorityclasses.scheduling.k8s.io|PriorityClass|cluster|1QwjyaZjj3Y=|v1|v1|v1 v1beta1|v1|v1
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io|PriorityLevelConfiguration|cluster|Kir5PVfvNeI=|v1|v1|v1 v1beta1 v1beta2 v1beta3|v1|v1
replicasets.apps|ReplicaSet|namespaced|P1RzHs8/mWQ=|v1|v1|v1 v1beta2 extensions/v1beta1|v1|v1
replicationcontrollers|ReplicationController|namespaced|Jond2If31h0=|v1|v1|v1|v1|v1
resourceclaims.resource.k8s.io|ResourceClaim|namespaced|wgAZaHcZxUg=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourceclaimtemplates.resource.k8s.io|ResourceClaimTemplate|namespaced|TuzjC49aUfM=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
resourcepoolstatusrequests.resource.k8s.io|ResourcePoolStatusRequest|cluster|iy583CtMwdY=|v1alpha3|v1alpha3|v1alpha3||v1alpha3
resourcequotas|ResourceQuota|namespaced|8uhSgffRX6w=|v1|v1|v1|v1|v1
resourceslices.resource.k8s.io|ResourceSlice|cluster|KsC072WgaEY=|v1|v1 v1beta2 v1beta1|v1 v1beta1 v1beta2|v1|v1 v1beta2 v1beta1
rolebindings.rbac.authorization.k8s.io|RoleBinding|namespaced|eGsCzGH6b1g=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
roles.rbac.authorization.k8s.io|Role|namespaced|7FuwZcIIItM=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
runtimeclasses.node.k8s.io|RuntimeClass|cluster|WQTu1GL3T2Q=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
secrets|Secret|namespaced|S6u1pOWzb84=|v1|v1|v1|v1|v1
serviceaccounts|ServiceAccount|namespaced|pbx9ZvyFpBE=|v1|v1|v1|v1|v1
servicecidrs.networking.k8s.io|ServiceCIDR|cluster|gNLvruQhW2g=|v1|v1 v1beta1|v1 v1beta1|v1|v1 v1beta1
services|Service|namespaced|0/CO1lhkEBI=|v1|v1|v1|v1|v1
statefulsets.apps|StatefulSet|namespaced|H+vl74LkKdo=|v1|v1|v1 v1beta1 v1beta2|v1|v1
storageclasses.storage.k8s.io|StorageClass|cluster|K+m6uJwbjGY=|v1|v1|v1 v1beta1|v1|v1
storageversions.internal.apiserver.k8s.io|StorageVersion|cluster|c8YZt5U0nPk=|v1alpha1|v1alpha1|v1alpha1||v1alpha1
validatingadmissionpolicies.admissionregistration.k8s.io|ValidatingAdmissionPolicy|cluster|6OxvlMmQ6is=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingadmissionpolicybindings.admissionregistration.k8s.io|ValidatingAdmissionPolicyBinding|cluster|v9715VZqakg=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
validatingwebhookconfigurations.admissionregistration.k8s.io|ValidatingWebhookConfiguration|cluster|B0wHjQmsGNk=|v1|v1|v1 v1beta1|v1|v1
volumeattachments.storage.k8s.io|VolumeAttachment|cluster|tJx/ezt6UDU=|v1|v1|v1 v1alpha1 v1beta1|v1|v1
volumeattributesclasses.storage.k8s.io|VolumeAttributesClass|cluster|tIjydgKBC5w=|v1|v1 v1beta1|v1 v1alpha1 v1beta1|v1|v1 v1beta1
"""
