"""The directives of systemd that deploy/systemd uses, with the forms of their values: systemd.unit(5), systemd.exec(5),
systemd.service(5), systemd.kill(5), systemd.timer(5).

The tests check them without systemd, which ignores unknown names and values.
"""

from __future__ import annotations

import re

BOOLEAN = r"yes|no|true|false|on|off|1|0"
SPAN = r"\d+ ?(us|ms|s|sec|min|m|h|d|w)?( \d+ ?(us|ms|s|sec|min|m|h|d|w)?)*|infinity"
UNITS = r"[\w@.:-]+\.(service|target|timer|socket|mount)( [\w@.:-]+\.(service|target|timer|socket|mount))*"
PATH = r"/[\w./-]*"
NAMES = r"[\w./-]+( [\w./-]+)*"
MODE = r"0[0-7]{3}"
ANY = r".+"
CAPABILITIES = r"(~?CAP_[A-Z_]+( CAP_[A-Z_]+)*)?"

DIRECTIVES: dict[str, dict[str, str]] = {
    "Unit": {
        "Description": ANY,
        "Documentation": r"(https?://|man:|file:)\S+",
        **dict.fromkeys(("After", "Before", "Wants", "Requires", "BindsTo", "PartOf", "Conflicts"), UNITS),
    },
    "Service": {
        "Type": r"simple|exec|forking|oneshot|dbus|notify|notify-reload|idle",
        **dict.fromkeys(("ExecStart", "ExecStartPre", "ExecReload", "ExecStop"), r"[-+!@:]*/\S+( .+)?"),
        "Restart": r"no|on-success|on-failure|on-abnormal|on-watchdog|on-abort|always",
        **dict.fromkeys(("RestartSec", "TimeoutStartSec", "TimeoutStopSec", "TimeoutSec", "RuntimeMaxSec"), SPAN),
        "KillMode": r"control-group|mixed|process|none",
        "KillSignal": r"SIG[A-Z0-9]+",
        **dict.fromkeys(("User", "Group"), r"[a-z_][a-z0-9_-]*"),
        "DynamicUser": BOOLEAN,
        **dict.fromkeys(("StateDirectory", "RuntimeDirectory", "CacheDirectory", "LogsDirectory"), NAMES),
        **dict.fromkeys(("StateDirectoryMode", "RuntimeDirectoryMode", "CacheDirectoryMode", "UMask"), MODE),
        "WorkingDirectory": rf"-?{PATH}|~",
        "Environment": r'("?[A-Za-z_]\w*=[^" ]*"? ?)+',
        "EnvironmentFile": rf"-?{PATH}",
        "LimitNOFILE": r"\d+(:\d+)?|infinity",
        **dict.fromkeys(("CapabilityBoundingSet", "AmbientCapabilities"), CAPABILITIES),
        "ProtectSystem": rf"{BOOLEAN}|full|strict",
        "ProtectHome": rf"{BOOLEAN}|read-only|tmpfs",
        "ProtectProc": r"noaccess|invisible|ptraceable|default",
        "ProcSubset": r"all|pid",
        **dict.fromkeys(
            (
                "NoNewPrivileges",
                "PrivateTmp",
                "PrivateDevices",
                "PrivateUsers",
                "ProtectKernelTunables",
                "ProtectKernelModules",
                "ProtectKernelLogs",
                "ProtectControlGroups",
                "ProtectClock",
                "ProtectHostname",
                "RestrictNamespaces",
                "RestrictRealtime",
                "RestrictSUIDSGID",
                "LockPersonality",
                "RemoveIPC",
                "MemoryDenyWriteExecute",
            ),
            BOOLEAN,
        ),
        "RestrictAddressFamilies": r"none|~?AF_[A-Z0-9]+( AF_[A-Z0-9]+)*",
        "ReadWritePaths": rf"-?{PATH}( -?{PATH})*",
        "SystemCallArchitectures": r"native|[a-z0-9-]+",
        "SystemCallFilter": r"~?@?[a-z0-9-]+( @?[a-z0-9-]+)*",
        "SystemCallErrorNumber": r"E[A-Z0-9]+|kill",
    },
    "Timer": {
        "OnCalendar": r"(hourly|daily|weekly|monthly)|([A-Z][a-z]{2} )?[\d*]+-[\d*]+-[\d*]+ \d\d?:\d\d(:\d\d)?",
        **dict.fromkeys(("OnBootSec", "OnUnitActiveSec", "RandomizedDelaySec", "AccuracySec"), SPAN),
        "Persistent": BOOLEAN,
        "Unit": UNITS,
    },
    "Install": dict.fromkeys(("WantedBy", "RequiredBy", "Also", "Alias"), UNITS),
}


def faults(unit: str) -> list[str]:
    """Return the lines of a unit that systemd would reject or ignore."""
    section, found = "", []
    for line in unit.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
            known = section in DIRECTIVES
        else:
            name, equals, value = line.partition("=")
            form = DIRECTIVES.get(section, {}).get(name)
            known = bool(equals) and form is not None and re.fullmatch(form, value.strip()) is not None
        if not known:
            found.append(f"[{section}] {line}")
    return found
