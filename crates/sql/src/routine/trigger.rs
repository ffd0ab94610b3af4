//! What is a trigger's function told, and what does it give?

use std::sync::Arc;

use onlap_kernels::array::{Builder, Dim, Record};
use onlap_kernels::misc::MadeCall;
use onlap_kernels::{Datum, Repr};
use onlap_pg::TypeRef;
use onlap_pg::catalog::{Catalog, oids};
use parking_lot::Mutex;

use super::body::{Body, Gives, Kind, Role, Sql};
use super::called::{apart, by_machine, inside};
use super::give::must_match;
use super::host::Host;
use super::machine::{BoundTexts, Machine};
use super::read::{Around, Form, Reader};
use super::types::kind_of;
use super::values::{Held, Row, Seen};
use crate::catalog::functions::Function;
use crate::catalog::triggers::Trigger;
use crate::error::{Result, SqlError};
use crate::parse;
use crate::query::transition::Transition;
use crate::query::{Bound, routine_catalog, sql_error};
use crate::session::Session;
use crate::session::lent::Told;
use crate::view::View;
use crate::wire::Client;

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

/// Fails where a condition of rows of a relation, which is right, cannot be calculated here.
///
/// # Errors
/// `0A000`
pub fn must_be_served(view: &View, relation: u32, text: &str) -> Result<()> {
    let row = kind_of(view, TypeRef::new(crate::catalog::oids::of_row(relation)))?;
    let form = when_form(&row);
    let (body, scope) = Reader::parameters_alone(&Around { view, name: "", form: &form });
    let sql = when_sql(text, scope)?;
    let rows: Vec<u32> = match &row {
        Kind::Row(oid, _) => vec![*oid],
        _ => Vec::new(),
    };
    let full = |kind: &Kind| match kind {
        Kind::Row(oid, fields) => {
            let row = Row { shape: fields.clone(), values: vec![Datum::Null; fields.len()] };
            Held::Row(*oid, fields.clone(), Some(row))
        }
        kind => Held::of(kind),
    };
    let held: Vec<Held> = body.slots.iter().map(|slot| full(&slot.kind)).collect();
    let seen = Seen { body: &body, held: &held, scope: sql.scope, used: Mutex::default() };
    let bound = Bound::within(view, &sql.parsed, &[], (&seen, &rows));
    let served = bound.and_then(|bound| {
        bound.must_be_served(view, &sql.parsed.bindable())?;
        Ok(bound)
    });
    served.map(drop).map_err(SqlError::nowhere)
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
    Ok(Sql {
        parsed: Arc::new(parsed),
        shown: text.to_string(),
        further: -7,
        role: Role::Condition,
        is_plain,
        scope,
        number: 0,
    })
}

/// A trigger with what its condition is.
pub struct Conditioned {
    /// The trigger.
    pub trigger: Trigger,
    /// What a row is.
    row: Kind,
    row_type: u32,
    when: Option<When>,
}

/// A condition that was read.
struct When {
    body: Body,
    sql: Sql,
    bound: Mutex<BoundTexts>,
}

impl Conditioned {
    /// Of a trigger that fires for rows of this type.
    ///
    /// # Errors
    /// A condition that cannot be read.
    pub fn new(view: &View, trigger: Trigger, row_type: u32) -> Result<Conditioned> {
        let row = kind_of(view, TypeRef::new(row_type))?;
        let when = match &trigger.when {
            None => None,
            Some(text) => {
                let form = when_form(&row);
                let (body, scope) =
                    Reader::parameters_alone(&Around { view, name: "", form: &form });
                Some(When { body, sql: when_sql(text, scope)?, bound: Mutex::default() })
            }
        };
        Ok(Conditioned { trigger, row, row_type, when })
    }

    fn held(&self, values: Option<&Vec<Datum<'static>>>) -> Held {
        match (&self.row, values) {
            (Kind::Row(oid, fields), Some(values)) => {
                let row = Row { shape: fields.clone(), values: values.clone() };
                Held::Row(*oid, fields.clone(), Some(row))
            }
            (kind, _) => Held::of(kind),
        }
    }
}

/// A trigger that fires.
pub struct Firing<'a> {
    /// The trigger.
    pub of: &'a Conditioned,
    /// TG_OP.
    pub op: &'static str,
    /// The OID of the table.
    pub relation: u32,
    /// Its name.
    pub name: &'a crate::catalog::Name,
    /// OLD.
    pub old: Option<Vec<Datum<'static>>>,
    /// NEW.
    pub new: Option<Vec<Datum<'static>>>,
    /// Tables of changed rows.
    pub tables: Arc<[Transition]>,
    /// Whether its condition was found to hold.
    pub is_judged: bool,
}

/// What a trigger's function gives: a row, or none; nothing where its condition does not hold.
pub type Fired = Option<Option<Vec<Datum<'static>>>>;

