"""The environment makes the high-level Trainer a server, one of many trainers, or leaves it alone."""

from __future__ import annotations

import pytest

import fluidio as fluid
from fluidio.contrib.cluster import Cluster, find_cluster

ENV = {
    "PADDLE_TRAINING_ROLE": "TRAINER",
    "PADDLE_PSERVER_IPS": "10.0.0.1,10.0.0.2",
    "PADDLE_TRAINERS": "3",
    "PADDLE_TRAINER_ID": "2",
    "PADDLE_CURRENT_IP": "10.0.0.2",
}


def test_a_process_without_a_role_trains_alone() -> None:
    assert find_cluster({}) is None


def test_a_trainer_knows_its_number_and_the_servers() -> None:
    assert find_cluster(ENV) == Cluster("TRAINER", 2, 3, "10.0.0.1:6174,10.0.0.2:6174", "10.0.0.2:6174")


def test_a_server_knows_its_endpoint_and_runs_a_program_that_waits() -> None:
    cluster = find_cluster({**ENV, "PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_PSERVER_PORT": "7000"})
    assert cluster is not None and cluster.is_server and cluster.endpoint == "10.0.0.2:7000"
    one = Cluster("PSERVER", 0, 1, cluster.servers, cluster.endpoint)
    main, startup = one.distribute(fluid.Program(), fluid.Program())
    assert [op.type for op in main.global_block().ops] == ["listen_and_serv"] and not startup.global_block().ops


def test_a_role_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="PADDLE_TRAINING_ROLE must be TRAINER or PSERVER"):
        find_cluster({**ENV, "PADDLE_TRAINING_ROLE": "BOSS"})
