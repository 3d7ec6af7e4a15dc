"""Rankers of a top-k truth: the experiments of Niu, Guo, Lan and Cheng (SIGIR 2012) on public collections."""
