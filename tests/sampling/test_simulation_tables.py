"""Tables of simulations: columns go in their order until a line fits."""

import pytest

from activeeval.sampling.simulation_tables import fitted

ROWS = [
    {"method": "items", "error": "0.1", "queries": "12", "items": "1234", "limit": "2.00"},
    {"method": "whole_plain", "error": "0.123", "queries": "7", "items": "9", "limit": ""},
]
WIDTHS = {0: 11 + 5 + 7 + 5 + 5 + 4 * 2, 1: 11 + 5 + 7 + 5 + 3 * 2, 2: 11 + 5 + 7 + 2 * 2, 3: 11 + 5 + 2}


@pytest.mark.parametrize(("n_left_out", "width"), WIDTHS.items())
def test_no_more_columns_go_than_must(n_left_out, width):
    """Columns are as wide as their widest cell or their name, with two blanks between them."""
    gone = ["items", "limit", "queries"]
    for wide, n in ((width, n_left_out), (width - 1, min(n_left_out + 1, 3))):
        rows, left_out = fitted(ROWS, wide)
        assert left_out == gone[:n]
        assert rows == [{name: cell for name, cell in row.items() if name not in gone[:n]} for row in ROWS]
