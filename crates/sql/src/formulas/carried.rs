//! What does a program need of what its database made?
//!
//! Enums, domains and functions that an expression names are carried by its program, so that it is bound and calculated
//! without the database's catalog: by an engine that recovers, by `onlap check`, in a backup. They are called by their OIDs, and
//! so are labels of enums, in the program's text too; so it means the same whatever is renamed. What the labels and types are
//! called now is looked up where the text is shown, or compared with what a query says. Of labels there are those that the text
//! names: the place of a label never changes, so that what is compared with others needs no more.
//!
//! A function is carried with its body, the expression of its only SELECT. Calls are calculated by that.
//!
//! Thread safety: what was made is read only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap_kernels::misc::MadeCall;
use onlap_kernels::{Cx, Datum, Repr, Session, input, output, repr};
use onlap_pg::bind::{self, NoRelations, Relation};
use onlap_pg::bound::{Bound, Expr, Part, QueryId};
use onlap_pg::catalog::{
    Catalog, Kind, Label, MadeParameter, MadeProc, Proc, ProcKind, Type, Volatility,
};
use onlap_pg::value::Settings;
use onlap_pg::{Error, Oid, Result, TypeRef};
use onlap_query::{Env, Formula};
use serde_json::{Value as Json, json};

use super::{Alone, all, env, env_with, room};
use crate::catalog::functions::Function;
use crate::catalog::made_types::{Made, What as Is};
use crate::query::domains;
use crate::types::PgType;
use crate::view::View;

#[cfg(test)]
mod tests;

/// The least OID of what a database makes itself.
const FIRST_MADE: Oid = 16384;

/// Whether an OID is that of something that a database made itself.
pub fn is_made(oid: Oid) -> bool {
    oid >= FIRST_MADE && onlap_pg::catalog::extensions::of(oid).is_none()
}

/// A type of a database, by its OID and that of its arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedType {
    /// Its OID.
    pub oid: Oid,
    /// That of its arrays.
    pub array: Oid,
    /// What it is.
    pub what: What,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An enum: OIDs and places of labels, in their order.
    Enum(Vec<(Oid, f64)>),
    /// A domain; its conditions are not asked.
    Domain {
        /// What it is over.
        base: PgType,
        /// Its category.
        category: u8,
        /// Bytes of a value, as pg_type says.
        length: i16,
        /// A collation of its own, or 0.
        collation: Oid,
    },
}

/// A function of a database: one expression of its parameters, which are called `$1` and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedFunction {
    /// Its OID.
    pub oid: Oid,
    /// The types of its parameters.
    pub arguments: Vec<Oid>,
    /// The type of its result.
    pub result: Oid,
    /// Whether a NULL among the arguments makes NULL.
    pub strict: bool,
    /// Its expression.
    pub sql: String,
}

/// What a program carries. A function stands behind those that it calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// Types.
    pub types: Vec<CarriedType>,
    /// Functions.
    pub functions: Vec<CarriedFunction>,
}

impl CarriedType {
    /// A type of a database; `None` for one of rows.
    pub fn of(made: &Made) -> Option<CarriedType> {
        let what = match &made.what {
            Is::Enum(labels) => {
                What::Enum(labels.iter().map(|label| (label.oid, label.order)).collect())
            }
            Is::Domain(domain) => What::Domain {
                base: domain.base,
                category: domain.category,
                length: domain.length,
                collation: domain.collation.unwrap_or(0),
            },
            Is::Composite(_) => return None,
        };
        Some(CarriedType { oid: made.oid, array: made.array, what })
    }

    fn body(&self) -> Json {
        match &self.what {
            What::Enum(labels) => {
                // A number of JSON may be read as its neighbour.
                let labels = labels.iter().map(|(oid, order)| json!([oid, order.to_string()]));
                let labels: Vec<Json> = labels.collect();
                json!({ "oid": self.oid, "array": self.array, "labels": labels })
            }
            What::Domain { base, category, length, collation } => json!({
                "oid": self.oid,
                "array": self.array,
                "base": [base.oid, base.modifier],
                "category": category,
                "length": length,
                "collation": collation,
            }),
        }
    }

