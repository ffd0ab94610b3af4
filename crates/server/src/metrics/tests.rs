//! Is the page one that Prometheus reads?

use onlap::{DataType, Database, Options, TableSpec, Value};

use super::*;

#[test]
fn every_line_is_a_comment_or_a_name_with_a_number() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let db = Database::open(dir.path(), Options::default()).expect("a new database");
    let spec = TableSpec::new("a\"b").column("id", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).expect("a table");
    table.insert(&[Value::Int(1)]).expect("a row");
    let text = page(&db.stats().expect("stats"), Counts { sessions: 3, ..Counts::default() }, 0);
    for line in text.lines().filter(|l| !l.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(name.starts_with("onlap_") && value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(text.contains("\nonlap_sessions 3\n"));
    assert!(text.contains("\nonlap_table_row_ids{table=\"a\\\"b\"} 1\n"));
    assert!(text.contains("\nonlap_memory_used_bytes{part=\"memtables\"} "));
}
