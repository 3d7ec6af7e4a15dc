"""The command line in a folder of small inputs."""

from cli_fixtures import call, folder, forests, grown_anew, grown_once, made, made_files, start  # noqa: F401
