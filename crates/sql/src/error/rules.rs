//! How does PostgreSQL say that a rule of a table was broken?
//!
//! Programs look at SQLSTATE and the constraint's name, people and tests of applications at the sentence,
//! so both are PostgreSQL's. The engine names the rule ([`onlap::Subject`]).

use onlap::{Error, ErrorKind, OtherEnd, Subject};

use super::{About, Excluded, FailingRow, Key, SqlError};
use crate::catalog::names::Name;

/// The error of a broken rule.
pub(super) fn broken(e: &Error, subject: &Subject) -> SqlError {
    let relation = Name::of_engine(&subject.table).1;
    let column = subject.column.as_deref().unwrap_or_default();
    let constraint = subject.constraint.as_deref().unwrap_or_default();
    let table = &relation.name;
    let other = subject.other.as_ref().and_then(|other| match other {
        OtherEnd::Parent(name) | OtherEnd::Child(name) => Some(Name::of_engine(name).1),
        OtherEnd::Part => None,
    });
    let mut owner = relation.clone();
    let mut without = None;
    let (text, detail) = match (e.kind(), &subject.other, other) {
        (ErrorKind::LockNotAvailable, ..) => {
            (format!("could not obtain lock on row in relation \"{table}\""), None)
        }
        // A rule that is to come knows of some row alone.
        (ErrorKind::NotNull, ..) if subject.row.is_empty() => {
            (format!("column \"{column}\" of relation \"{table}\" contains null values"), None)
        }
        (ErrorKind::NotNull, ..) => (
            format!(
                "null value in column \"{column}\" of relation \"{table}\" violates not-null \
                 constraint"
            ),
            None,
        ),
        (ErrorKind::DuplicateKey, ..) => (
            format!("duplicate key value violates unique constraint \"{constraint}\""),
            Some(format!("{} already exists.", key(subject))),
        ),
        (ErrorKind::Excluded, ..) => {
            (format!("conflicting key value violates exclusion constraint \"{constraint}\""), None)
        }
        (ErrorKind::CheckViolation, ..) => (
            format!("new row for relation \"{table}\" violates check constraint \"{constraint}\""),
            None,
        ),
        (_, Some(OtherEnd::Parent(_)), Some(parent)) => {
            let end = format!("is not present in table \"{}\".", parent.name);
            without = Some(format!("Key {end}"));
            (
                format!(
                    "insert or update on table \"{table}\" violates foreign key constraint \
                     \"{constraint}\""
                ),
                Some(format!("{} {end}", key(subject))),
            )
        }
        (_, Some(OtherEnd::Part), _) => (
            format!(
                "insert or update on table \"{table}\" violates foreign key constraint \
                 \"{constraint}\""
            ),
            Some("MATCH FULL does not allow mixing of null and nonnull key values.".into()),
        ),
        (_, Some(OtherEnd::Child(_)), Some(child)) => {
            owner = child;
            let end = format!("is still referenced from table \"{}\".", owner.name);
            without = Some(format!("Key {end}"));
            (
                format!(
                    "update or delete on table \"{table}\" violates foreign key constraint \
                     \"{constraint}\" on table \"{}\"",
                    owner.name
                ),
                Some(format!("{} {end}", key(subject))),
            )
        }
        _ => (e.to_string(), None),
    };
    let mut error = SqlError::new(e.kind().sqlstate(), text);
    error.0.key = detail.is_some().then(|| Key {
        table: subject.table.clone(),
        columns: subject.key.iter().map(|(name, _)| name.clone()).collect(),
        values: subject.key.iter().map(|(_, value)| value.clone()).collect(),
        without,
    });
    error.0.detail = detail;
    let is_excluded = e.kind() == ErrorKind::Excluded;
    error.0.excluded =
        is_excluded.then(|| Box::new(Excluded { subject: subject.clone(), new: false }));
    error.0.row = (!subject.row.is_empty() && !is_excluded).then(|| FailingRow {
        table: subject.table.clone(),
        columns: subject.row.clone(),
        written: None,
    });
    if e.kind() == ErrorKind::LockNotAvailable {
        return error;
    }
    error.0.about = Some(About {
        schema: owner.schema,
        table: Some(owner.name),
        column: subject.column.clone(),
        datatype: None,
        constraint: subject.constraint.clone(),
    });
    error
}

/// The error of rows that are there and break a rule that is to come.
pub(super) fn of_rows(e: Error) -> SqlError {
    let subject = e.subject().cloned();
    let kind = e.kind();
    let mut error = SqlError::from(e);
    let Some(subject) = subject else { return error };
    let name = subject.constraint.as_deref().unwrap_or_default();
    match kind {
        ErrorKind::DuplicateKey => {
            error.0.message = format!("could not create unique index \"{name}\"");
            error.0.detail = Some(format!("{} is duplicated.", key(&subject)));
            if let Some(key) = &mut error.0.key {
                key.without = Some("Duplicate keys exist.".into());
            }
        }
        ErrorKind::Excluded => {
            error.0.message = format!("could not create exclusion constraint \"{name}\"");
            if let Some(excluded) = &mut error.0.excluded {
                excluded.new = true;
            }
        }
        ErrorKind::CheckViolation => {
            error.0.row = None;
            let table = Name::of_engine(&subject.table).1.name;
            error.0.message = format!(
                "check constraint \"{name}\" of relation \"{table}\" is violated by some row"
            );
        }
        _ => {}
    }
    error
}

/// `Key (a, b)=(1, 2)`.
fn key(subject: &Subject) -> String {
    let names: Vec<&str> = subject.key.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<&str> = subject.key.iter().map(|(_, value)| value.as_str()).collect();
    format!("Key ({})=({})", names.join(", "), values.join(", "))
}
