//! nextval, currval, lastval, setval and pg_sequence_last_value.
//!
//! Sequences are no part of transactions: a value that was taken stays so. What a session took last, of
//! each sequence and at all, is the session's ([`Taken`]).

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{Database, ErrorKind, Sequence};
use onlap_base::SequenceId;
use parking_lot::Mutex;

use super::Function;
use crate::catalog::names::{TEMPORARY, temporary, temporary_of};
use crate::catalog::{Name, oids};
use crate::error::{Result, SqlError, state};
use crate::parse::identifiers;
use crate::rights::ask::sequence_key;
use crate::rights::judge::refusal;
use crate::rights::{Action, Class, Judge, Key, Need};
use crate::system::model::Model;
use crate::system::rows::Datum;
use crate::view::{OF_OTHERS, View, no_table};

/// The values that a session took, of each sequence by its [`Sequence::origin`]: another description or name, and a transaction
/// that gives one and rolls back, leave what was taken.
#[derive(Default)]
pub struct Taken {
    of: HashMap<SequenceId, i64>,
    last: Option<SequenceId>,
    /// The sequences that there are for its transaction, where that has changed the catalog.
    pub own: Option<Vec<Sequence>>,
}

impl std::fmt::Debug for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Taken({:?})", self.of)
    }
}

impl Taken {
    /// A value was taken.
    pub fn note(&mut self, sequence: SequenceId, value: i64) {
        self.of.insert(sequence, value);
        self.last = Some(sequence);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Next,
    Current,
    Last,
    Set,
    /// The last value that any session took.
    Given,
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Which::Next => "nextval",
            Which::Current => "currval",
            Which::Last => "lastval",
            Which::Set => "setval",
            Which::Given => "pg_sequence_last_value",
        }
    }
}

/// One of the functions, for a session.
struct SequenceFunction {
    which: Which,
    db: Database,
    database: String,
    search_path: Vec<String>,
    /// The session, if it has temporary objects.
    temporary: Option<i32>,
    pid: i32,
    taken: Arc<Mutex<Taken>>,
    judge: Judge,
    /// Schemas of the database in which the role may not look.
    hidden: Vec<String>,
    /// Whether the transaction only reads.
    read_only: bool,
    view: View,
}

/// The function of a name, if it is one of them.
pub fn find(view: &View, name: &str) -> Option<Function> {
    let which = match name {
        "nextval" => Which::Next,
        "currval" => Which::Current,
        "lastval" => Which::Last,
        "setval" => Which::Set,
        "pg_sequence_last_value" => Which::Given,
        _ => return None,
    };
    let made = SequenceFunction {
        which,
        db: view.instance.db.clone(),
        database: view.database.clone(),
        search_path: view.search_path.schemas.clone(),
        temporary: view.temporary.then_some(view.pid),
        pid: view.pid,
        taken: Arc::clone(&view.taken),
        judge: view.judge.clone(),
        hidden: view.hidden_schemas(),
        read_only: view.scope.tx().is_ok_and(|tx| tx.is_read_only()),
        view: view.clone(),
    };
    Some(Function::new(move |arguments| made.call(arguments)))
}

impl SequenceFunction {
    fn by_name(&self, text: &str) -> Result<Sequence> {
        let parts = identifiers(text);
        let is_hidden = |schema: &String| self.hidden.contains(schema);
        let names: Vec<Name> = match &parts[..] {
            [name] => {
                let path = self.search_path.iter().filter(|schema| !is_hidden(schema));
                path.map(|schema| Name::new(schema, name)).collect()
            }
            [.., schema, _] if is_hidden(schema) => {
                return Err(refusal(&Need::new(Action::LookIn, Class::Schema, Key::of(0), schema)));
            }
            [.., schema, name] => match self.temporary {
                Some(pid) if schema == TEMPORARY => vec![Name::new(temporary(pid), name)],
                _ => vec![Name::new(schema, name)],
            },
            [] => Vec::new(),
        };
        let own = self.taken.lock().own.clone();
        let find = |name: String| match &own {
            Some(own) => own.iter().find(|s| s.name() == name).cloned(),
            None => self.db.sequence(&name).ok(),
        };
        let found = names.iter().find_map(|n| find(n.engine(&self.database)));
        found.ok_or_else(|| no_table(&parts))
    }

    fn by_oid(&self, oid: i64) -> Result<Sequence> {
        let all = self.taken.lock().own.clone().unwrap_or_else(|| self.db.sequences());
        let found = all.into_iter().find(|s| i64::from(oids::of_sequence(s.schema().id.0)) == oid);
        found.map_or_else(|| Err(self.no_sequence(oid)?), Ok)
    }

