//! Are indexes on real data as large as `\advise` predicts, and is what the shell gives to programs what the views say?

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What predictions may err by.
const ERROR: f64 = 0.2;

const TABLE: &str = "CREATE TABLE flights (year int2, month int2, day int2, dep_time int2, \
    sched_dep_time int2, dep_delay int2, arr_time int2, sched_arr_time int2, arr_delay int2, \
    carrier text, flight int4, tailnum text, origin text, dest text, air_time int2, distance int4, \
    hour int2, minute int2, time_hour timestamptz);";

/// Each reads all flights for some of them.
const READS: [&str; 6] = [
    "SELECT count(*) FROM flights WHERE tailnum = 'N14228';",
    "SELECT count(*) FROM flights WHERE carrier = 'UA' AND dep_delay > 600;",
    "SELECT count(*) FROM flights WHERE origin = 'EWR' AND dest = 'IAH';",
    "SELECT count(*) FROM flights WHERE flight = 1545;",
    "SELECT count(*) FROM flights WHERE time_hour BETWEEN '2013-03-01' AND '2013-03-02';",
    "SELECT count(*) FROM flights WHERE distance = 4983;",
];

/// What the shell prints for statements and commands.
fn shell(dir: &Path, flags: &[&str], text: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_onlap"))
        .arg("shell")
        .args(flags)
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}\n{told}");
    String::from_utf8(out.stdout).expect("texts are UTF-8")
}

fn rows(json: &str) -> Vec<Value> {
    match serde_json::from_str(json) {
        Ok(Value::Array(rows)) => rows,
        other => panic!("no array: {other:?} {json}"),
    }
}

#[test]
fn advice_on_flights_is_as_large_as_predicted() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (dir, csv) = (temporary.path().join("db"), temporary.path().join("flights.csv"));
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/flights.csv.zst");
    let packed = std::fs::File::open(data).expect("the data are there");
    let text = zstd::decode_all(packed).expect("they are whole");
    std::fs::write(&csv, text).expect("there is room");
    let reads: Vec<&str> = READS.iter().flat_map(|read| [*read; 2]).collect();
    let script = format!(
        "{TABLE}\n\\copy flights FROM '{}' (FORMAT csv, HEADER, NULL 'NA')\n{}\nSET onlap.advice_time = '10min';\n\\advise --json\n",
        csv.display(),
        reads.join("\n")
    );
    let printed = shell(&dir, &[], &script);
    let advised = rows(&printed[printed.find("[\n").expect("advice")..]);
    assert_eq!(advised.len(), READS.len(), "{advised:#?}");
    assert!(
        advised.iter().all(|row| row["kind"] == "missing" && row["saved_ms"].as_f64() > Some(0.0))
    );

    let all: Vec<&str> = advised.iter().filter_map(|row| row["sql"].as_str()).collect();
    let built = shell(&dir, &[], &format!("{};\n\\ledger --json flights\n", all.join(";\n")));
    let ledger = rows(&built);
    assert_eq!(ledger.len(), READS.len());
    for row in &advised {
        let name = &row["index_name"];
        let index = ledger.iter().find(|index| index["index_name"] == *name).expect("it was built");
        let bytes = |row: &Value| row["bytes_on_disk"].as_f64().expect("a number");
        let error = bytes(row) / bytes(index) - 1.0;
        println!("{name}: {} bytes, predicted {error:+.3}", bytes(index));
        assert!(error.abs() < ERROR, "{name}: {row} {index}");
        assert_eq!(index["visible"], true);
    }

    let table = shell(&dir, &["--csv"], "SELECT 1 AS a, NULL AS b, 'x, \"y\"' AS c;\n");
    assert_eq!(table, "a,b,c\n1,,\"x, \"\"y\"\"\"\n");
    let table = shell(&dir, &["--json"], "SELECT 1.50 AS a, true AS b, NULL AS c, '<b>' AS d;\n");
    assert_eq!(table, "[\n  {\"a\": 1.50, \"b\": true, \"c\": null, \"d\": \"<b>\"}\n]\n");
    let header = shell(&dir, &[], "\\ledger --csv nothing\n");
    assert!(
        header.starts_with("schema_name,table_name,index_name,") && header.lines().count() == 1
    );
    assert!(shell(&dir, &[], "\\advise\n").is_empty());
}
