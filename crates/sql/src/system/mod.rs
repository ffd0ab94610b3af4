//! What do the system catalogs say?
//!
//! Tables of pg_catalog and information_schema, made of what the engine and the objects say when a
//! statement is planned. Each table is a function from a [`View`] to rows.

use std::sync::Arc;

use datafusion::catalog::TableProvider;

use crate::error::Result;
use crate::view::View;

/// A system table by schema and name; `None` where there is none.
///
/// # Errors
/// The catalog cannot be read.
pub fn table(_view: &View, _schema: &str, _name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
    Ok(None)
}
