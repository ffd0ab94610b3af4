//! What is a trigger's function told, and what does it give?

use std::sync::Arc;

use onlap_pg::TypeRef;
use onlap_pg::catalog::oids;
use parking_lot::Mutex;

use super::body::{Gives, Kind, Role, Sql};
use super::read::{Around, Form, Reader};
use super::values::{Held, Row, Seen};
use crate::catalog::triggers::Trigger;
use crate::error::{Result, SqlError};
use crate::parse;
use crate::query::Bound;
use crate::view::View;

/// name
const NAME: u32 = 19;

/// What a trigger's function takes and gives: the rows are those of a table, where one is given.
///
/// # Errors
/// The table has gone.
pub fn form(_view: &View, row: Option<&Kind>) -> Result<Form> {
    let scalar = |oid| Kind::Scalar(TypeRef::new(oid));
    let row = row.cloned().unwrap_or(Kind::Record);
    let told = vec![
        ("new", row.clone()),
        ("old", row),
        ("tg_name", scalar(NAME)),
        ("tg_when", scalar(oids::TEXT)),
        ("tg_level", scalar(oids::TEXT)),
        ("tg_op", scalar(oids::TEXT)),
        ("tg_relid", scalar(oids::OID)),
        ("tg_relname", scalar(NAME)),
        ("tg_table_name", scalar(NAME)),
        ("tg_table_schema", scalar(NAME)),
        ("tg_nargs", scalar(oids::INT4)),
        ("tg_argv", scalar(oids::TEXT_ARRAY)),
    ];
    Ok(Form { parameters: Vec::new(), row: None, gives: Gives::Trigger, told })
}

/// Checks the condition of a new trigger.
///
/// # Errors
/// Those of the condition; `42P17`: it names rows that there are none of.
pub fn check_when(view: &View, trigger: &Trigger, text: &str) -> Result<()> {
    let row = row_kind(view, trigger.relation)?;
    let form = when_form(&row);
    let around = Around { view, name: "", form: &form };
    let (body, scope) = Reader::parameters_alone(&around);
    let sql = when_sql(text, scope)?;
    let held: Vec<Held> = body.slots.iter().map(|slot| full(&slot.kind)).collect();
    let rows = match &row {
        Kind::Row(oid, _) => vec![*oid],
        _ => Vec::new(),
    };
    let (used, yields) = (Mutex::default(), false);
    let seen = Seen { body: &body, held: &held, scope: sql.scope, used, yields };
    let bound = Bound::within(view, &sql.parsed, &[], (&seen, &rows));
    let bound = bound.map_err(|e| e.nowhere())?;
    let refuse = |text: &str| Err(SqlError::new("42P17", text));
    let names_of = |slot: usize| seen.used.lock().iter().any(|used| used.0 == slot);
    let (new, old) = (names_of(body.told[0]), names_of(body.told[1]));
    if !trigger.row && (new || old) {
        return refuse("statement trigger's WHEN condition cannot reference column values");
    }
    if trigger.insert && old {
        return refuse("INSERT trigger's WHEN condition cannot reference OLD values");
    }
    if trigger.delete && new {
        return refuse("DELETE trigger's WHEN condition cannot reference NEW values");
    }
    match bound.shape().first() {
        Some((_, ty)) if ty.oid == oids::BOOL || ty.oid == oids::UNKNOWN => Ok(()),
        Some((_, ty)) => {
            let shown = bound.catalog().shown(ty.oid);
            let text = format!("argument of WHEN must be type boolean, not type {shown}");
            Err(SqlError::new("42804", text))
        }
        None => Ok(()),
    }
}

fn when_form(row: &Kind) -> Form {
    let told = vec![("new", row.clone()), ("old", row.clone())];
    Form { parameters: Vec::new(), row: None, gives: Gives::Nothing, told }
}

/// A condition as an expression of the rows.
fn when_sql(text: &str, scope: Option<usize>) -> Result<Sql> {
    let whole = format!("SELECT {text}");
    let all = parse::statements(&whole)?;
    let Ok([parsed]) = <[parse::Parsed; 1]>::try_from(all) else {
        return Err(SqlError::new(crate::error::state::SYNTAX, "a condition was expected"));
    };
    let is_plain = super::texts::is_plain(&parsed);
    if !is_plain {
        let text = "cannot use subquery in trigger WHEN condition";
        return Err(SqlError::new("0A000", text));
    }
    Ok(Sql {
        parsed: Arc::new(parsed),
        shown: text.to_string(),
        further: -7,
        role: Role::Expression,
        is_plain,
        scope,
        number: 0,
    })
}

/// A variable that holds a row, so that its fields are known.
fn full(kind: &Kind) -> Held {
    match kind {
        Kind::Row(oid, fields) => {
            let values = vec![onlap_kernels::Datum::Null; fields.len()];
            let row = Row { shape: fields.clone(), values };
            Held::Row(*oid, fields.clone(), Some(row))
        }
        kind => Held::of(kind),
    }
}

/// What a row of a table or view is.
///
/// # Errors
/// The table has gone.
pub fn row_kind(view: &View, relation: u32) -> Result<Kind> {
    super::types::kind_of(view, TypeRef::new(crate::catalog::oids::of_row(relation)))
}
