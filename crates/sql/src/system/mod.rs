//! What do the system catalogs say?
//!
//! Tables of pg_catalog and information_schema, with PostgreSQL 15's columns, and those of onlap_stat. Each is a function from a
//! [`View`] to rows, called when a query reads it; what has no meaning here is there and empty.

pub mod advise;
pub mod classes;
pub mod cluster;
pub mod definitions;
mod depends;
pub mod difference;
pub mod extensions;
pub mod figures;
pub mod fixed;
pub mod functions;
pub mod grants;
pub mod locks;
mod made_types;
pub mod model;
pub mod monitored;
pub mod partitions;
mod policies;
mod progress;
pub mod row_types;
pub mod rows;
pub mod rules;
pub mod sight;
mod standard;
pub mod text;
pub mod triggers;
pub mod views;

pub use made_types::{check as domain_check, check_of as domain_check_of};

use crate::catalog::oids;
use crate::error::Result;
use crate::rights::{Class, Key};
use crate::view::{INFORMATION_SCHEMA, ONLAP_STAT, PG_CATALOG, View};
use definitions::Definition;
use rows::Rows;

/// What a table or view of the system is to those who may not read it: those that have passwords, values or
/// the server's files in them are not for all.
pub fn with_secrets(schema: &str, name: &str) -> Option<(Class, Key)> {
    let definition = definitions::find(schema, name)?;
    let class = if definition.is_view { Class::View } else { Class::Table };
    oids::PRIVATE.contains(&definition.oid).then_some((class, Key::of(definition.oid)))
}

/// Bytes that the rows of a system table take while they are made, where they may be many whatever the catalog holds.
pub fn bytes_ahead(view: &View, definition: &Definition) -> usize {
    match (definition.schema, definition.name) {
        (ONLAP_STAT, "history") => figures::bytes_of_history(view),
        _ => 0,
    }
}

/// The rows of a system table that a statement sees.
///
/// # Errors
/// The transaction has ended.
pub fn rows_of(view: &View, definition: &Definition) -> Result<Rows> {
    let name = definition.name;
    let made = match definition.schema {
        PG_CATALOG if extensions::has(name) => {
            extensions::rows(view, &model::Model::of(view)?, definition)
        }
        PG_CATALOG if name == "pg_proc" => {
            Some(functions::procs(view, &model::Model::of(view)?, definition))
        }
        PG_CATALOG if name == "pg_type" => row_types::types(view, definition)?,
        PG_CATALOG => match classes::rows(view, name)? {
            None => match cluster::rows(view, name)? {
                None => match grants::rows(view, name) {
                    None => views::rows(view, name)?,
                    found => found,
                },
                found => found,
            },
            found => found,
        },
        INFORMATION_SCHEMA => standard::rows(view, name)?,
        ONLAP_STAT => figures::rows(view, name)?,
        schema if extensions::STATEMENTS == schema => figures::statements::as_pg(view, name),
        _ => None,
    };
    Ok(made.or_else(|| fixed::rows(definition)).unwrap_or_default())
}
