"""Learning kernels: losses of pairs and lists, optimization steps on pairs, sums over trees."""
