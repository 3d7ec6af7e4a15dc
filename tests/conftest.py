"""What all tests share."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_small_matrices():
    """The matrices here are small: several threads of the linear algebra only wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield
