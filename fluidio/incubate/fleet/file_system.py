"""The file systems in which fleet keeps checkpoints: this machine's, Hadoop's, or one that a script describes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path, PurePosixPath

__all__ = ["BDFS", "FS", "LocalFS"]


class FS:
    """A file system; subclasses say what they can do.

    Fluid: methods that a subclass lacked did nothing, so that a checkpoint could be lost.
    """

    def list_dirs(self, fs_path: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""
        raise NotImplementedError(f"{type(self).__name__} has no list_dirs")

    def ls_dir(self, fs_path: str) -> list[str]:
        """Return the names of all that is in a folder."""
        raise NotImplementedError(f"{type(self).__name__} has no ls_dir")

    def stat(self, fs_path: str) -> bool:
        """Return whether something exists."""
        raise NotImplementedError(f"{type(self).__name__} has no stat")

    def upload(self, local_path: str, fs_path: str) -> None:
        """Copy a folder of this machine there."""
        raise NotImplementedError(f"{type(self).__name__} has no upload")

    def download(self, fs_path: str, local_path: str) -> None:
        """Copy a folder to this machine."""
        raise NotImplementedError(f"{type(self).__name__} has no download")

    def mkdir(self, fs_path: str) -> None:
        """Create a folder and its parents, if they do not exist."""
        raise NotImplementedError(f"{type(self).__name__} has no mkdir")

    def mv(self, fs_src_path: str, fs_dst_path: str) -> None:
        """Rename a file or folder."""
        raise NotImplementedError(f"{type(self).__name__} has no mv")

    def rmr(self, fs_path: str) -> None:
        """Remove a folder and all that is in it."""
        raise NotImplementedError(f"{type(self).__name__} has no rmr")

    def rm(self, fs_path: str) -> None:
        """Remove a file."""
        raise NotImplementedError(f"{type(self).__name__} has no rm")

    def delete(self, fs_path: str) -> None:
        """Remove a file or folder, if it exists."""
        raise NotImplementedError(f"{type(self).__name__} has no delete")

    def need_upload_download(self) -> bool:
        """Return whether files must be copied between it and this machine."""
        raise NotImplementedError(f"{type(self).__name__} has no need_upload_download")


class LocalFS(FS):
    """The files of this machine."""

    def list_dirs(self, fs_path: str) -> list[str]:
        return [entry.name for entry in os.scandir(fs_path) if entry.is_dir()] if self.stat(fs_path) else []

    def ls_dir(self, fs_path: str) -> list[str]:
        return os.listdir(fs_path)

    def stat(self, fs_path: str) -> bool:
        return os.path.exists(fs_path)

    def mkdir(self, fs_path: str) -> None:
        assert not os.path.isfile(fs_path), f"{fs_path} is already a file"
        Path(fs_path).mkdir(parents=True, exist_ok=True)

    def mv(self, fs_src_path: str, fs_dst_path: str) -> None:
        os.rename(fs_src_path, fs_dst_path)

    def rmr(self, fs_path: str) -> None:
        shutil.rmtree(fs_path)

    def rm(self, fs_path: str) -> None:
        os.remove(fs_path)

    def delete(self, fs_path: str) -> None:
        if os.path.isdir(fs_path) and not os.path.islink(fs_path):
            self.rmr(fs_path)
        elif os.path.lexists(fs_path):
            self.rm(fs_path)

    def need_upload_download(self) -> bool:
        return False


class BDFS(FS):
    """The files of a Hadoop cluster, through the command `hadoop`.

    Fluid: a command that failed was logged at most; here it raises an OSError.

    Args:
        hdfs_name: the address of the cluster, "hdfs://host:port".
        hdfs_ugi: user and password, "user,password".
        time_out: the milliseconds that a command may take.
        sleep_inter: without effect.
    """

    def __init__(self, hdfs_name: str, hdfs_ugi: str, time_out: int = 20 * 60 * 1000, sleep_inter: int = 1000) -> None:
        self._base_cmd = ["hadoop", "fs", f"-Dfs.default.name={hdfs_name}", f"-Dhadoop.job.ugi={hdfs_ugi}"]
        self._time_out = time_out
        self._sleep_inter = sleep_inter

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*self._base_cmd, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=self._time_out / 1000)

    def _run(self, *words: str) -> str:
        done = self._call(*words)
        if done.returncode:
            raise OSError(f"hadoop fs {' '.join(words)} failed with status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def _names(self, fs_path: str) -> tuple[list[str], list[str]]:
        """Return the names of the folders and of the files in a folder."""
        found: tuple[list[str], list[str]] = [], []
        for line in self._run("-ls", fs_path).splitlines():
            words = line.split(maxsplit=7)  # permissions, copies, owner, group, size, date, time, path
            if len(words) == 8:
                found[not line.startswith("d")].append(PurePosixPath(words[7]).name)
        return found

    def list_dirs(self, fs_path: str) -> list[str]:
        return self._names(fs_path)[0] if self.stat(fs_path) else []

    def ls_dir(self, fs_path: str) -> list[str]:
        folders, files = self._names(fs_path)
        return folders + files

    def is_dir(self, fs_path: str) -> bool:
        """Return whether this is a folder."""
        return self._call("-test", "-d", fs_path).returncode == 0

    def stat(self, fs_path: str) -> bool:
        return self._call("-test", "-e", fs_path).returncode == 0

    def upload(self, local_path: str, fs_path: str) -> None:
        self._run("-put", local_path, fs_path)

    def download(self, fs_path: str, local_path: str) -> None:
        self._run("-get", fs_path, local_path)

    def mkdir(self, fs_path: str) -> None:
        if not self.stat(fs_path):
            self._run("-mkdir", "-p", fs_path)

    def mv(self, fs_src_path: str, fs_dst_path: str) -> None:
        self._run("-mv", fs_src_path, fs_dst_path)

    def rmr(self, fs_path: str) -> None:
        if self.stat(fs_path):
            self._run("-rm", "-r", fs_path)

    def rm(self, fs_path: str) -> None:
        if self.stat(fs_path):
            self._run("-rm", fs_path)

    def delete(self, fs_path: str) -> None:
        if self.is_dir(fs_path):
            self.rmr(fs_path)
        else:
            self.rm(fs_path)

    def need_upload_download(self) -> bool:
        return True
