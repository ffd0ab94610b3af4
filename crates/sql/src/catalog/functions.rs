//! How are functions and procedures kept that databases made?
//!
//! As a `Kind::Function` by the engine's form of the name with the OIDs of the arguments' types, `f(23,25)`. Who owns one, and
//! who may call it, is kept with the rights of all objects. Thread safety: read only.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap_pg::TypeRef;
use onlap_pg::catalog::{Catalog, MadeParameter, MadeProc, Proc, ProcKind, Volatility, oids};
use serde_json::{Value as Json, json};

use super::aggregates::Aggregate;
use super::names::{quote, temporary_of};
use super::objects::Object;
use super::{Name, oids as numbers};
use crate::rights::{Class, Key};
use crate::settings;
use crate::system::row_types;
use crate::view::View;

/// A function or procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its OID.
    pub oid: u32,
    /// Its database.
    pub database: String,
    /// Its name there.
    pub name: Name,
    /// Whether it is a procedure.
    pub procedure: bool,
    /// `sql` or `plpgsql`.
    pub language: String,
    /// Its body.
    pub source: String,
    /// All parameters.
    pub parameters: Vec<Parameter>,
    /// The type of the result.
    pub result: u32,
    /// Whether it gives a set.
    pub set: bool,
    /// `i`, `s` or `v`.
    pub volatility: char,
    /// RETURNS NULL ON NULL INPUT.
    pub strict: bool,
    /// SECURITY DEFINER.
    pub definer: bool,
    /// LEAKPROOF.
    pub leakproof: bool,
    /// `s`, `r` or `u`.
    pub parallel: char,
    /// COST.
    pub cost: f64,
    /// ROWS.
    pub rows: f64,
    /// SET.
    pub settings: Vec<(String, String)>,
    /// What makes it an aggregate, if it is one.
    pub aggregate: Option<Aggregate>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name; empty for none.
    pub name: String,
    /// Its type.
    pub ty: u32,
    /// As in proargmodes.
    pub mode: u8,
    /// DEFAULT, as it was written.
    pub default: Option<String>,
}

impl Parameter {
    /// Whether a call gives it.
    pub fn is_given(&self) -> bool {
        matches!(self.mode, b'i' | b'b' | b'v')
    }

    /// Whether it is a part of the result.
    pub fn is_result(&self) -> bool {
        matches!(self.mode, b'o' | b'b' | b't')
    }
}

impl Function {
    fn read(key: &str, object: &Object) -> Option<Function> {
        let (engine, _) = key.rsplit_once('(')?;
        let (database, name) = Name::of_engine(engine);
        let body = &object.body;
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        let letter = |word: &str| body[word].as_str()?.chars().next();
        let parameter = |of: &Json| {
            Some(Parameter {
                name: of["name"].as_str()?.to_string(),
                ty: number(&of["type"])?,
                mode: *of["mode"].as_str()?.as_bytes().first()?,
                default: of["default"].as_str().map(str::to_string),
            })
        };
        let setting = |of: &Json| {
            let (name, text) = (of[0].as_str()?.to_string(), of[1].as_str()?.to_string());
            let text = settings::requoted(&name, text);
            Some((name, text))
        };
        Some(Function {
            oid: numbers::of_object(object.number),
            database,
            name,
            procedure: body["procedure"].as_bool()?,
            language: body["language"].as_str()?.to_string(),
            source: body["source"].as_str()?.to_string(),
            parameters: body["parameters"]
                .as_array()?
                .iter()
                .map(parameter)
                .collect::<Option<_>>()?,
            result: number(&body["result"])?,
            set: body["set"].as_bool()?,
            volatility: letter("volatility")?,
            strict: body["strict"].as_bool()?,
            definer: body["definer"].as_bool()?,
            leakproof: body["leakproof"].as_bool()?,
            parallel: letter("parallel")?,
            cost: body["cost"].as_f64()?,
            rows: body["rows"].as_f64()?,
            settings: body["settings"].as_array()?.iter().map(setting).collect::<Option<_>>()?,
            aggregate: match &body["aggregate"] {
                Json::Null => None,
                of => Some(Aggregate::read(of)?),
            },
        })
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let parameter = |of: &Parameter| {
            let mode = char::from(of.mode).to_string();
            json!({ "name": of.name, "type": of.ty, "mode": mode, "default": of.default })
        };
        let parameters: Vec<Json> = self.parameters.iter().map(parameter).collect();
        json!({
            "procedure": self.procedure,
            "language": self.language,
            "source": self.source,
            "parameters": parameters,
            "result": self.result,
            "set": self.set,
            "volatility": self.volatility.to_string(),
            "strict": self.strict,
            "definer": self.definer,
            "leakproof": self.leakproof,
            "parallel": self.parallel.to_string(),
            "cost": self.cost,
            "rows": self.rows,
            "settings": self.settings,
            "aggregate": self.aggregate.as_ref().map(Aggregate::body),
        })
    }

