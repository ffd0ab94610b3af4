//! An index whose runs keep the first part of each key finds what an ordinary one on the same columns finds.

use onlap::{
    CheckOptions, DataType, Database, IndexSpec, KeyRange, KeysKept, Options, Scan, Snapshot,
    SyncMode, Table, TableSpec, Value, check,
};
use onlap_base::rng::Rng;

const SHORT: &str = "short";
const PLAIN: &str = "plain";

fn options(seed: u64) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.tuning.block_bytes = 512;
    options.tuning.run_file_bytes = 4096;
    options.tuning.block_rows = [64, 300, 4096][seed as usize % 3];
    options
}

fn create(db: &Database, ty: DataType, descending: bool) -> Table {
    let index = |name: &str| {
        let spec = IndexSpec::new(name, ["code", "n"]);
        if descending { spec.descending("code") } else { spec }
    };
    let spec = TableSpec::new("things")
        .column("id", DataType::Int8)
        .nullable_column("code", ty)
        .column("n", DataType::Int4)
        .column("rest", DataType::Text)
        .primary_key(["id"])
        .index(index(PLAIN))
        .index(index(SHORT).keys(KeysKept::Short));
    db.create_table(spec).unwrap()
}

/// A value with one of a few beginnings, so that cut keys are equal; or with one of its own.
fn code(ty: DataType, uuids: bool, rng: &mut Rng) -> Value {
    let head = if rng.chance(0.5) { rng.below(20) } else { rng.next_u64() };
    let tail = if rng.chance(0.5) { rng.below(3) } else { rng.next_u64() };
    let number = u128::from(head) << 64 | u128::from(tail);
    let number = if rng.chance(0.2) { u128::from(tail) } else { number.rotate_left(40) };
    let hex = format!("{number:032x}");
    match ty {
        _ if !uuids && rng.below(30) == 0 => Value::Null,
        DataType::Uuid => Value::Uuid(number.to_be_bytes()),
        DataType::Bytea => {
            let bytes = number.to_be_bytes();
            Value::Bytes(bytes[..rng.below(17) as usize].to_vec())
        }
        _ if uuids => {
            Value::Text([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
        }
        _ => Value::Text(hex[..rng.below(33) as usize].to_owned()),
    }
}

fn ranges(rng: &mut Rng, some: &mut dyn FnMut(&mut Rng) -> Value) -> Vec<KeyRange> {
    let (a, b, c) = (some(rng), some(rng), some(rng));
    let n = || Value::Int(1);
    vec![
        KeyRange::all(),
        KeyRange::from([a.clone()]),
        KeyRange::after([b.clone()]),
        KeyRange::to([a.clone()]),
        KeyRange::before([b.clone()]),
        KeyRange::eq([c.clone()]),
        KeyRange::eq([c.clone(), n()]),
        KeyRange::after([c.clone(), n()]).and(KeyRange::to([a.clone(), n()])),
        KeyRange::after([c.clone(), n()]).and(KeyRange::to([c])),
        KeyRange::eq([Value::Null]),
        KeyRange::between([a], [b]),
    ]
}

fn compare(snapshot: &Snapshot, table: &Table, rng: &mut Rng, ty: DataType, uuids: bool) {
    let mut known: Vec<Value> = Vec::new();
    let all = snapshot.index_scan(table, PLAIN, KeyRange::all(), Scan::all()).unwrap();
    known.extend(all.rows().unwrap().into_iter().map(|row| row[1].clone()));
    let mut some = |rng: &mut Rng| match known.is_empty() || rng.below(4) == 0 {
        true => code(ty, uuids, rng),
        false => known[rng.below(known.len() as u64) as usize].clone(),
    };
    for range in ranges(rng, &mut some) {
        let rows = |name: &str, scan: Scan| {
            let rows = snapshot.index_scan(table, name, range.clone(), scan).unwrap();
            rows.rows().unwrap()
        };
        let limit = 1 + rng.below(40) as usize;
        for scan in [
            Scan::all(),
            Scan::all().reverse(),
            Scan::all().limit(limit),
            Scan::all().reverse().limit(limit),
            Scan::all().columns(["n", "code"]),
            Scan::all().columns(["code"]).reverse(),
        ] {
            assert_eq!(rows(SHORT, scan.clone()), rows(PLAIN, scan), "{range:?}");
        }
        let ids = |name| snapshot.index_row_ids(table, name, range.clone()).unwrap();
        assert_eq!(ids(SHORT), ids(PLAIN), "{range:?}");
        let count = |name| snapshot.index_count(table, name, range.clone()).unwrap();
        assert_eq!(count(SHORT), count(PLAIN), "{range:?}");
        let groups = |name| snapshot.distinct(table, name, 1, range.clone()).unwrap();
        assert_eq!(groups(SHORT), groups(PLAIN), "{range:?}");
    }
    let key = [some(rng)];
    let first = |name| snapshot.get_by(table, name, &key, None).unwrap();
    assert_eq!(first(SHORT), first(PLAIN), "{key:?}");
}

fn forms(db: &Database) -> Vec<&'static str> {
    let stats = db.stats().unwrap();
    let index = stats.tables[0].indexes.iter().find(|i| i.name == SHORT).unwrap();
    index.runs.iter().map(|r| r.form).collect()
}

/// Rows by the hundreds, or thousands of one beginning, which no run cuts.
fn insert(db: &Database, table: &Table, rng: &mut Rng, next: &mut i64, of: (DataType, bool)) {
    let many = rng.below(8) == 0;
    let n = if many { 4200 } else { 1 + rng.below(1200) };
    let same = code(of.0, of.1, rng);
    let row = |rng: &mut Rng, next: &mut i64| {
        *next += 1;
        let code = if many { same.clone() } else { code(of.0, of.1, rng) };
        let n = Value::Int(rng.below(3) as i64);
        vec![Value::Int(*next), code, n, Value::Text(format!("rest of {next}"))]
    };
    let rows: Vec<_> = (0..n).map(|_| row(rng, next)).collect();
    if rng.chance(0.5) {
        table.insert_many(rows).unwrap();
        return;
    }
    let mut tx = db.begin().unwrap();
    rows.iter().for_each(|row| tx.insert(table, row).unwrap());
    tx.commit().unwrap();
}

fn history(seed: u64, of: (DataType, bool), descending: bool, seen: &mut Vec<&'static str>) {
    println!("seed {seed}, {of:?}");
    let rng = &mut Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut db = Database::open(dir.path(), options(seed)).unwrap();
    let mut table = create(&db, of.0, descending);
    let mut next = 0;
    let mut held = Vec::new();
    for step in 0..10 {
        insert(&db, &table, rng, &mut next, of);
        match rng.below(8) {
            share @ 0..=1 => {
                for id in 1..=next {
                    if rng.below(100) < 3 + share * 40 {
                        table.delete(&[Value::Int(id)]).unwrap();
                    }
                }
            }
            2 => held.push(db.snapshot().unwrap()),
            3 => held.clear(),
            4 if step > 4 => db.settle().unwrap(),
            5 => {
                let mut tx = db.begin().unwrap();
                let rows = tx.index_row_ids(&table, SHORT, KeyRange::from([code(of.0, of.1, rng)]));
                let rows = rows.unwrap();
                tx.delete_rows(&table, &rows[..rows.len().min(30)]).unwrap();
                tx.commit().unwrap();
            }
            _ => db.flush().unwrap(),
        }
        seen.extend(forms(&db));
        compare(&db.snapshot().unwrap(), &table, rng, of.0, of.1);
        held.iter().for_each(|snapshot| compare(snapshot, &table, rng, of.0, of.1));
        if rng.below(5) == 0 {
            held.clear();
            drop(table);
            db.close().unwrap();
            db = Database::open(dir.path(), options(seed)).unwrap();
            table = db.table("things").unwrap();
            assert_eq!(table.schema().index_by_name(SHORT).unwrap().keys, KeysKept::Short);
        }
    }
    held.clear();
    db.flush().unwrap();
    db.settle().unwrap();
    compare(&db.snapshot().unwrap(), &table, rng, of.0, of.1);
    let stats = db.stats().unwrap();
    assert!(stats.background_error.is_none(), "{:?}", stats.background_error);
    drop(table);
    db.close().unwrap();
    let report = check(dir.path(), &CheckOptions::default()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn short_keys_find_what_whole_ones_find() {
    let kinds = [
        (DataType::Uuid, false),
        (DataType::Text, true),
        (DataType::Text, false),
        (DataType::Bytea, false),
    ];
    let mut seen = Vec::new();
    for (seed, of) in (0..).zip(kinds.repeat(2)) {
        history(seed, of, seed % 3 == 2, &mut seen);
    }
    assert!(seen.contains(&"short") && seen.contains(&"explicit"), "runs of both forms were seen");
}

/// A table of random codes, and bytes of its two indexes on disk.
fn filled(keys: KeysKept, rows: i64, code: &dyn Fn(u64) -> Value) -> (u64, u64, Vec<&'static str>) {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let spec = TableSpec::new("things")
        .column("id", DataType::Int8)
        .column("code", DataType::Char(36))
        .primary_key(["id"])
        .index(IndexSpec::new(PLAIN, ["code", "id"]))
        .index(IndexSpec::new(SHORT, ["code", "id"]).keys(keys));
    let table = db.create_table(spec).unwrap();
    let mut rng = Rng::new(1);
    for part in 0..4 {
        let row = |id| [Value::Int(part * rows + id), code(rng.next_u64())];
        table.insert_many((0..rows).map(row)).unwrap();
        db.flush().unwrap();
    }
    db.settle().unwrap();
    let bytes = |name: &str| {
        let stats = db.stats().unwrap();
        stats.tables[0].indexes.iter().find(|i| i.name == name).unwrap().bytes
    };
    let forms = forms(&db);
    let (plain, short) = (bytes(PLAIN), bytes(SHORT));
    drop(table);
    db.close().unwrap();
    assert!(check(dir.path(), &CheckOptions::default()).unwrap().findings.is_empty());
    (plain, short, forms)
}

#[test]
fn an_entry_takes_less_than_six_bytes_and_auto_looks_at_the_keys() {
    let uuid = |n: u64| {
        let hex = format!("{n:016x}{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Value::Text(parts.join("-"))
    };
    const ROWS: i64 = 20_000;
    for keys in [KeysKept::Short, KeysKept::Auto] {
        let (plain, short, forms) = filled(keys, ROWS, &uuid);
        assert!(forms.iter().all(|form| *form == "short"), "{keys:?}: {forms:?}");
        assert!(short < 6 * 4 * ROWS as u64 && plain > 2 * short, "{keys:?}: {plain} and {short}");
    }
    // Few rows, and values that say little, stay whole.
    let (plain, short, forms) = filled(KeysKept::Auto, 500, &uuid);
    assert!(plain == short && forms.iter().all(|form| *form == "explicit"), "{forms:?}");
    let few = |n: u64| uuid(n % 5000);
    let (plain, short, forms) = filled(KeysKept::Auto, ROWS, &few);
    assert!(plain == short && forms.iter().all(|form| *form == "explicit"), "{forms:?}");
}
