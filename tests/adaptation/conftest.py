"""The command line in a folder of small inputs."""

from boosted_trees import X, base  # noqa: F401
from cli_fixtures import call, folder, forests, grown_anew, grown_once, made, made_files, start  # noqa: F401
