//! DROP.

use datafusion::sql::sqlparser::ast::{ObjectType, Statement};

use crate::catalog::names::parts;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

/// DROP.
pub fn drop(
    session: &mut Session,
    view: &View,
    statement: &Statement,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let Statement::Drop { object_type, if_exists, names, .. } = statement else {
        return Err(SqlError::unsupported(statement));
    };
    for name in names {
        let parts = parts(name)?;
        let dropped = match object_type {
            ObjectType::Table => table(view, &parts),
            ObjectType::Index => index(session, view, &parts),
            other => Err(SqlError::unsupported(format!("DROP {other}"))),
        };
        match dropped {
            Err(e) if *if_exists && matches!(e.state(), state::NO_TABLE | state::NO_OBJECT) => {
                let text = format!("{}, skipping", e.message());
                client.reply().notice("NOTICE", &SqlError::new("00000", text));
            }
            result => result?,
        }
    }
    session.current()?.changed_catalog = true;
    Ok(match object_type {
        ObjectType::Index => "DROP INDEX",
        _ => "DROP TABLE",
    })
}

fn table(view: &View, parts: &[String]) -> Result<()> {
    let (_, table) = view.table(parts).map_err(|e| match e.state() {
        state::NO_TABLE => {
            SqlError::new(state::NO_TABLE, format!("table \"{}\" does not exist", parts.join(".")))
        }
        _ => e,
    })?;
    Ok(view.scope.tx()?.drop_table(&table.name())?)
}

fn index(session: &Session, view: &View, parts: &[String]) -> Result<()> {
    let wanted = parts.last().map(String::as_str).unwrap_or_default();
    for (_, table) in view.tables()? {
        if table.schema().index_by_name(wanted).is_some() {
            match session.is_in_block() {
                true => view.scope.tx()?.drop_index(&table, wanted)?,
                false => session.instance.db.drop_index(&table.name(), wanted)?,
            }
            return Ok(());
        }
    }
    Err(SqlError::new(state::NO_OBJECT, format!("index \"{}\" does not exist", parts.join("."))))
}