    fn read(body: &Json) -> Option<CarriedType> {
        let what = match &body["labels"] {
            Json::Array(labels) => {
                let label = |label: &Json| {
                    let order = label[1].as_str()?.parse::<f64>().ok()?;
                    Some((oid_of(&label[0])?, order)).filter(|_| order.is_finite())
                };
                What::Enum(labels.iter().map(label).collect::<Option<_>>()?)
            }
            _ => What::Domain {
                base: PgType {
                    oid: oid_of(&body["base"][0])?,
                    modifier: i32::try_from(body["base"][1].as_i64()?).ok()?,
                },
                category: u8::try_from(body["category"].as_u64()?).ok()?,
                length: i16::try_from(body["length"].as_i64()?).ok()?,
                collation: oid_of(&body["collation"])?,
            },
        };
        Some(CarriedType { oid: oid_of(&body["oid"])?, array: oid_of(&body["array"])?, what })
    }

    /// It and its array, by their OIDs as names.
    fn types(&self) -> [Type; 2] {
        let name = self.oid.to_string();
        let mut ty = match &self.what {
            What::Enum(labels) => {
                let mut ty = Type::made(self.oid, &name, Kind::Enum, b'E', self.array);
                let label = |(oid, order): &(Oid, f64)| Label {
                    order: *order,
                    text: oid.to_string().into(),
                };
                ty.labels = labels.iter().map(label).collect();
                ty
            }
            What::Domain { base, category, length, collation } => {
                let mut ty = Type::made(self.oid, &name, Kind::Domain, *category, self.array);
                (ty.base, ty.base_modifier) = (base.oid, base.modifier);
                (ty.length, ty.collation) = (*length, *collation);
                ty
            }
        };
        ty.shown = format!("\"{name}\"").into();
        let array = Type::array_of(&ty);
        [ty, array]
    }
}

impl CarriedFunction {
    fn body(&self) -> Json {
        json!({
            "oid": self.oid,
            "arguments": self.arguments,
            "result": self.result,
            "strict": self.strict,
            "sql": self.sql,
        })
    }

    fn read(body: &Json) -> Option<CarriedFunction> {
        Some(CarriedFunction {
            oid: oid_of(&body["oid"])?,
            arguments: body["arguments"].as_array()?.iter().map(oid_of).collect::<Option<_>>()?,
            result: oid_of(&body["result"])?,
            strict: body["strict"].as_bool()?,
            sql: body["sql"].as_str()?.to_string(),
        })
    }

    /// As a row of pg_proc, by its OID as its name.
    fn proc(&self) -> Proc {
        let name = self.oid.to_string();
        let parameter =
            |ty: &Oid| MadeParameter { name: String::new(), ty: TypeRef::new(*ty), mode: b'i' };
        let parameters = self.arguments.iter().map(parameter).collect();
        let made = MadeProc {
            schema: String::new(),
            qualified: name.clone(),
            parameters,
            aggregate: None,
        };
        Proc {
            oid: self.oid,
            name: name.into(),
            arguments: self.arguments.clone().into(),
            defaults: 0,
            variadic: 0,
            result: self.result,
            kind: ProcKind::Function,
            strict: self.strict,
            retset: false,
            volatility: Volatility::Immutable,
            cost: 10_000,
            all_types: "\\N",
            modes: "\\N",
            names: "\\N",
            default_texts: "\\N",
            made: Some(Arc::new(made)),
        }
    }

    /// Its expression, as what it gives.
    fn bind(&self, catalog: &Catalog) -> Result<(Bound, QueryId)> {
        let (tree, value) = domains::expression(&format!("({})", self.sql))?;
        let wanted = Some(("result", TypeRef::new(self.result)));
        bind::of_column(&tree, value, wanted, &self.relation(catalog), &NoRelations, catalog)
    }

