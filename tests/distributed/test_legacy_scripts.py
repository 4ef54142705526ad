"""Scripts written as those of the time, started by hand with their arguments and environment, train together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.jobs import SCRIPTS, Job, endpoints, fluidio_run, needs_torch, paddle_variables

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, needs_torch]
GOLDEN = json.loads((SCRIPTS / "legacy" / "golden.json").read_text())


@dataclass
class Start:
    """One process of a job."""

    script: str
    words: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


def roles_by_argument(ends: list[str], out: str) -> list[Start]:
    common = ["--is_local", "0", "--endpoints", ",".join(ends), "--trainers", "2", "--model_output_dir", out]
    servers = [[*common, "--role", "pserver", "--current_endpoint", end] for end in ends]
    trainers = [[*common, "--role", "trainer", "--trainer_id", str(i)] for i in (0, 1)]
    return [Start("ctr_roles.py", words) for words in (*servers, *trainers)]


def paddle_cloud(ends: list[str], out: str) -> list[Start]:
    host, port = ends[0].split(":")
    env = {"PADDLE_PORT": port, "PADDLE_PSERVERS": host, "POD_IP": host, "PADDLE_TRAINERS_NUM": "2"}
    words = ["--cloud_train", "1", "--model_output_dir", out]
    server = Start("ctr_roles.py", words, {**env, "TRAINING_ROLE": "PSERVER"})
    trainers = [{**env, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)} for i in (0, 1)]
    return [server, *(Start("ctr_roles.py", words, one) for one in trainers)]


def book(script: str) -> Callable[[list[str], str], list[Start]]:
    def starts(ends: list[str], out: str) -> list[Start]:
        host, port = ends[0].split(":")
        env = {"PADDLE_PSERVER_IPS": host, "PADDLE_PSERVER_PORT": port, "PADDLE_TRAINERS": "2", "POD_IP": host}
        server = {**env, "PADDLE_TRAINING_ROLE": "PSERVER"}
        trainers = [{**env, "PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)} for i in (0, 1)]
        if script == "ngram_env.py":
            server["PADDLE_TRAINER_ID"] = "0"
        return [Start(script, [out], one) for one in (server, *trainers)]

    return starts


def word2vec(ends: list[str], out: str) -> list[Start]:
    ports = [end.split(":")[1] for end in ends]
    env = {"PADDLE_PORT": ",".join(ports), "PADDLE_PSERVERS": "127.0.0.1,127.0.0.1", "POD_IP": "127.0.0.1"}
    env["PADDLE_TRAINERS_NUM"] = "2"
    servers = [{**env, "TRAINING_ROLE": "PSERVER", "CUR_PORT": port} for port in ports]
    trainers = [{**env, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)} for i in (0, 1)]
    return [Start("word2vec.py", ["--out", out], one) for one in (*servers, *trainers)]


def by_environment(script: str) -> Callable[[list[str], str], list[Start]]:
    def starts(ends: list[str], out: str) -> list[Start]:
        env = {"PADDLE_PSERVER_ENDPOINTS": ",".join(ends), "PADDLE_TRAINERS": "2"}
        servers = [{**env, "PADDLE_TRAINING_ROLE": "PSERVER", "CURRENT_ENDPOINT": end} for end in ends]
        trainers = [{**env, "PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)} for i in (0, 1)]
        return [Start(script, [out], one) for one in (*servers, *trainers)]

    return starts


def by_argument(script: str) -> Callable[[list[str], str], list[Start]]:
    def starts(ends: list[str], out: str) -> list[Start]:
        common = ["--endpoints", ",".join(ends), "--trainers", "2", "--out", out]
        servers = [[*common, "--role", "pserver", "--current_endpoint", end] for end in ends]
        trainers = [[*common, "--role", "trainer", "--trainer_id", str(i)] for i in (0, 1)]
        return [Start(script, words) for words in (*servers, *trainers)]

    return starts


def in_processes(method: str) -> Callable[[list[str], str], list[Start]]:
    return lambda ends, out: [Start("in_processes.py", [out, ",".join(ends), method])]


def first_examples(ends: list[str], out: str) -> list[Start]:
    env = {"PSERVERS": ",".join(ends), "TRAINERS": "2"}
    servers = [{**env, "TRAINING_ROLE": "PSERVER", "SERVER_ENDPOINT": end} for end in ends]
    trainers = [{**env, "TRAINING_ROLE": "TRAINER", "PADDLE_INIT_TRAINER_ID": str(i)} for i in (0, 1)]
    return [Start("old_env.py", [out], one) for one in (*servers, *trainers)]


def fleet_files(script: str, *words: str) -> Callable[[list[str], str], list[Start]]:
    def starts(ends: list[str], out: str) -> list[Start]:
        env = {"PADDLE_PSERVERS_IP_PORT_LIST": ",".join(ends), "PADDLE_TRAINERS_NUM": "2", "POD_IP": "127.0.0.1"}
        servers = [{**env, "TRAINING_ROLE": "PSERVER", "PADDLE_PORT": end.split(":")[1]} for end in ends]
        trainers = [{**env, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)} for i in (0, 1)]
        return [Start(script, [out, *words], one) for one in (*servers, *trainers)]

    return starts


def fleet_roles(strategy: str) -> Callable[[list[str], str], list[Start]]:
    def starts(ends: list[str], out: str) -> list[Start]:
        common = ["--servers", ",".join(ends), "--strategy", strategy, "--out", out]
        every = [[*common, "--role", role, "--id", str(i)] for role in ("server", "worker") for i in (0, 1)]
        return [Start("fleet_roles.py", words) for words in every]

    return starts


def collective(script: str, *words: str) -> Callable[[list[str], str], list[Start]]:
    def starts(ends: list[str], out: str) -> list[Start]:
        return [Start(script, [out, *words], paddle_variables(i, ends)) for i in (0, 1)]

    return starts


def nccl_id(ends: list[str], out: str) -> list[Start]:
    env = {"PADDLE_PSERVER_PORT": "1", "PADDLE_TRAINER_IPS": ",".join(ends)}
    return [Start("gen_nccl_id.py", [out], {**env, "PADDLE_TRAINER_ID": str(i)}) for i in (0, 1)]


JOBS: dict[str, Callable[[list[str], str], list[Start]]] = {
    "roles by argument": roles_by_argument,
    "paddle cloud": paddle_cloud,
    "n-grams": book("ngram_env.py"),
    "trainer api": book("trainer_api.py"),
    "first examples": first_examples,
    "files of a fleet": fleet_files("fleet_dataset.py", "QueueDataset"),
    "memory of a fleet": fleet_files("fleet_dataset.py", "InMemoryDataset"),
    "roles of a fleet": fleet_roles("sync"),
    "geo": fleet_roles("geo"),
    "half async": fleet_roles("half"),
    "nccl2": collective("nccl2_pe.py"),
    "collective fleet": collective("fleet_collective.py"),
    "grad all-reduce": collective("grad_allreduce.py", "grad"),
    "local sgd": collective("grad_allreduce.py", "local"),
    "nccl id": nccl_id,
    "word2vec": word2vec,
    "translation": by_environment("translation.py"),
    "saved clicks": fleet_files("saved_ctr.py"),
    "every save": by_environment("every_save.py"),
    "forked processes": in_processes("fork"),
    "spawned processes": in_processes("spawn"),
    "residual network": collective("resnet_warmup.py"),
    "mnist python2": by_environment("mnist_python2.py"),
    "recommender": by_argument("recommender.py"),
    "two places": by_environment("two_places.py"),
    "hsigmoid ftrl": by_environment("hsigmoid_ftrl.py"),
    "userdefined dataset": by_argument("userdefined_dataset.py"),
    "decayed adagrad": by_environment("decayed_adagrad.py"),
    "wide and deep": fleet_files("wide_and_deep.py"),
    "lamb fleet": collective("lamb_fleet.py"),  # equal to one process of the real Fluid on the joined batches
    "two optimizers": collective("two_optimizers.py"),  # likewise
}


def run(starts: list[Start], out: Path) -> list[Any]:
    with Job() as job:
        for start in starts:
            job.start(fluidio_run(f"legacy/{start.script}", *start.words), {"CPU_NUM": "1", **start.env})
        for ended in job.wait():
            assert ended.status == 0, ended.output
    return [json.loads((out / f"trainer-{i}.json").read_text()) for i in (0, 1)]


@pytest.mark.parametrize("name", JOBS)
def test_a_script_of_the_time_trains_on_two_trainers(name: str, tmp_path: Path) -> None:
    trainers = run(JOBS[name](endpoints(2), str(tmp_path)), tmp_path)
    assert trainers[0]["params"] == trainers[1]["params"]
    expected = GOLDEN.get(name, {"losses": [], "params": {}})
    for trainer, losses in zip(trainers, expected["losses"]):
        np.testing.assert_allclose(trainer["losses"], losses, rtol=1e-6, atol=2e-6)
    atol = expected.get("atol", 2e-6)  # more where a first step divides tiny gradients by themselves
    for parameter, value in expected["params"].items():
        np.testing.assert_allclose(trainers[0]["params"][parameter], value, atol=atol, err_msg=parameter)
