"""A Kafka broker in a process of its own on loopback, with Kafka's jars from Maven."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.maven import fetch, java_command

VERSION = "3.9.1"
_START_SECONDS = 90
_ATTEMPTS = 3

#: One node, small and quick to start, which removes no message however old its timestamp is.
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
log.cleaner.enable=false
num.network.threads=1
num.io.threads=2
"""


class _CannotStartError(Exception):
    """A broker that ended before it listened, for example because another process took its port."""


@dataclass(frozen=True)
class Broker:
    """A broker that listens.

    ``address`` is its host and port, and ``log`` the file with its output.
    """

    address: str
    log: Path

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> str:
        """Create a topic, and return its name."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin: Any = AdminClient({"bootstrap.servers": self.address})
        topic = NewTopic(name, partitions, replication_factor=1, config=dict(settings or {}))
        admin.create_topics([topic])[name].result(timeout=30)
        return name


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """Run a broker with its data below a folder, until the context ends.

    Raises
    ------
    CannotFetchError
        If Kafka's jars cannot be had.
    """
    jars = fetch("org.apache.kafka", "kafka_2.13", VERSION, folder)
    classpath = os.pathsep.join(map(str, jars))
    for attempt in range(_ATTEMPTS):
        home = folder / f"broker-{attempt}"
        home.mkdir()
        ports = free_ports(2)
        process = _start(classpath, home, *ports)
        try:
            broker = Broker(f"127.0.0.1:{ports[0]}", home / "log.txt")
            try:
                _wait_until_ready(broker, process)
            except _CannotStartError:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            yield broker
            return
        finally:
            process.kill()
            process.wait()


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that no process listens on, until another process takes them."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _start(classpath: str, home: Path, broker: int, controller: int) -> subprocess.Popen[bytes]:
    """Start a broker with a data directory as Kafka's tool of storage formats it, which takes a JVM."""
    properties = home / "server.properties"
    properties.write_text(_PROPERTIES.format(broker=broker, controller=controller, data=home / "data"))
    java = [java_command(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath]
    cluster, folder = (base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=") for _ in range(2))
    (home / "data").mkdir()
    (home / "data" / "meta.properties").write_text(
        f"version=1\nnode.id=1\ncluster.id={cluster}\ndirectory.id={folder}\n"
    )
    # the kernel ends the broker with the tests, even if they are killed
    tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with (home / "log.txt").open("wb") as log:
        return subprocess.Popen(
            [*tied, *java, "kafka.Kafka", str(properties)], cwd=home, stdout=log, stderr=subprocess.STDOUT
        )


def _wait_until_ready(broker: Broker, process: subprocess.Popen[bytes]) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        # with this level the client does not write to the standard error that the broker does not listen yet
        client: Any = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        try:
            if client.list_topics(timeout=1).brokers:
                return
        except KafkaException:
            time.sleep(0.2)
    raise _CannotStartError(f"the broker does not listen: {broker.log.read_text()[-2000:]}")
