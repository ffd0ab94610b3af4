"""Opening, closing, and another process in the way."""

import os
import subprocess
import sys
import threading

import onlap
import pytest


def test_a_busy_directory_names_its_owner(tmp_path):
    script = "import onlap, sys; db = onlap.open(sys.argv[1], memory='64MB'); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "open\n"
        with pytest.raises(onlap.BusyError) as caught:
            onlap.open(tmp_path / "data")
        assert str(owner.pid) in str(caught.value)
        assert caught.value.sqlstate == "55006"
        owner.stdin.close()
        assert owner.wait() == 0
    onlap.open(tmp_path / "data", memory="64MB").close()


def test_what_was_committed_is_there_again(tmp_path):
    with onlap.open(tmp_path / "data", memory="64MB") as db:
        db.sql("CREATE TABLE t AS SELECT generate_series(1, 100) AS a")
        held = db.sql("SELECT 1")
    assert held.fetchall() == [(1,)]
    with pytest.raises(onlap.OperationalError):
        db.sql("SELECT 1")
    db.close()
    with onlap.open(tmp_path / "data", memory="64MB", create=False) as db:
        assert db.sql("SELECT sum(a) FROM t").scalar() == 5050
    with pytest.raises(onlap.Error):
        onlap.open(tmp_path / "absent", create=False)


@pytest.mark.parametrize("memory", ["lots", "1XB", "-1"])
def test_sizes_are_read_or_refused(tmp_path, memory):
    with pytest.raises(ValueError, match="no size"):
        onlap.open(tmp_path / "data", memory=memory)


def test_settings_are_judged(tmp_path):
    with pytest.raises(onlap.Error):
        onlap.open(tmp_path / "data", sync="sometimes")
    with pytest.raises(onlap.Error):
        onlap.open(tmp_path / "data", memory=1)
    assert not (tmp_path / "data").exists() or os.listdir(tmp_path / "data") == []


def test_many_threads(db):
    db.sql("CREATE TABLE t (a int PRIMARY KEY)")
    failed = []

    def work(first):
        try:
            for at in range(50):
                db.sql("INSERT INTO t VALUES ($1)", [first + at])
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert db.sql("SELECT count(*) FROM t").scalar() == 600