    /// The types of what a call gives.
    pub fn arguments(&self) -> Vec<u32> {
        self.parameters.iter().filter(|of| of.is_given()).map(|of| of.ty).collect()
    }

    /// The parts of the result that parameters name.
    pub fn results(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|of| of.is_result())
    }

    /// The name that it is kept by.
    pub fn key(&self) -> String {
        key(&self.database, &self.name, &self.arguments())
    }

    /// What it is, for rights.
    pub fn class(&self) -> Class {
        if self.procedure { Class::Procedure } else { Class::Function }
    }

    /// Which it is, for rights.
    pub fn rights(&self) -> Key {
        Key::of(self.oid)
    }

    /// Its kind in messages.
    pub fn word(&self) -> &'static str {
        self.class().word()
    }

    /// Its name with the types of what a call gives, as messages write it.
    pub fn signature(&self, view: &View, qualified: bool) -> String {
        let types: Vec<String> =
            self.arguments().iter().map(|oid| shown_type(view, *oid)).collect();
        let name = quote(&self.name.name);
        match qualified {
            true => format!("{}.{name}({})", quote(&self.name.schema), types.join(",")),
            false => format!("{name}({})", types.join(",")),
        }
    }

    /// The same, with its schema where the name alone would mean another.
    pub fn shown(&self, view: &View) -> String {
        self.signature(view, !self.is_seen(view))
    }

    /// Whether its name alone means it.
    pub fn is_seen(&self, view: &View) -> bool {
        let all = view.objects.functions();
        let own = self.arguments();
        let found = view.path().find(|schema| {
            let name = Name::new(*schema, &self.name.name);
            !name.is_temporary() && all.get(&view.database, &name, &own).is_some()
        });
        found == Some(self.name.schema.as_str())
    }

    pub(super) fn proc(&self) -> Proc {
        let in_call = |of: &Parameter| of.is_given() || self.procedure && of.mode == b'o';
        let made_parameter = |of: &Parameter| MadeParameter {
            name: of.name.clone(),
            ty: TypeRef::new(of.ty),
            // CALL is given something for each part of the result, too.
            mode: if self.procedure && of.mode == b'o' { b'b' } else { of.mode },
        };
        let results: Vec<u32> = self.results().map(|of| of.ty).collect();
        let made = MadeProc {
            schema: self.name.schema.clone(),
            qualified: format!("{}.{}", self.name.schema, self.name.name),
            parameters: self.parameters.iter().map(made_parameter).collect(),
            aggregate: self.aggregate.as_ref().map(|of| of.made.clone()),
        };
        let given = self.parameters.iter().filter(|of| in_call(of));
        let last = given.clone().next_back().filter(|of| of.mode == b'v');
        Proc {
            oid: self.oid,
            name: self.name.name.clone().into(),
            arguments: given.clone().map(|of| of.ty).collect(),
            defaults: given.filter(|of| of.default.is_some()).count(),
            // The element is known to who has the catalog.
            variadic: last.map_or(0, |of| of.ty),
            result: match results[..] {
                [one] if self.procedure => one,
                _ => self.result,
            },
            kind: match self.aggregate {
                Some(_) => ProcKind::Aggregate,
                None if self.procedure => ProcKind::Procedure,
                None => ProcKind::Function,
            },
            strict: self.strict,
            retset: self.set,
            volatility: match self.volatility {
                'i' => Volatility::Immutable,
                's' => Volatility::Stable,
                _ => Volatility::Volatile,
            },
            cost: (self.cost * 100.0) as u32,
            all_types: "\\N",
            modes: "\\N",
            names: "\\N",
            default_texts: "\\N",
            made: Some(Arc::new(made)),
        }
    }
}

