//! What is refused, what is as large as may be, and what does it conflict with?

use onlap::{
    Change, DataType, Database, DerivedSpec, ErrorKind, IndexPart, IndexSpec, Isolation, Judged,
    KeyRange, Predicate, Scan, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::limits;
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;

use super::double::{agree, by_words, check, high, key, open, row, spec, words};

fn kind<T: std::fmt::Debug>(done: onlap::Result<T>) -> ErrorKind {
    done.unwrap_err().kind()
}

#[test]
fn what_such_an_index_is_not() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    let text = DerivedSpec { ty: DataType::Text, ..words() };
    let new = || IndexSpec::new("new", [] as [&str; 0]);
    let wrong = [
        by_words().unique(),
        by_words().include(["n"]),
        by_words().fences_only(),
        by_words().part(IndexPart::Column("n".into()), false),
        IndexSpec::new("new", ["n"]).entries(words()),
        new().entries(words()).entries(words()),
        new().entries(text),
    ];
    for spec in wrong {
        assert_eq!(kind(db.create_index("t", spec.clone())), ErrorKind::InvalidInput, "{spec:?}");
    }
    db.create_index("t", by_words().judged(Judged::default())).unwrap_err();
    assert_eq!((table.schema().derived.len(), table.schema().indexes.len()), (0, 1));
    let blind = TableSpec::new("b").column("id", DataType::Int8).column("text", DataType::Text);
    let blind = blind.primary_key(["id"]).blind_writes();
    let refused = db.create_table(blind.clone().index(by_words())).map(drop);
    assert_eq!(kind(refused), ErrorKind::Unsupported);
    db.create_table(blind).unwrap();
    assert_eq!(kind(db.create_index("b", by_words())), ErrorKind::Unsupported);
}

#[test]
fn what_needs_an_order_or_one_entry_is_refused() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec().index(by_words())).unwrap();
    let mut rng = Rng::new(1);
    table.insert_many((1..50).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    let snapshot = db.snapshot().unwrap();
    let (all, word) = (KeyRange::all(), [Value::Bytes(b"w1".to_vec())]);
    let refused = [
        snapshot.index_scan(&table, "by_word", all.clone(), Scan::all()).map(drop),
        snapshot.distinct(&table, "by_word", 1, all.clone()).map(drop),
        snapshot.first_per_group(&table, "by_word", 1, all.clone(), Scan::all()).map(drop),
        snapshot.get_by(&table, "by_word", &word, None).map(drop),
        Predicate::index("by_word", all).matches(&table.schema(), &row(1, &mut rng)).map(drop),
    ];
    for refused in refused {
        assert_eq!(kind(refused), ErrorKind::Unsupported);
    }
    let wrong = Predicate::index("by_word", KeyRange::eq([Value::Int(1)]));
    assert_eq!(kind(snapshot.row_set(&table, &wrong)), ErrorKind::WrongType);
}

/// Of the rows that another key leads to, those are judged that have not the key that nearly all rows have.
#[test]
fn long_lists_are_not_read_for_few_rows() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec().index(by_words())).unwrap();
    let text = |id: i64| match id {
        7 => "rare".to_owned(),
        id if id % 1000 == 7 => "all rare some".to_owned(),
        id if id % 3 == 0 => "all some".to_owned(),
        _ => "all".to_owned(),
    };
    let row = |id: i64| vec![Value::Int(id), Value::Text(text(id)), Value::Null, Value::Null];
    let word = |word: &str| Predicate::index("by_word", key(word.as_bytes()));
    let read = |predicate: &Predicate| {
        let entries = || db.stats_without_keys().unwrap().reads.index_entries_read;
        let before = entries();
        let near = db.snapshot().unwrap().rows_near(&table, predicate).unwrap();
        (near.len(), entries() - before)
    };
    for step in 0..2 {
        if step == 0 {
            table.insert_many((0..6000).map(row)).unwrap();
        } else {
            db.flush().unwrap();
        }
        // Rows 7, 1007, 2007 and so on.
        assert_eq!(read(&word("all").and(word("rare"))), (6, 6));
        assert_eq!(read(&word("rare").and(word("all")).and(word("some"))), (6, 6));
        assert_eq!(read(&Predicate::Or(vec![word("all").and(word("rare"))])), (6, 6));
        // A third of the rows is worth a list of all.
        let (both, entries) = read(&word("all").and(word("some")));
        assert_eq!((both, entries), (2003, 2003 + 5999));
        assert_eq!(read(&word("none").and(word("all"))), (0, 0));
        // Exact beneath NOT.
        let not = word("some").and(!word("all").and(word("rare")));
        assert_eq!(read(&not).0, 1998);
    }
}