    /// Why an OID is that of no sequence.
    fn no_sequence(&self, oid: i64) -> Result<SqlError> {
        let model = Model::of(&self.view)?;
        let found = u32::try_from(oid).ok().and_then(|oid| model.relation(oid));
        Ok(match found {
            Some(relation) => {
                let text = format!("\"{}\" is not a sequence", relation.name.name);
                SqlError::new("42809", text)
            }
            None => SqlError::new("42P01", format!("could not open relation with OID {oid}")),
        })
    }

    fn one(&self, sequence: &Sequence, value: Option<i64>, is_called: bool) -> Result<Option<i64>> {
        let (id, origin) = (sequence.schema().id, sequence.origin());
        let action = match self.which {
            Which::Next => Action::NextValue,
            Which::Set => Action::SetValue,
            Which::Current | Which::Last | Which::Given => Action::CurrentValue,
        };
        let Name { schema, name } = Name::of_engine(sequence.name()).1;
        self.judge.must(&[Need::new(action, Class::Sequence, sequence_key(id), name)])?;
        let of = temporary_of(&schema);
        if of.is_some_and(|pid| pid != self.pid) {
            return Err(SqlError::new(state::UNSUPPORTED, OF_OTHERS));
        }
        if self.read_only && of.is_none() && matches!(self.which, Which::Next | Which::Set) {
            let text = format!("cannot execute {}() in a read-only transaction", self.which.name());
            return Err(SqlError::new("25006", text));
        }
        match self.which {
            Which::Next => {
                let value = sequence.next_value().map_err(|e| exhausted(e, sequence))?;
                self.taken.lock().note(origin, value);
                Ok(Some(value))
            }
            Which::Given => Ok(sequence.current()),
            Which::Current => {
                self.taken.lock().of.get(&origin).copied().map(Some).ok_or_else(|| {
                    let name = Name::of_engine(sequence.name()).1.name;
                    let text = format!(
                        "currval of sequence \"{name}\" is not yet defined in this session"
                    );
                    SqlError::new("55000", text)
                })
            }
            _ => {
                let value = value.unwrap_or_default();
                let schema = sequence.schema();
                if value < schema.min || value > schema.max {
                    let name = Name::of_engine(sequence.name()).1.name;
                    let text = format!(
                        "setval: value {value} is out of bounds for sequence \"{name}\" ({}..{})",
                        schema.min, schema.max
                    );
                    return Err(SqlError::new("22003", text));
                }
                sequence.set_value(value, is_called)?;
                if is_called {
                    self.taken.lock().of.insert(origin, value);
                }
                Ok(Some(value))
            }
        }
    }

    fn call(&self, arguments: &[Datum]) -> Result<Datum> {
        if self.which == Which::Last {
            return self.last().map(Datum::from);
        }
        let sequence = match arguments.first() {
            Some(Datum::Int(oid)) => self.by_oid(*oid)?,
            Some(Datum::Text(name)) => self.by_name(name)?,
            _ => return Err(SqlError::new(state::NO_FUNCTION, "a sequence is missing")),
        };
        let value = arguments.get(1).and_then(Datum::int);
        let is_called = arguments.get(2) != Some(&Datum::Bool(false));
        Ok(self.one(&sequence, value, is_called)?.into())
    }

    fn last(&self) -> Result<i64> {
        let taken = self.taken.lock();
        let undefined = || SqlError::new("55000", "lastval is not yet defined in this session");
        let origin = taken.last.ok_or_else(undefined)?;
        let all = taken.own.clone().unwrap_or_else(|| self.db.sequences());
        // One that was dropped takes its last value with it.
        let found = all.iter().find(|s| s.origin() == origin).ok_or_else(undefined)?;
        let name = Name::of_engine(found.name()).1.name;
        let (class, key) = (Class::Sequence, sequence_key(found.schema().id));
        self.judge.must(&[Need::new(Action::CurrentValue, class, key, name)])?;
        taken.of.get(&origin).copied().ok_or_else(undefined)
    }
}

/// PostgreSQL's words for a sequence that has come to its end.
fn exhausted(e: onlap::Error, sequence: &Sequence) -> SqlError {
    if e.kind() != ErrorKind::SequenceExhausted {
        return e.into();
    }
    let (schema, name) = (sequence.schema(), Name::of_engine(sequence.name()).1.name);
    let (end, value) = match schema.increment > 0 {
        true => ("maximum", schema.max),
        false => ("minimum", schema.min),
    };
    let text = format!("nextval: reached {end} value of sequence \"{name}\" ({value})");
    SqlError::new("2200H", text)
}
