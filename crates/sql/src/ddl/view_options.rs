//! ALTER VIEW … SET and RESET.
//!
//! Thread safety: runs in the session's thread.

use onlap_pg::ast::Setting;

use crate::catalog::view_options::Options;
use crate::catalog::{Kind, Name};
use crate::error::Result;
use crate::query::must_be_changed_through;
use crate::session::Session;
use crate::view::View;

/// Says something else of a view.
///
/// # Errors
/// Those of [`Options::changed`]; `0A000`: rows of the view are not written.
pub fn change(
    session: &mut Session,
    view: &View,
    name: &Name,
    (settings, reset): (&[Setting], bool),
) -> Result<()> {
    let engine = name.engine(&view.database);
    view.scope.tx()?.hold_name(&engine)?;
    let Some(object) = view.objects.get(Kind::View, &engine) else {
        return Err(crate::view::no_table(&[name.schema.clone(), name.name.clone()]));
    };
    let options = Options::kept(&object.body).changed(settings, reset)?;
    if !reset && settings.iter().any(|setting| &*setting.name == "check_option") {
        must_be_changed_through(view, name)?;
    }
    let mut body = object.body.clone();
    options.put(&mut body);
    session.put(Kind::View, &engine, Some(body))?;
    session.catalog_changed()
}