    fn relation(&self, catalog: &Catalog) -> Relation {
        let column = |(at, oid): (usize, &Oid)| bind::Column {
            name: parameter(at).into(),
            ty: of_base(catalog, *oid),
            collation: catalog.collation(*oid),
            dropped: false,
        };
        Relation {
            oid: 1,
            row: 0,
            name: "".into(),
            kind: b'r',
            columns: self.arguments.iter().enumerate().map(column).collect(),
            key: Vec::new(),
        }
    }
}

/// The domains of which a query makes values that are no constants.
pub fn made_domains(bound: &Bound, query: QueryId) -> Vec<Oid> {
    let mut found = Vec::new();
    bound.visit_part(Part::Query(query), 0, &mut |id, _| {
        if let Expr::Domain(one) = bound.expr(id)
            && !matches!(bound.expr(*one), Expr::Literal(_))
        {
            found.push(bound.ty(id).oid);
        }
        true
    });
    found
}

/// What a parameter is called, by its place from 0.
pub fn parameter(at: usize) -> String {
    format!("${}", at + 1)
}

/// A type, below domains.
pub fn of_base(catalog: &Catalog, oid: Oid) -> TypeRef {
    let (oid, modifier) = catalog.base(oid, -1);
    TypeRef { oid, modifier }
}

fn oid_of(body: &Json) -> Option<Oid> {
    u32::try_from(body.as_u64()?).ok()
}

impl Carried {
    /// All types of a database but rows, and its functions without their bodies.
    pub fn of_database(view: &View) -> Carried {
        let types = view.objects.made_types().of_database(&view.database);
        let functions = view.objects.functions().of_database(&view.database);
        let function = |of: &Arc<Function>| CarriedFunction {
            oid: of.oid,
            arguments: of.arguments(),
            result: of.result,
            strict: of.strict,
            sql: String::new(),
        };
        Carried {
            types: types.filter_map(CarriedType::of).collect(),
            functions: functions.map(function).collect(),
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.functions.is_empty()
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let types: Vec<Json> = self.types.iter().map(CarriedType::body).collect();
        let functions: Vec<Json> = self.functions.iter().map(CarriedFunction::body).collect();
        json!({ "types": types, "functions": functions })
    }

    /// Reads what is kept; `None` for what no release wrote.
    pub fn read(body: &Json) -> Option<Carried> {
        let types = body["types"].as_array()?.iter().map(CarriedType::read);
        let functions = body["functions"].as_array()?.iter().map(CarriedFunction::read);
        Some(Carried {
            types: types.collect::<Option<_>>()?,
            functions: functions.collect::<Option<_>>()?,
        })
    }

    /// PostgreSQL's catalog with all extensions and these, by their OIDs.
    pub fn catalog(&self) -> Arc<Catalog> {
        if self.is_empty() {
            return Arc::clone(all());
        }
        let types = self.types.iter().flat_map(CarriedType::types).collect();
        let mut procs: Vec<Proc> = self.functions.iter().map(CarriedFunction::proc).collect();
        procs.sort_by_key(|proc| proc.oid);
        Arc::new(Catalog::of_all_and(types, procs))
    }

    /// Whether it has a type, or the arrays of one.
    pub fn has_type(&self, oid: Oid) -> bool {
        self.types.iter().any(|ty| ty.oid == oid || ty.array == oid)
    }

    /// The OIDs of what is carried, those of arrays not among them.
    pub fn oids(&self) -> impl Iterator<Item = Oid> + '_ {
        self.types.iter().map(|ty| ty.oid).chain(self.functions.iter().map(|of| of.oid))
    }

