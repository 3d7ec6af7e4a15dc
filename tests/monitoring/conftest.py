"""The command line in a folder of small inputs; forests here learn from few labels, and are small."""

import pytest
from cli_fixtures import GrownOnce, call, folder, forests, grown_anew, made, made_files, start  # noqa: F401


class SmallForests(GrownOnce):
    trees = 4


@pytest.fixture(scope="session")
def grown_once():
    return SmallForests()
