"""How fast do rows come and go, next to the engine's own batches?

    python crates/python/benches/speed.py [ROWS] target/release/examples/columns_speed

The package is the one that is installed. Rows are the insert benchmark's: seven columns, a rising key and three indexes.
Everything is made before the clock starts, and each side works in a process of its own.
"""

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time

MEMORY = "1GB"
# Rows of a commit where not all are one.
COMMIT = 1 << 16

TABLE = """
CREATE TABLE bench (
    id int8 PRIMARY KEY, register int NOT NULL, customer int NOT NULL, product int NOT NULL,
    price float8 NOT NULL, at timestamptz NOT NULL, data text NOT NULL);
CREATE INDEX by_register ON bench (price, at, customer);
CREATE INDEX by_customer ON bench (price, customer);
CREATE INDEX by_product ON bench (product);
"""


def rows(count):
    import numpy as np
    import pyarrow as pa

    at = np.arange(count, dtype=np.int64)
    words = pa.array([f"row {n:06}" for n in range(min(count, 1_000_000))])
    data = pa.chunked_array([words] * -(-count // 1_000_000))[:count]
    return pa.table({
        "id": at,
        "register": pa.array((at * 31 % 1009).astype(np.int32)),
        "customer": pa.array((at * 7919 % 100_003).astype(np.int32)),
        "product": pa.array((at * 104_729 % 10_007).astype(np.int32)),
        "price": (at * 7919 % 100_003) / 100.0,
        "at": pa.array(1_700_000_000_000_000 + at * 1000, pa.timestamp("us", "UTC")),
        "data": data,
    })  # fmt: skip


def load(path, count, commit, answer):
    import onlap

    table = rows(count)
    with onlap.open(path, memory=MEMORY, sync="os") as db:
        db.script(TABLE)
        bench = db.table("bench")
        began = time.perf_counter()
        for first in range(0, count, commit or count):
            bench.insert(table.slice(first, commit or count))
        answer.put(time.perf_counter() - began)


def read(path, answer):
    import onlap
    import pyarrow as pa
    import pyarrow.compute as pc

    with onlap.open(path, memory=MEMORY, sync="os") as db:
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            count, total = 0, 0
            for batch in pa.RecordBatchReader.from_stream(db.sql("SELECT * FROM bench")):
                count += batch.num_rows
                total += pc.sum(batch["id"]).as_py()
            seconds.append(time.perf_counter() - began)
        answer.put((min(seconds), count, total))


def apart(work, *arguments):
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=work, args=(*arguments, answer))
    process.start()
    while process.is_alive() and answer.empty():
        time.sleep(0.05)
    # One that has failed has said why.
    given = answer.get(timeout=1)
    process.join()
    return given


def main():
    count, program = int(sys.argv[1]), sys.argv[2]
    report = {"rows": count, "floors and targets": {"insert": [0.7, 0.9], "read": [0.5, 0.8]}}
    for name, commit in (("one commit", 0), (f"commits of {COMMIT}", COMMIT)):
        with tempfile.TemporaryDirectory() as folder:
            own = subprocess.run(
                [program, "load", f"{folder}/engine", str(count), str(commit)], check=True, capture_output=True, text=True
            )
            engine = float(own.stdout)
        with tempfile.TemporaryDirectory() as folder:
            python = apart(load, f"{folder}/python", count, commit)
            if commit:
                scanned = subprocess.run(
                    [program, "scan", f"{folder}/python", "bench"], check=True, capture_output=True, text=True
                )
                scan = min(float(line.split()[0]) for line in scanned.stdout.splitlines())
                read_s, read_rows, total = apart(read, f"{folder}/python")
                assert (read_rows, total) == (count, count * (count - 1) // 2)
                report["read"] = {
                    "engine_scan_s": scan, "sql_to_arrow_s": round(read_s, 3), "ratio": round(scan / read_s, 3),
                }  # fmt: skip
        report[f"insert, {name}"] = {
            "engine_s": engine, "python_s": round(python, 3), "ratio": round(engine / python, 3),
            "python_rows_per_s": round(count / python),
        }  # fmt: skip
        print(json.dumps(report, indent=2), flush=True)


if __name__ == "__main__":
    main()
