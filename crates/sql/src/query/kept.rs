//! How are texts bound that are kept?
//!
//! What they name is what it was when they were made, whatever the role that reads them may look at. Thread safety: pure
//! functions.

use onlap_pg::grammar;

use super::{Bound, Reading, sql_error};
use crate::catalog::oids;
use crate::deep::Depth;
use crate::error::{Result, SqlError};
use crate::view::View;

impl Bound {
    /// Binds the query of a materialized view, whose names are bound as of what is kept of it.
    ///
    /// # Errors
    /// What it reads is not there any more; as of [`Bound::must`].
    pub fn kept(view: &View, text: &str, body: &serde_json::Value) -> Result<Bound> {
        let depth = crate::parse::depth_of(text);
        let tree = grammar::parse(text).map_err(|e| sql_error(&e, text))?;
        let reading = Reading { text, given: &[], variables: None, body: Some(body) };
        Bound::read(view, &tree, depth, &reading).map_err(SqlError::nowhere)
    }

    /// Binds an expression that is kept and stands alone, as a default does: whatever the role may look at, it is what it was.
    /// What the role may call is asked.
    ///
    /// # Errors
    /// As of [`Bound::must`]; `42501`.
    pub fn kept_alone(view: &View, text: &str, depth: Depth) -> Result<Bound> {
        let all = &View { judge: view.judge.of(oids::POSTGRES), ..view.clone() };
        let tree = grammar::parse(text).map_err(|e| sql_error(&e, text))?;
        let reading = Reading { text, given: &[], variables: None, body: None };
        let made = Bound::read(all, &tree, depth, &reading)?;
        view.must(made.needs())?;
        Ok(made)
    }
}
