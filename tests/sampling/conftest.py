"""The command line in a folder of small inputs."""

import pytest
from cli_cases import files
from cli_files import csv_rows
from cli_fixtures import call, folder, forests, grown_anew, grown_once, made, made_files, start  # noqa: F401


@pytest.fixture
def drawn(call):  # noqa: F811
    """Return a function from options to the rows of the sheet d.csv."""

    def sample(*options, name="d.csv"):
        done = call("sample", *options, *files(name))
        assert done.code == 0, done.err
        return csv_rows(name)

    return sample
