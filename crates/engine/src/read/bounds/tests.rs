use super::*;
use onlap_base::{ColumnId, IndexId, TableId};
use onlap_format::{ColumnSchema, KeyPart};

fn schema() -> TableSchema {
    let column = |id: u32, name: &str, ty| ColumnSchema::new(ColumnId(id), name, ty, true);
    let part = |id, descending| KeyPart { column: ColumnId(id), descending };
    TableSchema {
        id: TableId(1),
        name: "t".into(),
        version: 1,
        columns: vec![
            column(10, "id", DataType::Int8),
            column(11, "a", DataType::Int2),
            column(12, "b", DataType::Text),
            column(13, "f", DataType::Float8),
            column(14, "c", DataType::Text),
        ],
        indexes: vec![IndexSchema {
            id: IndexId(7),
            name: "by_a".into(),
            key: vec![part(11, false), part(12, true), part(13, false)],
            include: vec![ColumnId(14), ColumnId(10)],
            unique: false,
            primary: false,
            judged: None,
            fences_only: false,
            since: 0,
            filter: None,
            multi_entry: false,
            keys: onlap_format::KeysKept::Full,
            only_since: false,
            ready: true,
        }],
        next_column: 15,
        ..TableSchema::default()
    }
}

fn def(schema: &TableSchema) -> KeyDef {
    KeyDef::of_index(schema, &schema.indexes[0]).unwrap()
}

fn text(s: &str) -> Value {
    Value::Text(s.into())
}

fn bounds(range: &KeyRange) -> Result<KeyBounds> {
    let schema = schema();
    range.bounds(&schema, &schema.indexes[0], &def(&schema))
}

fn key(values: &[Value]) -> Vec<u8> {
    def(&schema()).encode_values(values).unwrap()
}

#[test]
fn each_form_of_range_takes_the_keys_that_it_names() {
    let one = [Value::Int(1)];
    let has = |range: KeyRange| {
        let bounds = bounds(&range).unwrap();
        let full = |a| key(&[Value::Int(a), text("x"), Value::Null]);
        [0, 1, 2].map(|a| bounds.contains(&full(a)))
    };
    assert_eq!(has(KeyRange::all()), [true, true, true]);
    assert_eq!(has(KeyRange::eq(one.clone())), [false, true, false]);
    assert_eq!(has(KeyRange::from(one.clone())), [false, true, true]);
    assert_eq!(has(KeyRange::after(one.clone())), [false, false, true]);
    assert_eq!(has(KeyRange::to(one.clone())), [true, true, false]);
    assert_eq!(has(KeyRange::before(one.clone())), [true, false, false]);
    let two = [Value::Int(2)];
    assert_eq!(has(KeyRange::between(one.clone(), two.clone())), [false, true, true]);
    assert_eq!(has(KeyRange::from(one).and(KeyRange::before(two))), [false, true, false]);
    assert_eq!(has(KeyRange::eq(Vec::<Value>::new())), [true, true, true]);
}

#[test]
fn ranges_follow_the_order_of_a_descending_column() {
    let from = KeyRange::from([Value::Int(1), text("m")]);
    let bounds = bounds(&from).unwrap();
    let full = |b: Value| key(&[Value::Int(1), b, Value::Null]);
    assert!(bounds.contains(&full(text("m"))) && bounds.contains(&full(text("a"))));
    assert!(!bounds.contains(&full(text("z"))));
    assert!(!bounds.contains(&full(Value::Null)), "descending: NULL comes first");
}

#[test]
fn mistakes_name_the_index_the_column_and_the_types() {
    let fails = |range: KeyRange, kind: ErrorKind, words: &[&str]| {
        let error = bounds(&range).unwrap_err();
        assert_eq!(error.kind(), kind);
        for w in words {
            assert!(error.message().contains(w), "'{}' does not say '{w}'", error.message());
        }
    };
    fails(KeyRange::eq([text("x")]), ErrorKind::WrongType, &["by_a", "column a", "int2", "text"]);
    let second = KeyRange::from([Value::Int(1), Value::Bool(true)]);
    fails(second, ErrorKind::WrongType, &["by_a", "column b", "text", "bool"]);
    fails(KeyRange::to([Value::Int(70_000)]), ErrorKind::OutOfRange, &["column a", "70000"]);
    let long = KeyRange::eq(vec![Value::Null; 4]);
    fails(long, ErrorKind::InvalidInput, &["by_a", "3 key columns", "4 values"]);
    let zero = KeyRange::eq([Value::Int(1), text("a\0b")]);
    fails(zero, ErrorKind::InvalidText, &["column b", "zero byte"]);
}

#[test]
fn columns_and_indexes_are_found_by_name_or_named_in_the_error() {
    let schema = schema();
    assert_eq!(Scan::all().projection(&schema).unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(Scan::all().columns(["b", "id"]).projection(&schema).unwrap(), [2, 0]);
    let e = Scan::all().columns(["nope"]).projection(&schema).unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::UnknownColumn, "table t has no column nope"));
    let e = index_by_name(&schema, "nope").unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::UnknownIndex, "table t has no index nope"));
}

#[test]
fn an_index_covers_what_its_entries_hold_exactly() {
    let schema = schema();
    let index = &schema.indexes[0];
    let wants = |columns: &[usize]| covered(&schema, index, columns);
    let all = wants(&[4, 2, 1, 0, 2]).unwrap();
    assert_eq!(all.key_columns, [1, 0]);
    assert_eq!(all.include, [0, 1]);
    assert_eq!(all.places, [2, 0, 1, 3, 0]);
    assert_eq!(wants(&[3]), None, "0 and -0 share a key");
    assert_eq!(wants(&[]), Some(Covered::default()));
}
