//! Which engines can be measured?

use onlap_base::{Error, ErrorKind, Result};

use crate::engine::{Engine, EngineOptions};
use crate::names;

mod onlap;
#[cfg(feature = "rocksdb")]
mod rocksdb;

/// Engines that a bench can name, whether built in or not.
pub const ENGINES: [&str; 2] = ["onlap", "rocksdb"];

/// Whether [`open`] can open it.
pub fn is_built_in(name: &str) -> bool {
    name == "onlap" || (name == "rocksdb" && cfg!(feature = "rocksdb"))
}

/// Opens an engine by name.
pub fn open(name: &str, options: &EngineOptions) -> Result<Box<dyn Engine>> {
    match names::choose("engine", name, &ENGINES)? {
        "onlap" => onlap::open(options),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => rocksdb::open(options),
        name => Err(Error::new(
            ErrorKind::Unsupported,
            format!("engine {name} is not built in; build with --features {name}"),
        )),
    }
}
