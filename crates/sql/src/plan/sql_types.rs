//! Which type does a name in CAST or `::` mean?

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{DataType as SqlType, TimezoneInfo};

use crate::types::names;
use crate::types::{PgType, oid};

/// Types of PostgreSQL that the planner does not know by itself.
#[derive(Debug)]
pub struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, ty: &SqlType) -> Result<Option<FieldRef>> {
        Ok(pg_type(ty).and_then(|ty| {
            ty.arrow()?;
            Some(Arc::new(ty.field("", true)))
        }))
    }
}

/// The type that SQL text names; `None` for what the planner knows as well, or nobody.
pub fn pg_type(ty: &SqlType) -> Option<PgType> {
    let oid = match ty {
        SqlType::Uuid => oid::UUID,
        SqlType::JSON => oid::JSON,
        SqlType::JSONB => oid::JSONB,
        SqlType::Regclass => oid::REGCLASS,
        SqlType::Bytea => oid::BYTEA,
        SqlType::Timestamp(None, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => oid::TIMESTAMPTZ,
        SqlType::Custom(name, arguments) if arguments.is_empty() => {
            names::by_name(&name.to_string())?
        }
        _ => return None,
    };
    Some(PgType::new(oid))
}
