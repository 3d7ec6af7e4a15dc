"""Disks for tests: small ones, full ones, and such as can only be read. They can be mounted by root alone."""

import os
import shutil
import subprocess

from tests.databases import missing


class Disk:
    """A disk in memory, mounted at a folder."""

    def __init__(self, folder, size):
        self.folder = folder
        folder.mkdir()
        done = self._mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs")
        if done is None or done.returncode:
            folder.rmdir()
            missing("mount", "a disk can be mounted by root alone")

    def fill(self, but=0):
        """Take all the room there is, but for some bytes."""
        n_bytes = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize - but
        (self.folder / "filling").write_bytes(bytes(n_bytes))

    def make_room(self):
        (self.folder / "filling").unlink()

    def forbid_writing(self):
        assert not self._mount("-o", "remount,ro").returncode

    def remove(self):
        subprocess.run(["umount", str(self.folder)], check=True)

    def _mount(self, *options):
        tool = shutil.which("mount")
        if os.geteuid() or tool is None:
            return None
        return subprocess.run([tool, *options, str(self.folder)], capture_output=True)
