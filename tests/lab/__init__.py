"""Real Kubernetes control planes on this machine: etcd, API servers of any mix, controllers."""
