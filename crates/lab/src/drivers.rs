//! Which engines can be measured?

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
pub const ENGINES: [&str; 4] = ["onlap", "rocksdb", "onlap-wire", "postgres"];

/// Whether [`open`] can open it.
pub fn is_built_in(name: &str) -> bool {
    match name {
        "onlap" => true,
        "rocksdb" => cfg!(feature = "rocksdb"),
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
    match names::choose("engine", name, &ENGINES)? {
        "onlap" => onlap::open(options),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => rocksdb::open(options),
        #[cfg(feature = "wire")]
        "onlap-wire" => wire::open(crate::wire::Kind::Onlap, options),
        #[cfg(feature = "wire")]
        "postgres" => wire::open(crate::wire::Kind::Postgres, options),
        name => Err(Error::new(
            ErrorKind::Unsupported,
            format!("engine {name} is not built in; build with --features {name}"),
        )),
    }
}
