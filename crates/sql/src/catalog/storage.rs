//! What was said of how a relation is stored, and means nothing here?
//!
//! Parameters of storage (`fillfactor=70`), and the key parts of an index whose NULLs were declared to stand at the other end than
//! here ([`Storage::nulls`]). Both are kept for the catalogs and for pg_dump. Next to them stands what statements go by: whether an
//! index is invisible to them. A row of the catalog per relation, by its OID:
//! `{"options": ["name=value"], "nulls": [positions], "invisible": true, "collations": [[position, collation, said]]}`; what is not
//! said is not there. Releases that do not know `invisible` use the index. All collations order alike, so that an index serves whatever
//! its own is. Of the index of an exclusion constraint, and of one of gist, is kept how it was declared ([`Declared`]), as
//! `"declared": {"method": "gist", "parts": [[position in the key, operator, operator class]]}`. Thread safety: plain data.

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
    /// How it was declared, where that is another method than that of an index in order, or an exclusion constraint.
    pub declared: Option<Declared>,
}

/// An index as it was declared: in the key of that of an exclusion constraint parts that have to be equal come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// USING.
    pub method: String,
    /// The parts in the order in which they were declared.
    pub parts: Vec<DeclaredPart>,
}

/// A part of an index that was declared in another way than it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredPart {
    /// Its place in the index's key.
    pub at: usize,
    /// The OID of its operator in an exclusion constraint, or 0.
    pub operator: u32,
    /// Its operator class, where that is not the default one of its type.
    pub class: Option<String>,
}

impl Declared {
    fn body(&self) -> Json {
        let part = |of: &DeclaredPart| json!([of.at, of.operator, of.class]);
        json!({ "method": self.method, "parts": self.parts.iter().map(part).collect::<Vec<_>>() })
    }

    fn read(body: &Json) -> Option<Declared> {
        let part = |of: &Json| {
            Some(DeclaredPart {
                at: usize::try_from(of[0].as_u64()?).ok()?,
                operator: u32::try_from(of[1].as_u64()?).ok()?,
                class: of[2].as_str().map(str::to_string),
            })
        };
        let parts = body["parts"].as_array()?.iter().map(part).collect::<Option<_>>()?;
        Some(Declared { method: body["method"].as_str()?.to_string(), parts })
    }
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
            declared: Declared::read(&object.body["declared"]),
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
        if let Some(declared) = &self.declared {
            body["declared"] = declared.body();
        }
        Some(body)
    }

    /// The places of the parts of an index's key, of which there are `count`, in the order in which they were declared.
    pub fn order(&self, count: usize) -> Vec<usize> {
        match &self.declared {
            Some(of) if of.parts.len() == count => of.parts.iter().map(|part| part.at).collect(),
            _ => (0..count).collect(),
        }
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
