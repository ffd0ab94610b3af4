//! What do WITH, SET and RESET of parameters say of a relation?
//!
//! PostgreSQL's parameters of storage mean nothing here. They are judged as there, kept, and shown in `pg_class.reloptions`. Thread
//! safety: runs in the session's thread.

use onlap::{KeysKept, TableSchema};
use onlap_pg::ast::Setting;

use crate::catalog::storage::{KEYS, Storage};
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;

/// What has parameters of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A table or materialized view.
    Table,
    /// A partitioned table, which has none.
    Divided,
    /// An index in order.
    Index,
    /// What is declared as an index of gist.
    Gist,
    /// What is declared as one of hash.
    Hash,
}

impl Of {
    /// An index that is declared as one of a method.
    pub fn method(name: &str) -> Of {
        match name {
            "gist" => Of::Gist,
            "hash" => Of::Hash,
            _ => Of::Index,
        }
    }

    fn is_index(self) -> bool {
        matches!(self, Of::Index | Of::Gist | Of::Hash)
    }
}

/// What a parameter takes.
#[derive(Clone, Copy)]
enum Takes {
    Flag,
    Whole(i64, i64),
    Real(f64, f64),
    Cleanup,
    Buffering,
    Keys,
}

const MOST: i64 = i32::MAX as i64;

/// Parameters of tables: name, value, whether a table's TOAST has it, too.
const OF_TABLES: &[(&str, Takes, bool)] = &[
    ("autovacuum_enabled", Takes::Flag, true),
    ("user_catalog_table", Takes::Flag, false),
    ("vacuum_truncate", Takes::Flag, true),
    ("fillfactor", Takes::Whole(10, 100), false),
    ("autovacuum_vacuum_threshold", Takes::Whole(0, MOST), true),
    ("autovacuum_vacuum_insert_threshold", Takes::Whole(-1, MOST), true),
    ("autovacuum_analyze_threshold", Takes::Whole(0, MOST), false),
    ("autovacuum_vacuum_cost_limit", Takes::Whole(1, 10_000), true),
    ("autovacuum_freeze_min_age", Takes::Whole(0, 1_000_000_000), true),
    ("autovacuum_multixact_freeze_min_age", Takes::Whole(0, 1_000_000_000), true),
    ("autovacuum_freeze_max_age", Takes::Whole(100_000, 2_000_000_000), true),
    ("autovacuum_multixact_freeze_max_age", Takes::Whole(10_000, 2_000_000_000), true),
    ("autovacuum_freeze_table_age", Takes::Whole(0, 2_000_000_000), true),
    ("autovacuum_multixact_freeze_table_age", Takes::Whole(0, 2_000_000_000), true),
    ("log_autovacuum_min_duration", Takes::Whole(-1, MOST), true),
    ("toast_tuple_target", Takes::Whole(128, 8160), false),
    ("parallel_workers", Takes::Whole(0, 1024), false),
    ("autovacuum_vacuum_cost_delay", Takes::Real(0.0, 100.0), true),
    ("autovacuum_vacuum_scale_factor", Takes::Real(0.0, 100.0), true),
    ("autovacuum_vacuum_insert_scale_factor", Takes::Real(0.0, 100.0), true),
    ("autovacuum_analyze_scale_factor", Takes::Real(0.0, 100.0), false),
    ("vacuum_index_cleanup", Takes::Cleanup, true),
];

/// Parameters of indexes of btree.
const OF_INDEXES: &[(&str, Takes)] = &[
    ("fillfactor", Takes::Whole(10, 100)),
    ("deduplicate_items", Takes::Flag),
    (KEYS, Takes::Keys),
];

/// The same of gist.
const OF_GIST: &[(&str, Takes)] =
    &[("fillfactor", Takes::Whole(10, 100)), ("buffering", Takes::Buffering), (KEYS, Takes::Keys)];

/// The same of hash.
const OF_HASH: &[(&str, Takes)] = &[("fillfactor", Takes::Whole(10, 100)), (KEYS, Takes::Keys)];

/// Parameters that Onlap has for its own tables, and that are kept elsewhere.
const OWN: &[&str] = &["blind_writes", "history", "retain"];

fn bad(text: String) -> SqlError {
    SqlError::new(state::BAD_PARAMETER, text)
}

impl Takes {
    fn check(self, name: &str, value: &str) -> Result<()> {
        let is_flag = || onlap_pg::value::boolean::parse(value).is_ok();
        let between = |low: String, high: String| {
            let text = format!("value {value} out of bounds for option \"{name}\"");
            let detail = format!("Valid values are between \"{low}\" and \"{high}\".");
            Err(bad(text).detail(detail))
        };
        let invalid =
            |kind: &str| bad(format!("invalid value for {kind} option \"{name}\": {value}"));
        let no_switch =
            || Err(invalid("enum").detail("Valid values are \"on\", \"off\", and \"auto\"."));
        match self {
            Takes::Flag if is_flag() => Ok(()),
            Takes::Flag => Err(invalid("boolean")),
            Takes::Whole(low, high) => match value.trim().parse::<i64>() {
                Ok(number) if (low..=high).contains(&number) => Ok(()),
                Ok(number) if i32::try_from(number).is_ok() => {
                    between(low.to_string(), high.to_string())
                }
                _ => Err(invalid("integer")),
            },
            Takes::Real(low, high) => match value.trim().parse::<f64>() {
                Ok(number) if (low..=high).contains(&number) => Ok(()),
                Ok(_) => between(format!("{low:.6}"), format!("{high:.6}")),
                Err(_) => Err(invalid("floating point")),
            },
            Takes::Cleanup => match value.to_ascii_lowercase().as_str() {
                "auto" => Ok(()),
                "on" | "off" | "true" | "false" | "yes" | "no" | "1" | "0" => Ok(()),
                _ => no_switch(),
            },
            Takes::Buffering => match value.to_ascii_lowercase().as_str() {
                "auto" | "on" | "off" => Ok(()),
                _ => no_switch(),
            },
            Takes::Keys if kept(value).is_some() => Ok(()),
            Takes::Keys => {
                Err(invalid("enum").detail("Valid values are \"full\", \"short\", and \"auto\"."))
            }
        }
    }
}

