//! TRUNCATE.

use onlap::Table;
use onlap_pg::ast::Relation as Named;

use super::naming::Relation;
use super::{kin, sequence};
use crate::catalog::Name;
use crate::error::{Result, SqlError};
use crate::rights::Action;
use crate::rights::ask::of_table;
use crate::session::Session;
use crate::source::strings;
use crate::view::View;

/// TRUNCATE.
///
/// # Errors
/// There is no such table; another table refers to it.
pub fn truncate(
    session: &mut Session,
    view: &View,
    tables: &[Named],
    restart: bool,
    cascade: bool,
) -> Result<&'static str> {
    if cascade {
        return Err(SqlError::unsupported("TRUNCATE CASCADE").hint("Name all tables."));
    }
    let mut all: Vec<Table> = Vec::new();
    for target in tables {
        let (_, table) = view.table_to("truncate", &strings(&target.name))?;
        view.must(&[of_table(Action::Truncate, &table.schema(), Vec::new())])?;
        let below = match target.only {
            true => Vec::new(),
            false => kin::all_below(view, table.schema().id)?,
        };
        if target.only && view.objects.families().divided(table.schema().id).is_some() {
            let text = "cannot truncate only a partitioned table";
            let hint = "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions \
                        directly.";
            return Err(SqlError::new("42809", text).hint(hint));
        }
        let own = |table: &Table| !view.is_other_temporary(&kin::name_of(table).schema);
        for table in std::iter::once(table).chain(below.into_iter().filter(own)) {
            if !all.iter().any(|known| known.schema().id == table.schema().id) {
                all.push(table);
            }
        }
    }
    let several = all.len() > tables.len();
    refuse_referred(view, &all)?;
    for table in all {
        let at_once = !several && !session.is_in_block() && !session.current()?.changed;
        let empty = view.scope.tx()?.count(&table)? == 0;
        if !empty && at_once {
            session.instance.db.truncate_table(&table.name())?;
        } else if !empty {
            view.scope.tx()?.delete_where(&table, &onlap::Predicate::All)?;
            session.current()?.changed = true;
        }
        if restart {
            for name in sequence::owned_by(view, table.schema().id, None) {
                let (_, of_engine) = Name::of_engine(&name);
                view.must_own(Action::Alter, &of_engine, Relation::Sequence)?;
                let old = view.scope.tx()?.sequence(&name)?;
                let spec = sequence::Options::default().spec(&name, Some(&old))?;
                sequence::replace(session, view, &old, &spec, Some(old.schema().start))?;
            }
        }
    }
    Ok("TRUNCATE TABLE")
}

/// Fails where rows of other tables refer to those that go.
fn refuse_referred(view: &View, all: &[Table]) -> Result<()> {
    let is_one = |id: onlap::TableId| all.iter().find(|table| table.schema().id == id);
    for (name, other) in view.tables()? {
        let schema = other.schema();
        if is_one(schema.id).is_some() {
            continue;
        }
        let Some(table) = schema.foreign_keys.iter().find_map(|key| is_one(key.parent)) else {
            continue;
        };
        let (child, parent) = (name.name, kin::name_of(table).name);
        let text = "cannot truncate a table referenced in a foreign key constraint";
        let hint =
            format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE.");
        return Err(SqlError::new("0A000", text)
            .detail(format!("Table \"{child}\" references \"{parent}\"."))
            .hint(hint));
    }
    Ok(())
}
