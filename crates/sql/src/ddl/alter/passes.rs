//! In which order does ALTER TABLE carry its actions out?
//!
//! As PostgreSQL does (its documentation names no order; `tablecmds.c` does): what goes first makes room for what comes, so
//! that a column may be dropped and another of its name added, and a constraint may read a column that the same statement
//! adds, whatever is written first. Within a pass they keep their order.

use onlap_pg::ast::{ColumnChange, TableChange, TableRule};

/// The passes in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    Drop,
    Type,
    AddColumn,
    Attributes,
    AddIndex,
    AddOther,
    Rest,
}

fn pass(change: &TableChange) -> Pass {
    match change {
        TableChange::DropColumn(..) | TableChange::DropConstraint(..) => Pass::Drop,
        TableChange::AddColumn(..) => Pass::AddColumn,
        TableChange::AddConstraint(constraint) => match &constraint.rule {
            TableRule::Check(_) | TableRule::Foreign(..) => Pass::AddOther,
            _ => Pass::AddIndex,
        },
        TableChange::Column(_, change) => match &**change {
            ColumnChange::DropDefault
            | ColumnChange::DropNotNull
            | ColumnChange::DropExpression(_)
            | ColumnChange::DropIdentity(_) => Pass::Drop,
            ColumnChange::Type(..) => Pass::Type,
            ColumnChange::SetNotNull => Pass::Attributes,
            ColumnChange::SetDefault(_) | ColumnChange::AddIdentity(..) => Pass::AddOther,
            ColumnChange::SetIdentity(_) | ColumnChange::Storage => Pass::Rest,
        },
        _ => Pass::Rest,
    }
}

/// Actions that are read together, one group after the other: each sees what those before it have done.
pub fn of(changes: &[TableChange]) -> Vec<Vec<&TableChange>> {
    let mut sorted: Vec<&TableChange> = changes.iter().collect();
    sorted.sort_by_key(|change| pass(change));
    let mut groups: Vec<Vec<&TableChange>> = Vec::new();
    for change in sorted {
        let own = pass(change);
        match groups.last_mut() {
            // What one drop leaves, the next one may drop.
            Some(group) if own != Pass::Drop && pass(group[0]) == own => group.push(change),
            _ => groups.push(vec![change]),
        }
    }
    groups
}
