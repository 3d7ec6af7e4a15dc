"""Tests of the scripts that make the figures share what all tests share."""

from tests.conftest import one_thread_for_small_matrices, pytest_collection, pytest_configure  # noqa: F401