/// A type as messages write it, with its schema where its name alone would not mean it.
pub fn shown_type(view: &View, oid: u32) -> String {
    let types = view.objects.made_types();
    let shown = types.shown_to(view, oid);
    shown.unwrap_or_else(|| match types.catalog().get_type(oid) {
        Some(_) => types.catalog().shown(oid),
        None => row_types::name_of(view, oid).unwrap_or_else(|| types.catalog().shown(oid)),
    })
}

/// The name that a function is kept by.
pub fn key(database: &str, name: &Name, arguments: &[u32]) -> String {
    let types: Vec<String> = arguments.iter().map(u32::to_string).collect();
    format!("{}({})", name.engine(database), types.join(","))
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    /// By the names that they are kept by.
    all: BTreeMap<String, Arc<Function>>,
    /// By their OIDs.
    oids: BTreeMap<u32, Arc<Function>>,
    /// As statements know them, by database.
    procs: BTreeMap<String, Arc<[Proc]>>,
}

impl Functions {
    /// What rows of the catalog say; the name of a row that no release wrote otherwise.
    pub fn of<'a>(
        rows: impl Iterator<Item = (&'a str, &'a Object)>,
        catalog: &Catalog,
    ) -> Result<Functions, String> {
        let mut functions = Functions::default();
        let mut procs: BTreeMap<String, Vec<Proc>> = BTreeMap::new();
        for (key, object) in rows {
            let function = Function::read(key, object).ok_or_else(|| key.to_string())?;
            let mut proc = function.proc();
            if proc.variadic != 0 {
                proc.variadic = match proc.variadic {
                    oids::ANYARRAY => oids::ANYELEMENT,
                    oids::ANYCOMPATIBLEARRAY => oids::ANYCOMPATIBLE,
                    array => {
                        let rows = || super::oids::element_of_rows(array);
                        catalog.element(array).or_else(rows).unwrap_or(oids::ANY)
                    }
                };
            }
            procs.entry(function.database.clone()).or_default().push(proc);
            let function = Arc::new(function);
            functions.oids.insert(function.oid, Arc::clone(&function));
            functions.all.insert(key.to_string(), function);
        }
        for (database, mut procs) in procs {
            procs.sort_by_key(|proc| proc.oid);
            functions.procs.insert(database, procs.into());
        }
        Ok(functions)
    }

    /// Whether a database has any.
    pub fn has_any(&self, database: &str) -> bool {
        self.procs.contains_key(database)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One by its name and the types of what a call gives.
    pub fn get(&self, database: &str, name: &Name, arguments: &[u32]) -> Option<&Arc<Function>> {
        self.all.get(&key(database, name, arguments))
    }

    /// One by its OID.
    pub fn by_oid(&self, oid: u32) -> Option<&Arc<Function>> {
        self.oids.get(&oid)
    }

    /// Those of a database, by name.
    pub fn of_database<'a>(
        &'a self,
        database: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Function>> + Clone {
        self.all.values().filter(move |function| function.database == database)
    }

    /// The catalog with those that a view's statements find.
    pub fn added_to(&self, catalog: Catalog, view: &View) -> Catalog {
        match self.procs.get(&view.database) {
            Some(procs) => {
                // Temporary functions have to be named with their schema, whatever the path says.
                let path = view.whole_path().into_iter();
                let path = path.filter(|schema| temporary_of(schema).is_none());
                let seen = path.filter(|schema| view.may_look_in(schema));
                catalog.with_procs(Arc::clone(procs), seen.collect())
            }
            None => catalog,
        }
    }
}
