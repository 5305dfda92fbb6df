"""A real Slurm for the picture of docs/stories/cluster.md: Debian's packages, unpacked into a folder, not installed.

It needs Linux, ``apt-get``, ``dpkg-deb`` and root. The tests start the scripts themselves, as Slurm does.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import free_port
from tests.waiting import wait_for

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "libmunge2", "libhwloc15")
CONFIGURATION = """
ClusterName=story
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
PluginDir={libraries}/slurm-wlm
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=4
PartitionName=main Nodes={host} Default=YES State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A running cluster of one node with four processors."""

    folder: Path
    environment: dict[str, str]

    def __call__(self, command: str, *arguments: str, cwd: Path | None = None) -> str:
        """The output of one of Slurm's commands."""
        program = [str(self.folder / "usr/bin" / command), *arguments]
        return subprocess.run(program, cwd=cwd, env=self.environment, capture_output=True, text=True, check=True).stdout


@contextmanager
def slurm(folder: Path, **environment: str) -> Iterator[Slurm]:
    """Start a controller and a node. Jobs have the given environment variables."""
    subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=folder, check=True, capture_output=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    [plugins] = folder.glob("usr/lib/*/slurm-wlm")
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            port=free_port(),
            node_port=free_port(),
            libraries=plugins.parent,
            folder=folder,
        )
    )
    path = f"{plugins.parent}:{plugins}"
    running = Slurm(folder, {**os.environ, "SLURM_CONF": str(configuration), "LD_LIBRARY_PATH": path, **environment})
    stepd = str(folder / "usr/sbin/slurmstepd-wlm")
    commands = [
        [str(folder / "usr/sbin/slurmctld-wlm"), "-D"],
        [str(folder / "usr/sbin/slurmd-wlm"), "-D", "-d", stepd],
    ]
    with (folder / "log").open("w") as log:
        daemons = [subprocess.Popen(each, env=running.environment, stdout=log, stderr=log) for each in commands]
        try:
            wait_for(lambda: _is_idle(running))
            yield running
        finally:
            for each in daemons:
                each.terminate()
                each.wait()


def _is_idle(running: Slurm) -> bool:
    try:
        return "idle" in running("sinfo", "-h", "-o", "%t")
    except subprocess.CalledProcessError:  # the controller does not answer yet
        return False