    /// The OIDs of what functions bring along: they themselves, and types that their bodies name.
    pub fn brought(&self) -> impl Iterator<Item = Oid> + '_ {
        let is_named = |ty: &&CarriedType| {
            let named = format!("\"{}\"", ty.oid);
            self.functions.iter().any(|of| of.sql.contains(&named))
        };
        let types = self.types.iter().filter(is_named).map(|ty| ty.oid);
        self.functions.iter().map(|of| of.oid).chain(types)
    }

    /// The domains of which bodies of functions make values that are no constants.
    ///
    /// # Errors
    /// A body that no release wrote.
    pub fn made_domains(&self, catalog: &Catalog) -> Result<Vec<Oid>> {
        let mut found = Vec::new();
        for of in &self.functions {
            let (bound, query) = of.bind(catalog)?;
            found.extend(made_domains(&bound, query));
        }
        Ok(found)
    }

    /// Leaves labels out that no text of these, or of functions, names.
    pub fn keep_named(&mut self, sql: &str) {
        let texts = self.functions.iter().map(|of| of.sql.as_str()).chain([sql]);
        let numbers = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_digit()));
        let named: HashSet<Oid> = numbers.filter_map(|number| number.parse().ok()).collect();
        for ty in &mut self.types {
            if let What::Enum(labels) = &mut ty.what {
                labels.retain(|(oid, _)| named.contains(oid));
            }
        }
    }

    /// What expressions of it are calculated with.
    ///
    /// # Errors
    /// A function of it cannot be made.
    pub fn env(&self, catalog: &Arc<Catalog>) -> Result<Arc<Env>> {
        if self.is_empty() {
            return env().map(Arc::clone);
        }
        let mut session = Bodies::default();
        for of in &self.functions {
            let env = env_with(catalog, Arc::new(session.clone()))?;
            let (bound, query) = of.bind(catalog)?;
            let repr_of = |oid: Oid| {
                repr(catalog, oid).ok_or_else(|| Error::unserved("a value of this type"))
            };
            let body = Body {
                formula: Formula::new(&bound, query, &env)?,
                env,
                arguments: of.arguments.iter().map(|oid| repr_of(*oid)).collect::<Result<_>>()?,
                result: repr_of(of.result)?,
            };
            session.0.insert(of.oid, Arc::new(body));
        }
        env_with(catalog, Arc::new(session))
    }
}

/// The text of a literal of one catalog as another has it.
///
/// # Errors
/// It is none of the type; the other has no such label.
pub fn moved((from, to): (&Catalog, &Catalog), ty: TypeRef, text: &str) -> Result<String> {
    let (settings, mut shown) = (Settings::default(), String::new());
    let session = Bodies::default();
    let value = input(
        &mut Cx { catalog: from, settings: &settings, session: &session },
        TypeRef::new(ty.oid),
        text,
    )?;
    output(
        &mut Cx { catalog: to, settings: &settings, session: &session },
        ty.oid,
        &value,
        &mut shown,
    )?;
    Ok(shown)
}

/// A function's expression, made.
struct Body {
    formula: Formula,
    env: Arc<Env>,
    arguments: Vec<Repr>,
    result: Repr,
}

/// No session: functions that are carried are called by their bodies, and domains have no conditions.
#[derive(Clone, Default)]
pub struct Bodies(HashMap<Oid, Arc<Body>>);

impl Session for Bodies {
    fn room(&self, bytes: usize) -> Result<()> {
        room(bytes)
    }
    fn call(&self, function: Oid, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        Alone.call(function, args)
    }
    fn call_made(&self, call: &MadeCall, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        let body = self.0.get(&call.proc).filter(|body| body.arguments.len() == args.len());
        let body = body.ok_or_else(|| Error::new("XX001", "a function that is not carried"))?;
        let columns = args.iter().zip(&body.arguments);
        let columns = columns.map(|(value, repr)| Datum::column(*repr, [value].into_iter()));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let made = body.formula.values(&columns, 1, &body.env)?;
        Ok(Datum::at(&made, body.result, 0).into_owned())
    }
    fn keep_to(&self, _: Oid, _: &ArrayRef) -> Result<()> {
        Ok(())
    }
    fn clock(&self) -> i64 {
        0
    }
    fn statement_began(&self) -> i64 {
        0
    }
    fn random(&self) -> u64 {
        0
    }
}
