//! What is a type that a database made?
//!
//! | kind | in its row of the catalog |
//! |---|---|
//! | enum | `labels`: text, place, OID of each |
//! | domain | `domain`: what it is over, its collation, NOT NULL, the default's text; name, text, OID and validity of each condition |
//! | composite type | `fields`: name, type, modifier of each; `collations` by field; `relation`, the number that gives its OID in pg_class |
//!
//! Texts are kept with the names of made types qualified, so that they mean the same in each search path.
//! Thread safety: plain data.

use std::borrow::Cow;
use std::collections::BTreeMap;

use onlap_pg::catalog::{Catalog, Label as Known, Type};
use onlap_pg::{Oid, TypeRef};
use serde_json::{Value as Json, json};

use super::Label;
use crate::catalog::oids;
use crate::types::PgType;

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An enum: its labels in their order.
    Enum(Vec<Label>),
    /// A domain.
    Domain(Domain),
    /// A composite type.
    Composite(Composite),
}

/// A type with conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// What it is over.
    pub base: PgType,
    /// Its collation, where that is not the one of what it is over.
    pub collation: Option<Oid>,
    /// Whether it refuses NULL.
    pub not_null: bool,
    /// The text of its default.
    pub default: Option<String>,
    /// Its conditions, by name.
    pub checks: Vec<Check>,
    /// The category of what it is over; found when all types are known.
    pub category: u8,
    /// The length of values, likewise.
    pub length: i16,
}

/// A condition of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// Its OID.
    pub oid: u32,
    /// Whether all values that are kept were found to meet it.
    pub valid: bool,
}

/// A type of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    /// Its OID in pg_class.
    pub relation: u32,
    /// The names and types of its fields.
    pub fields: Vec<(String, PgType)>,
    /// Collations of fields that have another than their type's.
    pub collations: BTreeMap<String, Oid>,
}

fn number(json: &Json) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
}

fn pg_type(oid: &Json, modifier: &Json) -> Option<PgType> {
    Some(PgType { oid: number(oid)?, modifier: i32::try_from(modifier.as_i64()?).ok()? })
}

impl What {
    /// From a row of the catalog; `None` of one that no release wrote.
    pub fn read(body: &Json) -> Option<What> {
        if body["domain"].is_object() {
            return Domain::read(&body["domain"]).map(What::Domain);
        }
        if let Some(fields) = body["fields"].as_array() {
            let field = |field: &Json| {
                Some((field[0].as_str()?.to_string(), pg_type(&field[1], &field[2])?))
            };
            let relation = number(&body["relation"]).filter(|number| *number < oids::OBJECTS)?;
            let relation = oids::of_object(relation);
            let fields = fields.iter().map(field).collect::<Option<_>>()?;
            let collation = |(name, oid): (&String, &Json)| Some((name.clone(), number(oid)?));
            let collations = body["collations"].as_object().into_iter().flatten();
            let collations = collations.map(collation).collect::<Option<_>>()?;
            return Some(What::Composite(Composite { relation, fields, collations }));
        }
        labels(body).map(What::Enum)
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        match self {
            What::Enum(labels) => {
                let label =
                    |label: &Label| json!([label.text, format!("{:?}", label.order), label.oid]);
                json!({ "labels": labels.iter().map(label).collect::<Vec<Json>>() })
            }
            What::Domain(domain) => json!({ "domain": domain.body() }),
            What::Composite(composite) => {
                let field = |(name, ty): &(String, PgType)| json!([name, ty.oid, ty.modifier]);
                let fields: Vec<Json> = composite.fields.iter().map(field).collect();
                let relation = composite.relation - oids::of_object(0);
                let mut body = json!({ "fields": fields, "relation": relation });
                if !composite.collations.is_empty() {
                    body["collations"] = json!(composite.collations);
                }
                body
            }
        }
    }

    /// What statements know of it.
    pub fn describe(&self, ty: &mut Type) {
        match self {
            What::Enum(labels) => {
                let label = |l: &Label| Known { order: l.order, text: Cow::Owned(l.text.clone()) };
                ty.labels = labels.iter().map(label).collect();
            }
            What::Domain(domain) => {
                (ty.base, ty.base_modifier) = (domain.base.oid, domain.base.modifier);
                ty.length = domain.length;
                ty.collation = domain.collation.unwrap_or(0);
            }
            What::Composite(composite) => {
                let field = |(name, ty): &(String, PgType)| {
                    (name.clone(), TypeRef { oid: ty.oid, modifier: ty.modifier })
                };
                ty.fields = composite.fields.iter().map(field).collect();
            }
        }
    }

    /// Finds out what only all types tell together.
    pub fn complete(&mut self, catalog: &Catalog) {
        if let What::Domain(domain) = self {
            let base = catalog.get_type(catalog.base_type(domain.base.oid));
            (domain.category, domain.length) = base.map_or((b'U', -1), |t| (t.category, t.length));
        }
    }

    /// The types that it is made of.
    pub fn parts(&self) -> Vec<PgType> {
        match self {
            What::Enum(_) => Vec::new(),
            What::Domain(domain) => vec![domain.base],
            What::Composite(composite) => composite.fields.iter().map(|(_, ty)| *ty).collect(),
        }
    }
}

fn labels(body: &Json) -> Option<Vec<Label>> {
    let label = |label: &Json| {
        let text = label[0].as_str()?.to_string();
        let order = match &label[1] {
            Json::String(place) => place.parse::<f64>().ok().filter(|place| place.is_finite()),
            place => place.as_f64(),
        };
        Some(Label { text, order: order?, oid: number(&label[2])? })
    };
    let labels = body["labels"].as_array()?.iter().map(label).collect::<Option<Vec<Label>>>()?;
    let is_sorted = labels.windows(2).all(|pair| pair[0].order < pair[1].order);
    is_sorted.then_some(labels)
}

impl Domain {
    /// Over a type, without conditions.
    pub fn over(base: PgType) -> Domain {
        let (collation, default, checks) = (None, None, Vec::new());
        Domain { base, collation, not_null: false, default, checks, category: b'U', length: -1 }
    }

    fn read(body: &Json) -> Option<Domain> {
        let check = |check: &Json| {
            Some(Check {
                name: check[0].as_str()?.to_string(),
                sql: check[1].as_str()?.to_string(),
                oid: number(&check[2])?,
                valid: check[3].as_bool()?,
            })
        };
        Some(Domain {
            collation: match &body["collation"] {
                Json::Null => None,
                known => Some(number(known)?),
            },
            not_null: body["not_null"].as_bool()?,
            default: body["default"].as_str().map(String::from),
            checks: body["checks"].as_array()?.iter().map(check).collect::<Option<_>>()?,
            ..Domain::over(pg_type(&body["base"], &body["modifier"])?)
        })
    }

    fn body(&self) -> Json {
        let check = |check: &Check| json!([check.name, check.sql, check.oid, check.valid]);
        let mut body = json!({
            "base": self.base.oid,
            "modifier": self.base.modifier,
            "not_null": self.not_null,
            "default": self.default,
            "checks": self.checks.iter().map(check).collect::<Vec<Json>>(),
        });
        if let Some(collation) = self.collation {
            body["collation"] = collation.into();
        }
        body
    }
}
