"""The home's own promises: where the broker listens, and whose the key is."""

from __future__ import annotations

import pytest

from workbench.home import broker_socket
from workbench.supervisor.broker import Broker


@pytest.mark.parametrize("name", ["a" * 120, "mit Leerzeichen & 100 %", "höme"])
def test_broker_listens_also_where_the_home_fits_no_socket_and_no_url(tmp_path, name):
    home = tmp_path / name
    home.mkdir()
    path = broker_socket(home)
    broker = Broker(path, home / "broker")

    broker.start()

    try:
        assert broker.answers()
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert len(str(path)) < 100
    finally:
        broker.stop()
    assert not broker.answers()


def test_queue_survives_the_broker(tmp_path):
    import redis

    broker = Broker(tmp_path / "b.sock", tmp_path / "broker")
    broker.start()
    with redis.Redis(unix_socket_path=str(tmp_path / "b.sock")) as client:
        client.rpush("runs", "ticket")
    broker.stop()

    broker.start()

    with redis.Redis(unix_socket_path=str(tmp_path / "b.sock")) as client:
        assert client.lrange("runs", 0, -1) == [b"ticket"]
    broker.stop()