/// Who calculates may be wrong; what it gives is looked at before anything relies on it.
#[test]
fn what_is_no_list_is_refused() {
    let disk = MemFs::new();
    let db = open(&disk);
    let itself = || {
        let lists = DerivedSpec { program: "itself".into(), ..words() };
        IndexSpec::new("by_itself", [] as [&str; 0]).entries(lists)
    };
    let table = db.create_table(spec().index(itself())).unwrap();
    let of = |id: i64, text: &str| {
        vec![Value::Int(id), Value::Text(text.into()), Value::Null, Value::Null]
    };
    table.insert(&of(1, "\u{1}a\u{2}ab")).unwrap();
    table.insert(&of(2, "")).unwrap();
    for wrong in ["a", "\u{2}a", "\u{1}b\u{1}a", "\u{1}a\u{1}a"] {
        assert_eq!(kind(table.insert(&of(3, wrong))), ErrorKind::WrongType);
        assert_eq!(kind(table.insert_many([of(3, ""), of(4, wrong)])), ErrorKind::WrongType);
        let update = table.update(&[Value::Int(1)], &[("text", Value::Text(wrong.into()))]);
        assert_eq!(kind(update), ErrorKind::WrongType);
    }
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.index_count(&table, "by_itself", KeyRange::all()).unwrap(), 1);
    assert_eq!(snapshot.index_count(&table, "by_itself", key(b"ab")).unwrap(), 1);
    db.drop_index("t", "by_itself").unwrap();
    table.insert(&of(3, "none")).unwrap();
    db.flush().unwrap();
    assert_eq!(kind(db.create_index("t", itself())), ErrorKind::WrongType);
    assert!(table.delete(&[Value::Int(3)]).unwrap());
    db.create_index("t", itself()).unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.index_count(&table, "by_itself", KeyRange::all()).unwrap(), 1);
}

/// Words in any number, none of them twice.
fn many(words: usize) -> String {
    (0..words).map(|i| format!("{i:x}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_row_with_as_many_entries_as_may_be() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec().index(by_words())).unwrap();
    let of =
        |id: i64, text: String| vec![Value::Int(id), Value::Text(text), Value::Null, Value::Null];
    let mut rng = Rng::new(3);
    table.insert_many((10..200).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    assert_eq!(kind(table.insert(&of(1, many(limits::ENTRIES + 1)))), ErrorKind::LimitExceeded);
    table.insert(&of(1, many(limits::ENTRIES))).unwrap();
    table.insert(&of(2, "0 1 2".into())).unwrap();
    let counts = |table: &Table, wanted: [u64; 3]| {
        let snapshot = db.snapshot().unwrap();
        let of = |word: &[u8]| snapshot.index_count(table, "by_word", key(word)).unwrap();
        assert_eq!([of(b"0"), of(b"fffff"), of(b"100000")], wanted);
        let range = KeyRange::between([Value::Bytes(b"2".to_vec())], [Value::Bytes(b"3".to_vec())]);
        let n = snapshot.index_count(table, "by_word", range).unwrap();
        assert_eq!(n, 2, "many entries of one row are one row");
    };
    counts(&table, [2, 1, 0]);
    db.flush().unwrap();
    counts(&table, [2, 1, 0]);
    agree(&mut db.snapshot().unwrap(), &table);
    table.update(&[Value::Int(2)], &[("text", Value::Text("3".into()))]).unwrap();
    table.update(&[Value::Int(1)], &[("text", Value::Text(many(3)))]).unwrap();
    counts(&table, [1, 0, 0]);
    db.flush().unwrap();
    counts(&table, [1, 0, 0]);
    drop(table);
    db.close().unwrap();
    check(&disk);
}

fn serializable(db: &Database) -> Transaction {
    db.begin_with(TransactionOptions::at(Isolation::Serializable)).unwrap()
}

#[test]
fn who_read_a_word_conflicts_with_who_writes_it() {
    for (flush, word, conflicts) in
        [(false, "w1", true), (true, "w1", true), (false, "w2", false), (true, "w2", false)]
    {
        let disk = MemFs::new();
        let db = open(&disk);
        let table = db.create_table(spec().index(by_words())).unwrap();
        let mut rng = Rng::new(4);
        table.insert_many((1..100).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
        if flush {
            db.flush().unwrap();
        }
        let mut tx = serializable(&db);
        let seen = tx.row_set(&table, &Predicate::index("by_word", key(b"w1"))).unwrap();
        assert!(!seen.is_empty());
        let text = Value::Text(format!("other {word}"));
        table.insert(&[Value::Int(200), text, Value::Null, Value::Null]).unwrap();
        tx.insert(&table, &[Value::Int(201), Value::Null, Value::Null, Value::Null]).unwrap();
        let done = tx.commit();
        assert_eq!(done.is_err(), conflicts, "{word}: {done:?}");
    }
}

#[test]
fn a_column_that_lists_are_made_of_is_not_changed_in_place() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec().index(by_words().only_where(high()))).unwrap();
    let mut rng = Rng::new(5);
    table.insert_many((1..100).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    let change = |column: &'static str, value: Value| {
        let mut tx = db.begin().unwrap();
        let before = db.stats().unwrap().reads.rows_read;
        tx.change(&table, &[Value::Int(3)], &[(column, Change::Set(value))]).unwrap();
        tx.commit().unwrap();
        agree(&mut db.snapshot().unwrap(), &table);
        db.stats().unwrap().reads.rows_read - before
    };
    let scanned = change("free", Value::Int(7));
    assert!(change("n", Value::Int(950)) > scanned);
    assert!(change("text", Value::Text("w5 w6".into())) > scanned);
    assert!(change("n", Value::Int(3)) > scanned);
}
