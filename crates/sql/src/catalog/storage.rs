//! What was said of how a relation is stored, and means nothing here?
//!
//! Parameters of storage (`fillfactor=70`), and the key parts of an index whose NULLs were declared to stand at the other end than
//! here ([`Storage::nulls`]). Both are kept for the catalogs and for pg_dump. Next to them stands what statements go by: whether an
//! index is invisible to them. A row of the catalog per relation, by its OID:
//! `{"options": ["name=value"], "nulls": [positions], "invisible": true, "collations": [[position, collation, said]]}`; what is not
//! said is not there. Releases that do not know `invisible` use the index. All collations order alike, so that an index serves whatever
//! its own is. Thread safety: plain data.

use onlap::IndexId;
use serde_json::{Value as Json, json};

use super::objects::{Kind, Objects};
use super::oids;

/// The parameter that says how much of its keys an index's files keep. It is Onlap's own: definitions of indexes do not tell it to PostgreSQL.
pub const KEYS: &str = "keys";

/// What was said of a relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// `name=value`, in the order in which they were said.
    pub options: Vec<String>,
    /// Positions in an index's key, where NULL is first though the part rises, or last though it falls.
    pub nulls: Vec<usize>,
    /// Whether it is an index that no statement reads by; rules that it keeps are kept.
    pub invisible: bool,
    /// The collations of parts of an index's key that are not their columns', or not the default ones of expressions.
    pub collations: Vec<PartCollation>,
}

/// The collation of a part of an index's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartCollation {
    /// Which part.
    pub at: usize,
    /// Its OID.
    pub oid: u32,
    /// Whether COLLATE of the index says it, and the column or expression itself another one.
    pub said: bool,
}

impl Storage {
    /// What was said of the relation with an OID.
    pub fn of(objects: &Objects, oid: u32) -> Storage {
        let Some(object) = objects.get(Kind::Storage, &oid.to_string()) else {
            return Storage::default();
        };
        let list = |word: &str| object.body[word].as_array().into_iter().flatten();
        let number = |json: &Json| usize::try_from(json.as_u64()?).ok();
        let collation = |json: &Json| {
            Some(PartCollation {
                at: number(&json[0])?,
                oid: u32::try_from(json[1].as_u64()?).ok()?,
                said: json[2].as_bool()?,
            })
        };
        Storage {
            options: list("options").filter_map(|o| Some(o.as_str()?.to_string())).collect(),
            nulls: list("nulls").filter_map(number).collect(),
            invisible: object.body["invisible"].as_bool().unwrap_or(false),
            collations: list("collations").filter_map(collation).collect(),
        }
    }

    /// As it is kept; `None` where there is nothing to keep.
    pub fn body(&self) -> Option<Json> {
        if *self == Storage::default() {
            return None;
        }
        let mut body = json!({ "options": self.options, "nulls": self.nulls });
        if self.invisible {
            body["invisible"] = json!(true);
        }
        if !self.collations.is_empty() {
            let of = |part: &PartCollation| json!([part.at, part.oid, part.said]);
            body["collations"] = self.collations.iter().map(of).collect();
        }
        Some(body)
    }

    /// What is kept of the collation of a part of an index's key.
    pub fn collation(&self, at: usize) -> Option<&PartCollation> {
        self.collations.iter().find(|part| part.at == at)
    }

    /// Whether an index is invisible to statements.
    pub fn hides(objects: &Objects, index: IndexId) -> bool {
        Storage::of(objects, oids::of_index(index)).invisible
    }

    /// Whether NULLs stand first in a part of an index's key, as it was declared.
    pub fn nulls_first(&self, at: usize, descending: bool) -> bool {
        descending != self.nulls.contains(&at)
    }
}
