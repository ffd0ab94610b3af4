"""The console script is the binary."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import onlap
import psycopg

ONLAP = Path(sys.executable).with_name("onlap")


def run(*arguments, **more):
    return subprocess.run([ONLAP, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **more)


def test_version_and_usage():
    assert onlap.__version__ in run("--version").stdout
    wrong = run("no-such-command")
    assert wrong.returncode == 2
    assert "unrecognized subcommand" in wrong.stderr
    assert run("stats", "/no/such/directory").returncode == 2


def test_a_platform_without_a_library_is_told(tmp_path):
    sources = Path(onlap.__file__).parent
    shutil.copytree(sources, tmp_path / "onlap", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    script = "import sys; sys.path.insert(0, sys.argv[1]); import onlap"
    done = subprocess.run(
        [sys.executable, "-E", "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "ImportError: onlap has no library here for CPython 3." in done.stderr
    assert "its wheels are for CPython 3.10 or newer on Linux, x86-64 and arm64" in done.stderr


def test_the_demo_is_there():
    done = run("demo", "--help")
    assert done.returncode == 0
    assert "flights" in done.stdout


def test_stats_of_what_python_wrote(tmp_path):
    with onlap.open(tmp_path / "data", memory="64MB") as db:
        db.sql("CREATE TABLE places (a int PRIMARY KEY)")
    done = run("stats", tmp_path / "data")
    assert done.returncode == 0
    assert "table places" in done.stdout


def test_serve_ends_in_order(tmp_path):
    command = [ONLAP, "serve", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", "--memory-limit", "64MB"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        address = ""
        while "address" not in address:
            address = server.stdout.readline()
            assert address, server.stderr.read()
        port = int(address.rpartition(":")[2])
        with psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres") as client:
            assert client.execute("SELECT 1").fetchone() == (1,)
        began = time.monotonic()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == 0
        assert time.monotonic() - began < 30
