"""The command line in a folder of small inputs; what is grown anew is small too."""

import pytest
from cli_fixtures import GrownOnce, call, folder, forests, grown_once, made, made_files, start  # noqa: F401

from activeeval.core.grade_models.forest import Forests


@pytest.fixture
def grown_anew(forests, monkeypatch):  # noqa: F811
    """Grow every forest, for a test that asks whether one seed gives one answer."""
    monkeypatch.setattr(Forests, "_grow", lambda *given: GrownOnce()(*given))
