//! Rows are found by the bytes of their text, one entry for each.

use std::collections::BTreeSet;

use onlap::{
    Column, DerivedSpec, Formula, Formulas, Predicate, Result, TableSchema, Vector, entries,
};

use super::*;

/// Calculates lists of the bytes of texts.
pub(crate) struct Letters;

impl Formulas for Letters {
    fn calculate(
        &self,
        _: &TableSchema,
        _: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        let Vector::Bytes(texts) = &inputs[0].data else { panic!("texts are bytes") };
        let mut lists = onlap::BytesVec::default();
        for row in 0..rows {
            let mut keys: Vec<[u8; 1]> = texts.get(row).iter().map(|b| [*b]).collect();
            lists.push(&entries::pack(&mut keys)?);
        }
        Ok(Column { data: Vector::Bytes(lists), nulls: None })
    }
}

pub(crate) fn by_letter() -> IndexSpec {
    let letters = DerivedSpec {
        name: "letters of b".into(),
        ty: DataType::Bytea,
        reads: vec!["b".into()],
        program: "letters".into(),
    };
    IndexSpec::new("by_letter", [] as [&str; 0]).entries(letters)
}

/// The bytes that are asked for: of many texts, of few, of none.
const LETTERS: [u8; 6] = [b'a', b'b', b'z', 0xc3, b' ', b'!'];

pub(crate) fn has(row: &Row, letter: u8) -> bool {
    matches!(&row[2], Value::Text(text) if text.as_bytes().contains(&letter))
}

pub(crate) fn letter(rng: &mut Rng) -> u8 {
    *rng.pick(&LETTERS)
}

pub(crate) fn with(letter: u8) -> Predicate {
    Predicate::index("by_letter", KeyRange::eq([Value::Bytes(vec![letter])]))
}

/// The index, asked for each letter, names exactly the model's rows (I4).
pub(crate) fn check_letters(seed: u64, snapshot: &Snapshot, table: &Table, model: &Model) {
    for letter in LETTERS {
        let rows = snapshot.row_set(table, &with(letter)).unwrap();
        let found = snapshot.fetch_set(table, &rows, Some(&["id"])).unwrap();
        let found: BTreeSet<i64> = (0..found.len()).map(|i| int(&found.value(i, 0))).collect();
        let wanted = model.iter().filter(|(_, row)| has(row, letter)).map(|(id, _)| *id);
        assert_eq!(found, wanted.collect(), "seed {seed}: letter {letter}");
        let others = snapshot.row_set(table, &!with(letter)).unwrap();
        assert_eq!((rows.len() + others.len()) as usize, model.len(), "seed {seed}: not {letter}");
    }
}
