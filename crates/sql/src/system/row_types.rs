//! Which types do the rows of tables and views have?
//!
//! PostgreSQL has a composite type for each, and one for arrays of it; clients look them up when a column is a whole row.

use super::classes::collation_of;
use super::definitions::Definition;
use super::model::{Model, Relation, What};
use super::rows::{Datum, Rows};
use super::{classes, extensions, fixed, made_types};
use crate::catalog::names::quote;
use crate::catalog::{Name, oids};
use crate::error::Result;
use crate::row;
use crate::types::PgType;
use crate::view::View;

/// The type of a relation's rows; 0 where it has none.
pub fn of(relation: &Relation) -> u32 {
    if let What::Composite(row, ..) = relation.what {
        return row;
    }
    let has_rows = matches!(relation.kind(), "r" | "p" | "v" | "m");
    if has_rows { oids::of_row(relation.oid) } else { 0 }
}

/// The same, for what a database has made itself: pg_type has no rows for the system's own.
pub fn shown_of(relation: &Relation) -> u32 {
    if relation.oid >= oids::FIRST_OWN { of(relation) } else { 0 }
}

/// The names and types of the columns of what has rows of a type.
pub fn fields(view: &View, row: u32) -> Option<Vec<(String, PgType)>> {
    let model = Model::of(view).ok()?;
    let relation = model.relations.iter().find(|relation| of(relation) == row)?;
    Some(classes::columns(view, relation))
}

/// The name of the type of a relation's rows, or of arrays of them.
pub fn name_of(view: &View, row: u32) -> Option<String> {
    let model = Model::of(view).ok()?;
    let named = |of: &Relation, array: &str| format!("{}{array}", model.display(of));
    model.relations.iter().find_map(|relation| match of(relation) {
        own if own == row => Some(named(relation, "")),
        own if own + 1 == row => Some(named(relation, "[]")),
        _ => None,
    })
}

/// The name of such a type in SQL that is kept, or that is run by itself: it means the type in each search path.
pub fn written(view: &View, ty: u32) -> Option<String> {
    let (row, name) = named(view, ty)?;
    let array = if row == ty { "" } else { "[]" };
    Some(format!("{}.{}{array}", quote(&name.schema), quote(&name.name)))
}

/// The relation of whose rows this is the type, or of arrays of them: the type of a row, and the name.
pub fn named(view: &View, ty: u32) -> Option<(u32, Name)> {
    let model = Model::of(view).ok()?;
    let is_it = |relation: &&Relation| {
        let row = of(relation);
        row != 0 && (row == ty || row + 1 == ty)
    };
    model.relations.iter().find(is_it).map(|relation| (of(relation), relation.name.clone()))
}

/// pg_type.
///
/// # Errors
/// The transaction has ended.
pub fn types(view: &View, definition: &Definition) -> Result<Option<Rows>> {
    let Some(mut rows) = fixed::rows(definition) else { return Ok(None) };
    let model = Model::of(view)?;
    let is_composite = |relation: &&Relation| matches!(relation.what, What::Composite(..));
    let with_rows = model.relations.iter().filter(|relation| !is_composite(relation));
    for relation in with_rows.filter(|relation| shown_of(relation) != 0) {
        let schema = model.schema_oid(&relation.name.schema);
        let owner = classes::owner_of(view, relation);
        let (row, array) = (of(relation), of(relation) + 1);
        let name = &relation.name.name;
        let head = |oid: u32, name: String| row![oid, name, schema, owner, -1, false];
        let tail = || row!["d", "x", false, 0, -1, 0, 0, Datum::Null, Datum::Null, Datum::Null];
        // record_in and its like.
        let mut composite = head(row, name.clone());
        composite.extend(row!["c", "C", false, true, ",", relation.oid, 0, 0, array]);
        composite.extend(row![2290, 2291, 2402, 2403, 0, 0, 0]);
        composite.extend(tail());
        rows.push(composite);
        // array_in and its like.
        let mut list = head(array, format!("_{name}"));
        list.extend(row!["b", "A", false, true, ",", 0, 6179, row, 0]);
        list.extend(row![750, 751, 2400, 2401, 0, 0, 3816]);
        list.extend(tail());
        rows.push(list);
    }
    for made in view.objects.made_types().of_database(&view.database) {
        let schema = model.schema_oid(&made.name.schema);
        rows.push(made_types::row(view, made, schema.into()));
        let name = format!("_{}", made.name.name);
        let mut list = row![made.array, name, schema, made.owner, -1, false];
        list.extend(row!["b", "A", false, true, ",", 0, 6179, made.oid, 0]);
        list.extend(row![750, 751, 2400, 2401, 0, 0, 3816]);
        list.extend(row![
            "i",
            "x",
            false,
            0,
            -1,
            0,
            collation_of(view, PgType::new(made.array)),
            Datum::Null,
            Datum::Null,
            Datum::Null
        ]);
        rows.push(list);
    }
    extensions::add(view, &model, definition, &mut rows);
    Ok(Some(rows))
}

/// pg_enum.
pub fn labels(view: &View, _: &Model) -> Rows {
    let mut rows = Rows::of("oid enumtypid enumsortorder enumlabel");
    for made in view.objects.made_types().of_database(&view.database) {
        for label in made.labels() {
            rows.push(row![label.oid, made.oid, label.order, &label.text]);
        }
    }
    rows
}
