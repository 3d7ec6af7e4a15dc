"""Boosted trees adapted to clicks: the experiments of Chen et al. (ICDE Workshops 2008) on simulated users."""
