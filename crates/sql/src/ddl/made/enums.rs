//! Enums: CREATE TYPE … AS ENUM and what ALTER TYPE does to labels.

use onlap_pg::ast::CreateEnum;

use super::texts::rename_in_defaults;
use super::{check_free, put};
use crate::catalog::made_types::{Label, Made, What};
use crate::catalog::{Name, oids};
use crate::ddl::change::notice;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::source::strings;
use crate::view::View;
use crate::wire::Client;

/// Bytes of a label, as of any name.
const LABEL_BYTES: usize = 63;

/// CREATE TYPE … AS ENUM.
///
/// # Errors
/// `42710`: the name is taken; `23505`: a label comes twice; `42602`.
pub fn create(session: &mut Session, view: &View, create: &CreateEnum) -> Result<&'static str> {
    let name = view.new_name(&strings(&create.name))?;
    check_free(view, &name)?;
    let mut labels: Vec<Label> = Vec::with_capacity(create.labels.len());
    for label in &create.labels {
        check_label(label)?;
        if labels.iter().any(|known| known.text == **label) {
            let text =
                "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
            // The type gets no number, as it is not made.
            let own = oids::of_object(session.instance.take_number());
            let detail = format!("Key (enumtypid, enumlabel)=({own}, {label}) already exists.");
            let error = SqlError::new("23505", text).detail(detail);
            let table = Name::new("pg_catalog", "pg_enum");
            return Err(error.about_constraint(table, "pg_enum_typid_label_index"));
        }
        let oid = oids::of_object(session.instance.take_number());
        labels.push(Label { text: label.to_string(), order: labels.len() as f64 + 1.0, oid });
    }
    let array = oids::of_object(session.instance.take_number());
    let (database, owner) = (view.database.clone(), view.role_named(&view.user)?);
    session.catalog_changed()?;
    let what = What::Enum(labels);
    put(session, &Made { oid: 0, array, database, name, owner, what })?;
    Ok("CREATE TYPE")
}

fn check_label(text: &str) -> Result<()> {
    if text.len() > LABEL_BYTES {
        let detail = format!("Labels must be {LABEL_BYTES} bytes or less.");
        return Err(SqlError::new("42602", format!("invalid enum label \"{text}\"")).detail(detail));
    }
    Ok(())
}

/// A new label, or a notice where it is there already and that is no error; the enum as it then is.
///
/// # Errors
/// The label is there; the one that it should stand at is not.
pub fn add(
    session: &mut Session,
    made: &Made,
    (label, skip): (&str, bool),
    neighbour: Option<(bool, &str)>,
    client: &mut dyn Client,
) -> Result<Option<Made>> {
    check_label(label)?;
    let mut labels = labels(made)?.to_vec();
    if labels.iter().any(|known| known.text == *label) {
        let error = taken(label);
        if skip {
            notice(client, error.state(), format!("{}, skipping", error.message()));
            return Ok(None);
        }
        return Err(error);
    }
    let at = match neighbour {
        None => labels.len(),
        Some((before, text)) => place(&labels, text)? + usize::from(!before),
    };
    let order = between(&labels, at)?;
    let oid = oids::of_object(session.instance.take_number());
    labels.insert(at, Label { text: label.to_string(), order, oid });
    Ok(Some(Made { what: What::Enum(labels), ..made.clone() }))
}

/// Another text of a label.
///
/// # Errors
/// It is not there; the other one is; a default that cannot be written anew.
pub fn rename(
    session: &mut Session,
    view: &View,
    made: &Made,
    (from, to): (&str, &str),
) -> Result<Made> {
    check_label(to)?;
    let mut labels = labels(made)?.to_vec();
    let at = place(&labels, from)?;
    if labels.iter().any(|known| known.text == *to) {
        return Err(taken(to));
    }
    labels[at].text = to.to_string();
    let after = Made { what: What::Enum(labels), ..made.clone() };
    rename_in_defaults(session, view, (made, &after), from)?;
    Ok(after)
}

fn labels(made: &Made) -> Result<&[Label]> {
    match &made.what {
        What::Enum(labels) => Ok(labels),
        _ => Err(SqlError::new("42809", format!("{} is not an enum", made.shown(false)))),
    }
}

fn taken(text: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_OBJECT, format!("enum label \"{text}\" already exists"))
}

fn place(labels: &[Label], text: &str) -> Result<usize> {
    labels
        .iter()
        .position(|label| label.text == text)
        .ok_or_else(|| SqlError::new("22023", format!("\"{text}\" is not an existing enum label")))
}

/// A number between those of two neighbours.
fn between(labels: &[Label], at: usize) -> Result<f64> {
    let before = at.checked_sub(1).map(|at| labels[at].order);
    let after = labels.get(at).map(|label| label.order);
    let order = match (before, after) {
        (None, None) => 1.0,
        (Some(before), None) => before + 1.0,
        (None, Some(after)) => after - 1.0,
        (Some(before), Some(after)) => f64::midpoint(before, after),
    };
    let is_new = before.is_none_or(|b| b < order) && after.is_none_or(|a| order < a);
    match is_new {
        true => Ok(order),
        false => Err(SqlError::unsupported("another label between these two")),
    }
}