fn kept(value: &str) -> Option<KeysKept> {
    match value.to_ascii_lowercase().as_str() {
        "full" => Some(KeysKept::Full),
        "short" => Some(KeysKept::Short),
        "auto" => Some(KeysKept::Auto),
        _ => None,
    }
}

/// How much of its keys an index is to keep that is made with these parameters, which are right.
pub fn keys_of(settings: &[Setting]) -> KeysKept {
    let said = settings.iter().find(|setting| *setting.name == *KEYS);
    let value = said.and_then(|setting| setting.value.as_ref());
    value.and_then(|value| kept(value.text())).unwrap_or_default()
}

/// What a parameter of this name takes; `None` where there is none.
fn takes(of: Of, name: &str, toast: bool) -> Option<Takes> {
    let table = || OF_TABLES.iter().find(|known| known.0 == name && (!toast || known.2));
    let of_index =
        |all: &[(&str, Takes)]| all.iter().find(|known| known.0 == name).map(|known| known.1);
    match of {
        Of::Table => table().map(|known| known.1),
        Of::Divided => table().filter(|_| toast).map(|known| known.1),
        Of::Index => of_index(OF_INDEXES),
        Of::Gist => of_index(OF_GIST),
        Of::Hash => of_index(OF_HASH),
    }
}

/// The parameters that are said, as they are kept.
///
/// # Errors
/// `22023`: there is no such parameter, it does not take the value, or it comes twice.
pub fn options(of: Of, settings: &[Setting]) -> Result<Vec<String>> {
    for space in settings.iter().filter_map(|setting| setting.space.as_deref()) {
        if of.is_index() || space != "toast" {
            return Err(bad(format!("unrecognized parameter namespace \"{space}\"")));
        }
    }
    let mut all: Vec<(String, String)> = Vec::new();
    let mut toast: Vec<&str> = Vec::new();
    for setting in settings {
        let name: &str = &setting.name;
        let is_toast = setting.space.is_some();
        if !of.is_index() && !is_toast && OWN.contains(&name) {
            continue;
        }
        let value = setting.value.as_ref().map_or("true", |value| value.text());
        if !of.is_index() && !is_toast && name == "oids" {
            match onlap_pg::value::boolean::parse(value) {
                Ok(false) => continue,
                _ => {
                    let text = "tables declared WITH OIDS are not supported";
                    return Err(SqlError::new(state::UNSUPPORTED, text));
                }
            }
        }
        let Some(takes) = takes(of, name, is_toast) else {
            return Err(bad(format!("unrecognized parameter \"{name}\"")));
        };
        let is_twice = match is_toast {
            true => toast.contains(&name),
            false => all.iter().any(|(known, _)| known == name),
        };
        if is_twice {
            return Err(bad(format!("parameter \"{name}\" specified more than once")));
        }
        takes.check(name, value)?;
        match is_toast {
            true => toast.push(name),
            false => all.push((name.to_string(), value.to_string())),
        }
    }
    Ok(all.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
}

/// Notes what is said of a relation; nothing where there is nothing to keep.
///
/// # Errors
/// Those of the engine.
pub fn note(session: &mut Session, oid: u32, storage: &Storage) -> Result<()> {
    match storage.body() {
        Some(body) => session.put(Kind::Storage, &oid.to_string(), Some(body)),
        None => Ok(()),
    }
}

/// Forgets what was said of a relation that goes.
///
/// # Errors
/// Those of the engine.
pub fn forget(session: &mut Session, view: &View, oid: u32) -> Result<()> {
    match view.objects.get(Kind::Storage, &oid.to_string()) {
        Some(_) => session.put(Kind::Storage, &oid.to_string(), None),
        None => Ok(()),
    }
}

/// The same of an index by its name.
///
/// # Errors
/// Those of the engine.
pub fn forget_index(
    session: &mut Session,
    view: &View,
    schema: &TableSchema,
    index: &str,
) -> Result<()> {
    let index = schema.index_by_name(index);
    index.map_or(Ok(()), |of| forget(session, view, oids::of_index(of.id)))
}

/// SET and RESET of parameters.
///
/// # Errors
/// `42601`: RESET with a value; those of [`options`].
pub fn change(
    session: &mut Session,
    view: &View,
    (oid, of): (u32, Of),
    (settings, reset): (&[Setting], bool),
) -> Result<()> {
    let before = Storage::of(&view.objects, oid);
    let named = |option: &String| {
        let name = option.split('=').next().unwrap_or_default();
        settings.iter().any(|setting| setting.space.is_none() && *setting.name == *name)
    };
    if of.is_index() && settings.iter().any(|setting| *setting.name == *KEYS) {
        let text = "another form of the keys of an index that is there";
        return Err(SqlError::unsupported(text).hint("Make another index, and drop this one."));
    }
    let mut after = before.clone();
    after.options.retain(|option| !named(option));
    if reset && settings.iter().any(|setting| setting.value.is_some()) {
        let text = "RESET must not include values for parameters";
        return Err(SqlError::new(state::SYNTAX, text));
    }
    if !reset {
        after.options.extend(options(of, settings)?);
    }
    if before == after {
        return Ok(());
    }
    session.catalog_changed()?;
    session.put(Kind::Storage, &oid.to_string(), after.body())
}
