"""The command line in a folder of small inputs, and a report."""

import pytest
from cli_fixtures import call, folder, forests, grown_anew, grown_once, made, made_files, start  # noqa: F401
from command_cases import campaign, judged, oracle, ranked, stored  # noqa: F401
from report_cases import finished, report_of


@pytest.fixture(scope="session")
def plain_report():
    """Return the report of what one judge has judged without a clock."""
    return report_of(finished())
