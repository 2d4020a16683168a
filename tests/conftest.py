"""What every test may use: the data beside the checkout, and hypothesis without surprises in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# Both machines a test runs on are shared and slow at times, so no test fails for its time alone.
settings.register_profile("local", deadline=None)
# The same examples each time: a change fails for what it does, not for what was drawn.
settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder `../shared/data` beside the checkout: recordings and public sets that are not committed."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the recordings in ../shared/data, which are not part of the project")
    return folder
