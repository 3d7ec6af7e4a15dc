"""Learning kernels: losses of pairs and lists, steps on pairs, sums over trees."""
