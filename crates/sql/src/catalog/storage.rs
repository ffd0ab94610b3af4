//! What was said of how a relation is stored, and means nothing here?
//!
//! Parameters of storage (`fillfactor=70`), and the key parts of an index whose NULLs were declared to stand at the other end than
//! here ([`Storage::nulls`]). Both are kept for the catalogs and for pg_dump. Next to them stands what statements go by: whether an
//! index is invisible to them. A row of the catalog per relation, by its OID:
//! `{"options": ["name=value"], "nulls": [positions], "invisible": true}`; what is not said is not there. Releases that do not know
//! `invisible` use the index. Thread safety: plain data.

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
}

impl Storage {
    /// What was said of the relation with an OID.
    pub fn of(objects: &Objects, oid: u32) -> Storage {
        let Some(object) = objects.get(Kind::Storage, &oid.to_string()) else {
            return Storage::default();
        };
        let list = |word: &str| object.body[word].as_array().into_iter().flatten();
        let number = |json: &Json| usize::try_from(json.as_u64()?).ok();
        Storage {
            options: list("options").filter_map(|o| Some(o.as_str()?.to_string())).collect(),
            nulls: list("nulls").filter_map(number).collect(),
            invisible: object.body["invisible"].as_bool().unwrap_or(false),
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
        Some(body)
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
