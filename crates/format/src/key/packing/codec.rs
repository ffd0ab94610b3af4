//! How is a packing written into a run's footer?
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | form: 0 word, 1 narrow, 2 wide4, 3 wide8, 4 bytes, 5 cut, 6 cut and dense |
//! | 1 | 1 | number of key columns |
//! | 2 | 34 per column | one record per column; none for forms 4 to 6 |
//!
//! Record of a column:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | kind: 0 int, 1 wide, 2 uuid text, 3 short text, 4 numeric |
//! | 1 | 1 | short text: bytes of the longest; numeric: scale; else 0 |
//! | 2 | 1 | bit 0: NULL bit present |
//! | 3 | 1 | bits of the code, 0 to 128 |
//! | 4 | 16 | base, little-endian |
//! | 20 | 8 | stride, little-endian, not 0 |
//! | 28 | 6 | zero |
//!
//! Types and directions are the index's, which the reader knows; so is how much of a key is kept where it
//! is cut. Forms 5 and 6 came with version 3 of run files.
//!
//! ```
//! use onlap_format::{Column, DataType, Vector, key::{ColumnStats, KeyColumn, KeyDef, Packing}};
//! let def = KeyDef::new(vec![KeyColumn { ty: DataType::Int4, descending: false }]);
//! let mut stats = ColumnStats::new(DataType::Int4);
//! let column = Column { data: Vector::Int(vec![10, 20, 40]), nulls: None };
//! stats.observe(&column, 0..3);
//! let mut bytes = Vec::new();
//! Packing::fit(&def, &[stats]).encode(&mut bytes);
//! assert_eq!(bytes[..6], [0, 1, 0, 0, 0, 2], "a word, one int column, two bits: 0 to 3 tens");
//! assert_eq!(bytes[6..14], (10u64 + (1 << 63)).to_le_bytes(), "from 10 up");
//! assert_eq!(bytes[22..30], 10u64.to_le_bytes(), "by tens");
//! assert_eq!(Packing::decode(&def, &bytes).unwrap().bits(), 2);
//! ```

use onlap_base::Result;

use super::{Field, Kind, Packing, damaged, kind_matches, mask};
use crate::key::stats::SHORT_TEXT;
use crate::key::{KeyDef, KeyForm};

const FORMS: [KeyForm; 5] =
    [KeyForm::Word, KeyForm::Narrow, KeyForm::Wide4, KeyForm::Wide8, KeyForm::Bytes];
const RECORD: usize = 34;
/// Forms of cut keys, behind those of whole ones.
const CUT: u8 = FORMS.len() as u8;
const DENSE: u8 = CUT + 1;

impl Packing {
    /// Appends the packing's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let form = match self.cut {
            Some(cut) if cut.dense => DENSE,
            Some(_) => CUT,
            None => FORMS.iter().position(|f| *f == self.form).expect("every form is listed") as u8,
        };
        out.extend_from_slice(&[form, self.def.columns.len() as u8]);
        for field in &self.fields {
            let (kind, detail) = match field.kind {
                Kind::Int => (0, 0),
                Kind::Wide => (1, 0),
                Kind::UuidText => (2, 0),
                Kind::Text { len } => (3, len),
                Kind::Numeric { scale } => (4, scale),
            };
            out.extend_from_slice(&[kind, detail, u8::from(field.nullable), field.bits as u8]);
            out.extend_from_slice(&field.base.to_le_bytes());
            out.extend_from_slice(&field.stride.to_le_bytes());
            out.extend_from_slice(&[0; 6]);
        }
    }

    /// Reads a packing of the key `def`; `bytes` hold it and nothing else.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn decode(def: &KeyDef, bytes: &[u8]) -> Result<Packing> {
        let [form, columns, rest @ ..] = bytes else {
            return Err(damaged("a packing ends early"));
        };
        let number = *form;
        if usize::from(*columns) != def.columns.len() {
            return Err(damaged("a packing has another number of columns than its index"));
        }
        if matches!(number, CUT | DENSE) {
            let cut = Packing::cut(def, number == DENSE).filter(|_| rest.is_empty());
            return cut.ok_or_else(|| damaged("cut keys of an index that has none"));
        }
        let form = *FORMS.get(usize::from(number)).ok_or_else(|| damaged("unknown key form"))?;
        if form == KeyForm::Bytes {
            return if rest.is_empty() {
                Ok(Packing::bytes(def))
            } else {
                Err(damaged("bytes after the end of a packing"))
            };
        }
        if rest.len() != RECORD * def.columns.len() {
            return Err(damaged("a packing has the wrong length"));
        }
        let mut fields = Vec::with_capacity(def.columns.len());
        for (record, column) in rest.chunks_exact(RECORD).zip(&def.columns) {
            let mut base = [0; 16];
            base.copy_from_slice(&record[4..20]);
            let mut stride = [0; 8];
            stride.copy_from_slice(&record[20..28]);
            let field = Field {
                ty: column.ty,
                descending: column.descending,
                kind: kind(record[0], record[1])?,
                base: u128::from_le_bytes(base),
                stride: u64::from_le_bytes(stride),
                nullable: record[2] & 1 == 1,
                bits: u32::from(record[3]),
                offset: 0,
            };
            check(&field)?;
            fields.push(field);
        }
        let packing = Packing::from_fields(def, fields);
        if packing.form == form {
            Ok(packing)
        } else {
            Err(damaged("a packing's fields do not fill its form"))
        }
    }
}

fn kind(kind: u8, detail: u8) -> Result<Kind> {
    match (kind, detail) {
        (0, 0) => Ok(Kind::Int),
        (1, 0) => Ok(Kind::Wide),
        (2, 0) => Ok(Kind::UuidText),
        (3, len) if usize::from(len) <= SHORT_TEXT => Ok(Kind::Text { len }),
        (4, scale) if scale <= 38 => Ok(Kind::Numeric { scale }),
        _ => Err(damaged("unknown kind of key field")),
    }
}

/// The field has a kind that its column's type can have, and a base that the kind can hold.
fn check(field: &Field) -> Result<()> {
    let limit = if field.kind == Kind::Int { 64 } else { 128 };
    let fits = field.bits <= limit && field.stride > 0 && field.base <= mask(limit);
    if fits && kind_matches(field.kind, field.ty) {
        Ok(())
    } else {
        Err(damaged("a key field is out of range"))
    }
}
