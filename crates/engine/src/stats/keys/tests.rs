use onlap_base::Result;
use onlap_format::DataType;
use onlap_format::key::KeyColumn;

use super::*;
use crate::{Database, IndexSpec, InsertPattern, Options, SyncMode, TableSpec};

fn def(ty: DataType, descending: bool) -> KeyDef {
    KeyDef::new(vec![KeyColumn { ty, descending }, KeyColumn { ty, descending }])
}

#[test]
fn fences_that_were_cut_off_read_as_values_near_by() {
    for descending in [false, true] {
        let ints = def(DataType::Int8, descending);
        let key = ints.encode_values(&[Value::Int(1_000_000), Value::Int(5)]).unwrap();
        assert_eq!(first_value(&ints, &key), Some(Value::Int(1_000_000)));
        let Some(Value::Int(near)) = first_value(&ints, &key[..8]) else { panic!("no value") };
        assert!(near <= 1_000_000 && near > 1_000_000 - 256, "{near}");

        let texts = def(DataType::Text, descending);
        let text = |s: &str| Value::Text(s.into());
        let key = texts.encode_values(&[text("né"), text("x")]).unwrap();
        assert_eq!(first_value(&texts, &key), Some(text("né")));
        assert_eq!(first_value(&texts, &key[..3]), Some(text("n")));
        assert_eq!(first_value(&texts, &[]), None);
    }
}

#[test]
fn runs_tell_of_keys_what_a_scan_would_find() -> Result<()> {
    const ROWS: i64 = 20_000;
    const SCORES: i64 = 500;
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options::default().sync(SyncMode::Os);
    let db = Database::open(dir.path(), options)?;
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("kind", DataType::Text)
        .column("score", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("by_kind_score", ["kind", "score"]))
        .index(IndexSpec::new("by_score", ["score"]).descending("score"));
    let table = db.create_table(spec)?;
    let keys = |n: usize| Ok::<_, onlap_base::Error>(db.stats()?.tables[0].indexes[n].keys.clone());
    assert_eq!(keys(0)?.entries, 0);
    assert!(keys(0)?.min.is_empty() && keys(0)?.quantiles.is_empty());
    for part in 0..2 {
        let ids = part * ROWS / 2..(part + 1) * ROWS / 2;
        table.insert_many(ids.map(|id| {
            let kind = match id % 10 {
                9 => Value::Null,
                n => Value::Text(["a", "b", "c"][n as usize % 3].into()),
            };
            vec![Value::Int(id), kind, Value::Int(id * 7919 % SCORES)]
        }))?;
        db.flush()?;
    }

    let near = |found: u64, expected: i64| (found as f64 / expected as f64 - 1.0).abs() < 0.15;
    let primary = keys(0)?;
    assert_eq!(primary.entries, ROWS as u64);
    assert_eq!(primary.distinct, [ROWS as u64]);
    assert_eq!((primary.min, primary.max), (vec![Value::Int(0)], vec![Value::Int(ROWS - 1)]));
    assert_eq!(primary.quantiles.len() as u64, QUANTILE_PARTS - 1);
    for (i, value) in primary.quantiles.iter().enumerate() {
        let Value::Int(value) = value else { panic!("{value:?}") };
        let expected = ROWS * (i as i64 + 1) / QUANTILE_PARTS as i64;
        assert!((value - expected).abs() <= ROWS / 32, "{value} for {expected}");
    }

    let pair = keys(1)?;
    assert!(near(pair.distinct[0], 4), "{:?}", pair.distinct);
    assert_eq!(pair.nulls, [ROWS as u64 / 10, 0]);
    assert_eq!(pair.min[0], Value::Text("a".into()));
    assert_eq!(pair.max[0], Value::Null);

    let score = keys(2)?;
    assert!(near(score.distinct[0], SCORES), "{:?}", score.distinct);
    assert_eq!((score.min, score.max), (vec![Value::Int(SCORES - 1)], vec![Value::Int(0)]));
    db.close()
}

#[test]
fn without_keys_the_other_figures_are_the_same() -> Result<()> {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os))?;
    let spec = TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec)?;
    table.insert_many((0..5000).map(|id| vec![Value::Int(id)]))?;
    db.flush()?;
    table.insert_many((5000..9000).map(|id| vec![Value::Int(id)]))?;

    let brief = db.stats_without_keys()?;
    let mut full = db.stats()?;
    for index in full.tables.iter_mut().flat_map(|t| &mut t.indexes) {
        assert_ne!(index.pattern, InsertPattern::Unknown);
        assert_eq!(std::mem::take(&mut index.keys).entries, 5000);
        index.pattern = InsertPattern::Unknown;
    }
    // To look at keys asks for blocks.
    for (full, brief) in full.tables.iter_mut().zip(&brief.tables) {
        full.blocks = brief.blocks;
        full.indexes.iter_mut().zip(&brief.indexes).for_each(|(f, b)| f.blocks = b.blocks);
    }
    assert_eq!(format!("{:?}", brief.tables), format!("{:?}", full.tables));
    Ok(())
}