/// Calls the function of a trigger.
///
/// # Errors
/// Those of the function and of the condition; `42804`: it gives a row of another form.
pub fn fire(view: &View, firing: Firing<'_>) -> Result<Fired> {
    let oid = firing.of.trigger.function;
    let function = view
        .objects
        .functions()
        .by_oid(oid)
        .cloned()
        .ok_or_else(|| SqlError::internal(format!("cache lookup failed for function {oid}")))?;
    inside(view, (true, false), |session| {
        if let Some(when) = firing.of.when.as_ref().filter(|_| !firing.is_judged)
            && !holds(session, &firing, when)?
        {
            return Ok(None);
        }
        let _fires = view.scope.lent().fires();
        session.transitions = Arc::clone(&firing.tables);
        let done = apart(session, view, &function, |session| called(session, &function, &firing));
        session.transitions = Arc::from([]);
        done.map(Some)
    })
}

/// Whether the condition of a trigger holds, of one that is called later.
///
/// # Errors
/// Those of the condition.
pub fn judge(view: &View, firing: &Firing<'_>) -> Result<bool> {
    match &firing.of.when {
        None => Ok(true),
        Some(when) => inside(view, (true, false), |session| holds(session, firing, when)),
    }
}

/// Whether the condition of a trigger holds.
fn holds(session: &mut Session, firing: &Firing<'_>, when: &When) -> Result<bool> {
    let view = session.view()?;
    let mut told = Told::new(&view);
    let version = session.version_lent();
    let host = Host::new(session, &mut told, view.clone()).calm(true).seen_at(version);
    let mut machine = Machine::new(host, &when.body, "");
    machine.bound = std::mem::take(&mut *when.bound.lock());
    machine.held[when.body.told[0]] = firing.of.held(firing.new.as_ref());
    machine.held[when.body.told[1]] = firing.of.held(firing.old.as_ref());
    let holds = machine.truth(&when.sql);
    *when.bound.lock() = std::mem::take(&mut machine.bound);
    drop(machine);
    told.send()?;
    holds
}

fn called(
    session: &mut Session,
    function: &Arc<Function>,
    firing: &Firing<'_>,
) -> Result<Option<Vec<Datum<'static>>>> {
    let view = session.view()?;
    let call = MadeCall {
        proc: function.oid,
        places: Vec::new(),
        args: vec![TypeRef::new(firing.of.row_type)],
        result: TypeRef::new(super::called::TRIGGER),
        defined: Vec::new(),
    };
    let given = by_machine(session, &view, (function, &call), |machine, _| {
        tell(machine, firing)?;
        machine.run()?;
        Ok(machine.given.value.take())
    })?;
    let catalog = routine_catalog(&view);
    match given {
        Some(Datum::Bytes(bytes)) if firing.of.trigger.row => {
            let row = row_given(&catalog, &firing.of.row, &bytes);
            row.map(Some).map_err(|e| {
                let name = function.shown(&view);
                e.around(&format!("PL/pgSQL function {name} during function exit"))
            })
        }
        _ => Ok(None),
    }
}

/// Lets a function know what it is called for.
fn tell(machine: &mut Machine<'_, '_>, firing: &Firing<'_>) -> Result<()> {
    let trigger = &firing.of.trigger;
    let text = |text: &str| Datum::text(text);
    let arguments = trigger.arguments.iter().map(|one| Datum::text(one.as_str()));
    let mut argv = Builder::new(Repr::Text);
    for one in arguments {
        argv.push(&one).map_err(|e| sql_error(&e, ""))?;
    }
    let count = i32::try_from(trigger.arguments.len()).unwrap_or(i32::MAX);
    let argv = match count {
        0 => Datum::Null,
        count => {
            let dims = [Dim { lower: 0, ..Dim::new(usize::try_from(count).unwrap_or(0)) }];
            Datum::bytes(argv.finish_as(&dims))
        }
    };
    let when = match trigger.time {
        'B' => "BEFORE",
        'A' => "AFTER",
        _ => "INSTEAD OF",
    };
    let values = [
        text(&trigger.name),
        text(when),
        text(if trigger.row { "ROW" } else { "STATEMENT" }),
        text(firing.op),
        Datum::Oid(firing.relation),
        text(&firing.name.name),
        text(&firing.name.name),
        text(&firing.name.schema),
        Datum::Int4(count),
        argv,
    ];
    let slots = &machine.body.told;
    machine.held[slots[0]] = firing.of.held(firing.new.as_ref());
    machine.held[slots[1]] = firing.of.held(firing.old.as_ref());
    for (slot, value) in slots[2..].iter().zip(values) {
        machine.held[*slot] = match &machine.held[*slot] {
            Held::Value(ty, _) => Held::Value(*ty, value),
            held => held.clone(),
        };
    }
    Ok(())
}

/// The row that a function gives, which has to be one of the table.
fn row_given(catalog: &Catalog, row: &Kind, bytes: &[u8]) -> Result<Vec<Datum<'static>>> {
    let misfit = "returned row structure does not match the structure of the triggering table";
    let Kind::Row(_, fields) = row else {
        return Err(SqlError::new(crate::error::state::MISMATCH, misfit));
    };
    let record = Record::load(bytes);
    must_match(catalog, &record, fields, misfit)?;
    Ok(record.fields(catalog).into_iter().map(|(_, value)| value.into_owned()).collect())
}
