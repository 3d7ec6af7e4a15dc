"""What a command that compares two runs ends with, for scripts: the gate and a watch alike."""

from __future__ import annotations

FINE, WORSE, OPEN = 0, 10, 11
"""Not worse by more than what does not matter; worse by more; open, so many labels would decide."""
