//! nextval, currval, lastval and setval.
//!
//! Sequences are no part of transactions: a value that was taken stays so. What a session took last, of
//! each sequence and at all, is the session's ([`Taken`]).

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use onlap::{Database, Sequence};
use onlap_base::SequenceId;
use parking_lot::Mutex;

use crate::catalog::{Name, oids};
use crate::error::SqlError;
use crate::parse::identifiers;
use crate::plan::scan::external;
use crate::rights::ask::sequence_key;
use crate::rights::judge::refusal;
use crate::rights::{Action, Class, Judge, Key, Need};
use crate::view::{View, no_table};

/// The values that a session took.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Which {
    Next,
    Current,
    Last,
    Set,
}

/// One of the functions, for a session.
struct SequenceFunction {
    which: Which,
    db: Database,
    database: String,
    search_path: Vec<String>,
    taken: Arc<Mutex<Taken>>,
    judge: Judge,
    /// Schemas of the database in which the role may not look.
    hidden: Vec<String>,
    /// Whether the transaction only reads.
    read_only: bool,
    signature: Signature,
}

impl std::fmt::Debug for SequenceFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &SequenceFunction) -> bool {
        self.which == other.which && Arc::ptr_eq(&self.taken, &other.taken)
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.which.hash(state);
    }
}

/// The function of a name, if it is one of them.
pub fn of_session(view: &View, name: &str) -> Option<Arc<ScalarUDF>> {
    let (which, arguments) = match name {
        "nextval" => (Which::Next, 1),
        "currval" => (Which::Current, 1),
        "lastval" => (Which::Last, 0),
        "setval" => (Which::Set, 2),
        _ => return None,
    };
    let signature = match (which, arguments) {
        (Which::Last, _) => Signature::nullary(Volatility::Volatile),
        (Which::Set, _) => Signature::variadic_any(Volatility::Volatile),
        (_, n) => Signature::any(n, Volatility::Volatile),
    };
    Some(Arc::new(ScalarUDF::new_from_impl(SequenceFunction {
        which,
        db: view.instance.db.clone(),
        database: view.database.clone(),
        search_path: view.search_path.clone(),
        taken: Arc::clone(&view.taken),
        judge: view.judge.clone(),
        hidden: view.hidden_schemas(),
        read_only: view.scope.tx().is_ok_and(|tx| tx.is_read_only()),
        signature,
    })))
}

impl SequenceFunction {
    fn by_name(&self, text: &str) -> crate::error::Result<Sequence> {
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
            [.., schema, name] => vec![Name::new(schema, name)],
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

    fn by_oid(&self, oid: i64) -> crate::error::Result<Sequence> {
        let all = self.taken.lock().own.clone().unwrap_or_else(|| self.db.sequences());
        let found = all.into_iter().find(|s| i64::from(oids::of_sequence(s.schema().id.0)) == oid);
        found.ok_or_else(|| {
            SqlError::new("42P01", format!("could not open relation with OID {oid}"))
        })
    }

    /// The sequence of an argument; `None` for NULL.
    fn sequence(&self, array: &dyn Array, row: usize) -> crate::error::Result<Option<Sequence>> {
        if array.is_null(row) {
            return Ok(None);
        }
        match array.data_type() {
            DataType::Utf8 => self.by_name(array.as_string::<i32>().value(row)).map(Some),
            DataType::Utf8View => self.by_name(array.as_string_view().value(row)).map(Some),
            DataType::Int64 => self.by_oid(array.as_primitive::<Int64Type>().value(row)).map(Some),
            other => Err(SqlError::unsupported(format!("a sequence by a value of {other}"))),
        }
    }

    fn one(
        &self,
        sequence: &Sequence,
        value: Option<i64>,
        is_called: bool,
    ) -> crate::error::Result<i64> {
        let id = sequence.schema().id;
        let action = match self.which {
            Which::Next => Action::NextValue,
            Which::Set => Action::SetValue,
            Which::Current | Which::Last => Action::CurrentValue,
        };
        let name = Name::of_engine(sequence.name()).1.name;
        self.judge.must(&[Need::new(action, Class::Sequence, sequence_key(id), name)])?;
        if self.read_only && matches!(self.which, Which::Next | Which::Set) {
            let text = format!("cannot execute {}() in a read-only transaction", self.name());
            return Err(SqlError::new("25006", text));
        }
        match self.which {
            Which::Next => {
                let value = sequence.next_value()?;
                self.taken.lock().note(id, value);
                Ok(value)
            }
            Which::Current => self.taken.lock().of.get(&id).copied().ok_or_else(|| {
                let name = Name::of_engine(sequence.name()).1.name;
                let text =
                    format!("currval of sequence \"{name}\" is not yet defined in this session");
                SqlError::new("55000", text)
            }),
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
                    self.taken.lock().of.insert(id, value);
                }
                Ok(value)
            }
        }
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        match self.which {
            Which::Next => "nextval",
            Which::Current => "currval",
            Which::Last => "lastval",
            Which::Set => "setval",
        }
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match (self.which, arguments.len()) {
            (Which::Set, n) if !(2..=3).contains(&n) => {
                let text = "function setval takes a sequence, a value, and whether it was called";
                Err(external(SqlError::new("42883", text)))
            }
            _ => Ok(DataType::Int64),
        }
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        if self.which == Which::Last {
            let taken = self.taken.lock();
            let last = taken.last.and_then(|id| taken.of.get(&id).copied());
            if let Some(id) = taken.last {
                let all = taken.own.clone().unwrap_or_else(|| self.db.sequences());
                let found = all.iter().find(|sequence| sequence.schema().id == id);
                let name = found.map(|s| Name::of_engine(s.name()).1.name).unwrap_or_default();
                let (class, key) = (Class::Sequence, sequence_key(id));
                let need = Need::new(Action::CurrentValue, class, key, name);
                self.judge.must(&[need]).map_err(external)?;
            }
            let text = "lastval is not yet defined in this session";
            let last = last.ok_or_else(|| external(SqlError::new("55000", text)))?;
            return Ok(ColumnarValue::Array(Arc::new(Int64Array::from(vec![last; rows]))));
        }
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(names) = arrays.first() else { return exec_err!("a sequence is missing") };
        let values = arrays.get(1).map(|a| cast(a, &DataType::Int64)).transpose();
        let values = values.map_err(DataFusionError::from)?;
        let called = arrays.get(2).map(|a| cast(a, &DataType::Boolean)).transpose();
        let called = called.map_err(DataFusionError::from)?;
        let mut out = Vec::with_capacity(rows);
        for row in 0..rows {
            let at = row.min(names.len().saturating_sub(1));
            let value = values.as_ref().map(|v| v.as_primitive::<Int64Type>());
            let null = value.is_some_and(|v| v.is_null(row.min(v.len() - 1)));
            let value = value.map(|v| v.value(row.min(v.len() - 1)));
            let is_called =
                called.as_ref().is_none_or(|c| c.as_boolean().value(row.min(c.len() - 1)));
            let sequence = self.sequence(names, at).map_err(external)?.filter(|_| !null);
            out.push(match sequence {
                Some(sequence) => Some(self.one(&sequence, value, is_called).map_err(external)?),
                None => None,
            });
        }
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(out))))
    }
}
