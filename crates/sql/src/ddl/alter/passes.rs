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

/// Actions that are read together, one group after the other: each sees what those before it have done. What the engine
/// makes better in one step stays together where nothing has to be seen.
pub fn of(changes: &[TableChange], together: bool) -> Vec<Vec<&TableChange>> {
    let mut sorted: Vec<&TableChange> = changes.iter().collect();
    if together || sees_nothing(changes) {
        return vec![sorted];
    }
    sorted.sort_by_key(|change| pass(change));
    let mut groups: Vec<Vec<&TableChange>> = Vec::new();
    for change in sorted {
        let own = pass(change);
        // What one constraint leaves, the next drop may take away.
        let is_alone = |change: &TableChange| matches!(change, TableChange::DropConstraint(..));
        match groups.last_mut() {
            Some(group) if pass(group[0]) == own && !is_alone(group[0]) && !is_alone(change) => {
                group.push(change);
            }
            _ => groups.push(vec![change]),
        }
    }
    groups
}

/// Whether all are of columns that are there, and none gives a default of another type than the column has, or takes one away
/// that its other type has no use for.
fn sees_nothing(changes: &[TableChange]) -> bool {
    let calculates = |change: &TableChange| match change {
        TableChange::Column(_, change) => matches!(**change, ColumnChange::Type(_, _, Some(_))),
        _ => false,
    };
    let calculates = changes.iter().any(calculates);
    let of = |change: &ColumnChange| match change {
        ColumnChange::Type(..) => Some(true),
        ColumnChange::DropDefault if calculates => Some(false),
        ColumnChange::SetDefault(_) => Some(false),
        _ => None,
    };
    let is_plain = |change: &TableChange| match change {
        TableChange::Column(_, change) => matches!(
            **change,
            ColumnChange::Type(..)
                | ColumnChange::SetDefault(_)
                | ColumnChange::DropDefault
                | ColumnChange::SetNotNull
                | ColumnChange::DropNotNull
                | ColumnChange::Storage
        ),
        _ => false,
    };
    let meets = |(at, change): (usize, &TableChange)| {
        let TableChange::Column(name, change) = change else { return false };
        let own = of(change);
        changes[..at].iter().any(|before| match before {
            TableChange::Column(other, before) => {
                other == name && own.zip(of(before)).is_some_and(|(a, b)| a != b)
            }
            _ => false,
        })
    };
    changes.iter().all(is_plain) && !changes.iter().enumerate().any(meets)
}
