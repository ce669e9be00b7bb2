"""The installed Flower still has everything that `fl_protocol/flower` reaches into, and no other module reaches in."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from flwr.app import MessageType, Metadata

from fl_protocol.flower import launching, node_patches

ROOT = Path(__file__).resolve().parents[2]
LINE = "1.39."
HAVE = f"flwr {version('flwr')}"
HOME = ROOT / "fl_protocol" / "flower"
PULLING = "max_time max_tries_per_object initial_backoff backoff_cap"
# What is called, and the parameters that are given to it by name, by the file of fl_protocol/flower that needs it.
CALLED = {
    "envelope.py": {
        "flwr.supercore.run.Run.create_empty": "run_id",
        "flwr.supercore.run.Run": "primary_task_id federation_id",
        "flwr.common.serde.recorddict_to_proto": "",
        "flwr.common.serde.recorddict_from_proto": "",
    },
    "waiting.py": {
        "flwr.supercore.inflatable.inflatable_utils.pull_objects": PULLING,
        "flwr.supercore.inflatable.inflatable_utils.pull_and_inflate_object_from_tree": PULLING,
    },
    "secret_sharing.py": {
        "flwr.common.secure_aggregation.crypto.shamir.create_shares": "secret threshold num",
        "flwr.common.secure_aggregation.crypto.shamir.combine_shares": "share_list",
        "flwr.common.secure_aggregation.crypto.symmetric_encryption.encrypt": "key plaintext",
        "flwr.common.secure_aggregation.crypto.symmetric_encryption.decrypt": "key ciphertext",
        "flwr.common.secure_aggregation.secaggplus_utils.share_keys_plaintext_concat": "b_share sk_share",
        "flwr.common.secure_aggregation.secaggplus_utils.share_keys_plaintext_separate": "plaintext",
    },
    "in_process.py": {
        "flwr.simulation.run_simulation._run_simulation": "num_supernodes client_app server_app backend_config run app_dir "
        "is_app server_app_context exit_event",
    },
    "control.py": {
        "flwr.supercore.control.ControlHttpClient.from_server_address": "server_address insecure root_certificates interceptors",
        "flwr.supercore.control.ControlHttpClient.ListNodes": "request",
        "flwr.supercore.control.ControlHttpClient.ListRuns": "request",
        "flwr.supercore.control.ControlHttpClient.RegisterNode": "request",
        "flwr.supercore.control.ControlHttpClient.UnregisterNode": "request",
        "flwr.supercore.interceptors.http.runtime_version.RuntimeVersionHttpInterceptor": "component_name",
        "flwr.supercore.error.FlowerError.from_json": "",
        "flwr.supercore.primitives.asymmetric.public_key_to_bytes": "",
        "flwr.common.serde.user_config_from_proto": "",
    },
    "node_patches.py": {
        "flwr.proto.fleet_pb2_grpc.FleetStub": "channel",
        "flwr.supercore.heartbeat.HeartbeatSender": "heartbeat_fn",
        "flwr.supercore.grpc.create_channel": "server_address insecure root_certificates max_message_length interceptors",
        "flwr.supercore.retry.exponential": "max_delay",
        "flwr.supernode.nodestate.in_memory_nodestate.InMemoryNodeState.finish_task": "task_id sub_status details",
        "flwr.supernode.nodestate.in_memory_nodestate.InMemoryNodeState._store_error_replies": "run_ids error",
        "flwr.supernode.nodestate.in_memory_nodestate.InMemoryNodeState._store_generated_message": "message",
        "flwr.supernode.nodestate.in_memory_nodestate.InMemoryNodeState.get_tasks": "task_ids",
        "flwr.supernode.cli.flower_supernode": "",
    },
    "link_patches.py": {
        "flwr.app.message.make_message": "metadata error",
        "flwr.server.superlink.linkstate.sql_linkstate.SqlLinkState.get_message_res": "message_ids run_id",
        "flwr.server.superlink.linkstate.sql_linkstate._message_model_to_dict": "model",
        "flwr.server.superlink.linkstate.sql_linkstate.convert_sint64_values_in_dict_to_uint64": "",
        "flwr.server.superlink.linkstate.sql_linkstate.dict_to_message": "",
        "flwr.server.superlink.linkstate.utils.create_message_error_unavailable_res_message": "ins_metadata error_type",
        "flwr.superlink.cli.flower_superlink": "",
        "flwr.supercore.grpc.generic_create_grpc_server": "interceptors",
    },
    "launching.py": {
        "flwr.supernode.runtime.run_clientapp.run_clientapp": "runtime_api_address token insecure certificates parent_pid",
        "flwr.supercore.superexec.run_superexec.run_superexec": "runtime_api_address insecure root_certificates_path "
        "superexec_auth_secret",
        "flwr.supercore.superexec.run_superexec.get_executor": "",
        "flwr.supercore.superexec.executor.SubprocessExecutor.get_eligible_capacity": "supported_task_types",
        "flwr.supercore.superexec.executor.SubprocessExecutor.launch": "spec",
        "flwr.supercore.superexec.executor.SubprocessExecutor.reconcile": "",
        "flwr.supercore.superexec.executor.SubprocessExecutor.close": "",
        "flwr.supercore.superexec.executor.ExecutionSpec": "runtime_api_address token insecure root_certificates_path",
        "flwr.supercore.superexec.executor.LaunchResult.accepted": "",
        "flwr.supercore.runtime.RuntimeHttpClient.PushTaskOutput": "request",
        "flwr.supercore.logger.mirror_output_to_queue": "log_queue",
        "flwr.superlink.runtime.run_serverapp": "runtime_api_address log_queue token insecure certificates parent_pid",
    },
    "careful_grid.py": {
        "flwr.superlink.grid.HttpGrid": "runtime_api_address insecure root_certificates token",
        "flwr.superlink.grid.HttpGrid.push_messages": "messages",
        "flwr.superlink.grid.HttpGrid.pull_messages": "message_ids",
        "flwr.supercore.inflatable.inflatable_utils.inflate_object_from_contents": "object_id object_contents",
        "flwr.supercore.inflatable.inflatable_protobuf_utils.make_pull_object_fn_protobuf": "node run_id",
        "flwr.supercore.inflatable.inflatable_object.iterate_object_tree": "",
    },
    "submission.py": {
        "flwr.cli.build.build_fab_from_disk": "app",
        "flwr.common.config.parse_config_args": "",
        "flwr.supercore.control.ControlHttpClient.from_server_address": "server_address insecure root_certificates "
        "interceptors",
        "flwr.supercore.error.FlowerError.from_json": "",
    },
}
# Values that are used or replaced, and what they are today.
VALUES = {
    "envelope.py": {
        "flwr.common.constant.SUPERLINK_NODE_ID": 1,
        "flwr.common.constant.ErrorCode.CLIENT_APP_RAISED_EXCEPTION": 2,
        "flwr.common.constant.ErrorCode.MESSAGE_UNAVAILABLE": 3,
        "flwr.common.constant.ErrorCode.REPLY_MESSAGE_UNAVAILABLE": 4,
        "flwr.common.constant.ErrorCode.NODE_UNAVAILABLE": 5,
        "flwr.common.constant.ErrorCode.CLIENT_APP_CRASHED": 8,
    },
    "control.py": {
        "flwr.supercore.constant.NodeStatus.ONLINE": "online",
        "flwr.supercore.constant.NodeStatus.OFFLINE": "offline",
        "flwr.supercore.constant.NodeStatus.REGISTERED": "registered",
        "flwr.supercore.constant.NodeStatus.UNREGISTERED": "unregistered",
        "flwr.supercore.error.base.ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE": 23,
    },
    "in_process.py": {
        "flwr.supercore.constant.NOOP_FEDERATION_ID": "@none/default",
        "flwr.supercore.telemetry.EventType.PYTHON_API_RUN_SIMULATION_LEAVE": "PYTHON_API_RUN_SIMULATION_LEAVE",
    },
    "node_patches.py": {
        "flwr.client.grpc_rere_client.connection.HEARTBEAT_DEFAULT_INTERVAL": 30,
        "flwr.supercore.heartbeat.HEARTBEAT_DEFAULT_INTERVAL": 30,
        "flwr.client.grpc_rere_client.connection.HEARTBEAT_CALL_TIMEOUT": 5,
        "flwr.supercore.heartbeat.HEARTBEAT_CALL_TIMEOUT": 5,
        "flwr.common.constant.HEARTBEAT_PATIENCE": 2,
        "flwr.supercore.retry.grpc_retry.MAX_RETRY_DELAY": 20,
        "flwr.supercore.error.base.ApiErrorCode.FLEET_NODE_ACTIVATION_FAILED": int(node_patches.NOT_LET_IN),
    },
    "link_patches.py": {
        "flwr.server.superlink.fleet.message_handler.message_handler.HEARTBEAT_MIN_INTERVAL": 10,
    },
    "launching.py": {
        "flwr.supercore.superexec.run_superexec._TASK_POLL_INTERVAL_ENV": launching.TASK_POLL_VARIABLE,
        "flwr.common.constant.SubStatus.FAILED": "failed",
        "flwr.supercore.constant.TaskType.CLIENT_APP": "flwr-clientapp",
        "flwr.supercore.constant.TaskType.SERVER_APP": "flwr-serverapp",
    },
}
# What everybody may import: these modules, and what lies below the first three.
PUBLIC = ("flwr.app", "flwr.serverapp", "flwr.clientapp", "flwr.client", "flwr.simulation")
MODULE = re.compile(r"flwr(\.\w+)+")
# It imports ErrorCode from Flower's constants, and will have it from fl_protocol.flower.
NOT_YET: set[str] = set()


def rows(table: dict[str, dict[str, Any]]) -> list[Any]:
    return [pytest.param(file, *row, id=row[0]) for file, entries in table.items() for row in entries.items()]


def reached(name: str, file: str) -> Any:
    """What has this dotted name, in whichever module of Flower."""
    module, _, rest = name.rpartition(".")
    while True:
        try:
            found: Any = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, inner = module.rpartition(".")
            rest = f"{inner}.{rest}"
            assert module, f"{HAVE} has no {name} any more, which fl_protocol/flower/{file} uses."
    for part in rest.split("."):
        assert hasattr(found, part), f"{HAVE} has no {name} any more, which fl_protocol/flower/{file} uses."
        found = getattr(found, part)
    return found


def test_the_line_of_flower_is_the_one_that_was_read() -> None:
    assert version("flwr").startswith(LINE), (
        f"{HAVE} is installed, and fl_protocol/flower was written against {LINE}x: read there what it reaches into, compare "
        "it with the new version, and change LINE when it fits."
    )


@pytest.mark.parametrize(("file", "name", "given"), rows(CALLED))
def test_what_is_called_is_there_and_takes_what_it_is_given(file: str, name: str, given: str) -> None:
    taken = inspect.signature(reached(name, file)).parameters
    missing = [parameter for parameter in given.split() if parameter not in taken]
    assert not missing, (
        f"{name} of {HAVE} takes no {', '.join(missing)} any more, which fl_protocol/flower/{file} gives it; "
        f"it takes {', '.join(taken)}."
    )


@pytest.mark.parametrize("field", ["_message_id", "_src_node_id"])
def test_what_is_written_on_a_message_lies_where_it_lay(field: str) -> None:
    assert field in vars(Metadata(1, "first", 1, 2, "", "", 0.0, 1.0, MessageType.TRAIN)), (
        f"flwr.app.Metadata of {HAVE} keeps no {field} any more, which fl_protocol/flower/envelope.py writes."
    )


@pytest.mark.parametrize("field", ["run_id", "node_id", "task_id"])
def test_who_this_process_speaks_for_can_be_set(field: str) -> None:
    known = getattr(type(reached("flwr.supercore.task_identity.TaskIdentity", "envelope.py")), field, None)
    assert isinstance(known, property) and known.fset, (
        f"TaskIdentity.{field} of {HAVE} can no longer be set, which fl_protocol/flower/envelope.py does."
    )


@pytest.mark.parametrize("name", CALLED["waiting.py"])
def test_the_pauses_are_defaults_of_keywords(name: str) -> None:
    defaults = reached(name, "waiting.py").__kwdefaults__ or {}
    assert set(PULLING.split()) <= set(defaults), (
        f"{name} of {HAVE} has no keyword defaults for {PULLING} any more, which fl_protocol/flower/waiting.py changes."
    )


@pytest.mark.parametrize(("file", "name", "value"), rows(VALUES))
def test_values_are_what_they_were(file: str, name: str, value: Any) -> None:
    now = reached(name, file)
    assert now == value, f"{name} of {HAVE} is {now!r} instead of {value!r}, on which fl_protocol/flower/{file} relies."


def test_the_supernodes_loop_uses_time_only_to_sleep() -> None:
    loop = importlib.import_module("flwr.supernode.start_client_internal")
    uses = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(loop)))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time"
    ]
    assert {use.attr for use in uses} == {"sleep"}, (
        f"{loop.__name__} of {HAVE} uses more of `time` than `sleep`, which is all that node_patches.Pauses stands in for."
    )
    assert f"time.sleep({node_patches.FLOWERS_PAUSE})" in inspect.getsource(loop), (
        f"{loop.__name__} of {HAVE} no longer waits {node_patches.FLOWERS_PAUSE} s for work, by which node_patches.Pauses "
        "tells an idle supernode from a busy one."
    )


def test_flowers_connection_makes_its_stub_by_the_name_that_is_replaced() -> None:
    connection = importlib.import_module("flwr.client.grpc_rere_client.connection")
    source = inspect.getsource(connection)
    assert "adapter_cls = FleetStub" in source and "stub.ActivateNode(" in source, (
        f"{connection.__name__} of {HAVE} no longer activates a node by FleetStub, which node_patches.patient_stub replaces."
    )


def sources() -> list[Path]:
    """Every file of the project that is installed, but those that may reach in."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [pattern.removesuffix("*") for pattern in declared["packages"]["find"]["include"]]
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    files += [ROOT / f"{module}.py" for module in declared["py-modules"]]
    return [file for file in files if not file.is_relative_to(HOME)]


