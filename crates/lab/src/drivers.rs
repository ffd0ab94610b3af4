//! Which engines can be measured?

use ::onlap::KeysKept;
use onlap_base::{Error, ErrorKind, Result};

use crate::engine::{Engine, EngineOptions};
use crate::generate::TableShape;
use crate::names;

mod onlap;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "wire")]
mod wire;

pub(crate) use onlap::{
    create_table as create_onlap_table, index_spec as onlap_index, spec as onlap_spec,
};

/// Engines that a bench can name, whether built in or not.
pub const ENGINES: [&str; 12] = [
    "onlap",
    "onlap-short",
    "onlap-wire",
    "postgres",
    "innodb",
    "innodb-change-buffer",
    "innodb-compressed",
    "myrocks",
    "myrocks-zstd",
    "rocksdb",
    "sqlite",
    "url",
];

/// Whether it is a server, so that a program of its own does the work.
pub fn is_server(name: &str) -> bool {
    !matches!(name, "onlap" | "onlap-short" | "rocksdb" | "sqlite")
}

/// Whether it takes SQL, so that workloads of statements can be run.
pub fn takes_sql(name: &str) -> bool {
    is_server(name) || name == "sqlite"
}

/// Fails where an engine cannot be measured here: with the nearest name, or with what to install.
pub fn check(name: &str) -> Result<()> {
    let name = names::choose("engine", name, &ENGINES)?;
    if !is_built_in(name) {
        let text = match is_server(name) {
            true => format!("engine {name} is measured by onlap-lab: onlap-lab bench"),
            false => {
                format!("engine {name} is not built in; build onlap-lab with --features {name}")
            }
        };
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    #[cfg(feature = "wire")]
    if let Some(kind) = crate::wire::Kind::named(name) {
        kind.check()?;
    }
    Ok(())
}

#[cfg(feature = "wire")]
pub(crate) use wire::{
    settle as settle_server, sizes as sizes_of, start as start_server, written as written_by,
};

/// Whether [`open`] can open it.
pub fn is_built_in(name: &str) -> bool {
    match name {
        "onlap" | "onlap-short" => true,
        "rocksdb" => cfg!(feature = "rocksdb"),
        "sqlite" => cfg!(feature = "sqlite"),
        _ => cfg!(feature = "wire"),
    }
}

/// An engine that runs transactions of updates.
pub trait Updates: Sync {
    /// Adds one to an integer column of the rows with these keys, which rise, and to what its indexes
    /// have of it, in one transaction.
    fn transaction(&self, keys: &[i64], column: usize) -> Result<()>;
}

/// Opens an engine with rows of a table and all its indexes, for transactions.
pub fn open_for_updates(
    name: &str,
    options: &EngineOptions,
    shape: &'static TableShape,
) -> Result<Box<dyn Updates>> {
    match name {
        #[cfg(feature = "rocksdb")]
        "rocksdb" => rocksdb::open_for_updates(options, shape),
        name => {
            let _ = (options, shape);
            let text = format!("engine {name} is not built in for transactions");
            Err(Error::new(ErrorKind::Unsupported, text))
        }
    }
}

/// Opens an engine by name.
pub fn open(name: &str, options: &EngineOptions) -> Result<Box<dyn Engine>> {
    check(name)?;
    match name {
        "onlap" => onlap::open(options, KeysKept::Full),
        "onlap-short" => onlap::open(options, KeysKept::Short),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => rocksdb::open(options),
        #[cfg(feature = "wire")]
        name => wire::open(name, options),
        #[cfg(not(feature = "wire"))]
        name => Err(Error::new(ErrorKind::Unsupported, format!("engine {name}"))),
    }
}