def is_public(module: str) -> bool:
    below = tuple(f"{package}." for package in PUBLIC[:3])
    private = any(part.startswith("_") for part in module.split("."))
    return not private and (module in PUBLIC or module.startswith(below))


def reaches(tree: ast.AST) -> Iterator[str]:
    """What a module does with Flower that only fl_protocol/flower may do."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "flwr" and not is_public(name.name):
                    yield f"imports {name.name} (line {node.lineno})"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flwr":
            for name in node.names:
                if name.name.startswith("_") or not (
                    is_public(str(node.module)) or is_public(f"{node.module}.{name.name}")
                ):
                    yield f"imports {name.name} from {node.module} (line {node.lineno})"
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
            if isinstance(node.value, (ast.Attribute, ast.Name)) and ast.unparse(node.value).endswith("metadata"):
                yield f"writes into metadata.__dict__ (line {node.lineno})"
        elif isinstance(node, ast.Constant) and MODULE.fullmatch(str(node.value)) and not is_public(str(node.value)):
            yield f"names {node.value} (line {node.lineno})"


def test_nobody_else_reaches_into_flower() -> None:
    files = sources()
    assert len(files) > 50
    found = [
        f"{file.relative_to(ROOT)} {what}"
        for file in sorted(files)
        if str(file.relative_to(ROOT)) not in NOT_YET
        for what in reaches(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert not found, "Only fl_protocol/flower reaches into Flower; let it offer what is needed. " + "; ".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "import flwr.supercore.run",
        "from flwr import supernode",
        "from flwr.common.constant import ErrorCode",
        "from flwr.simulation.run_simulation import _run_simulation",
        "from flwr.simulation import _private",
        "from flwr.client.grpc_rere_client import connection",
        "message.metadata.__dict__['_message_id'] = 1",
        "metadata = message.metadata; metadata.__dict__.update(a=1)",
        "importlib.import_module('flwr.supercore.run')",
    ],
)
def test_a_reach_is_seen(line: str) -> None:
    assert list(reaches(ast.parse(line)))


def test_what_is_public_is_no_reach() -> None:
    allowed = "from flwr.app import Message\nfrom flwr import app\nfrom flwr.serverapp.strategy import Strategy\nimport flwr.client"
    assert not list(reaches(ast.parse(allowed + "\nmessage.__dict__")))
