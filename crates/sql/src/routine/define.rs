//! Is a body one that can be carried out?
//!
//! Asked when a function is made: a body of PL/pgSQL is read, statements of SQL are bound, and the last one has to give what the
//! function says.

use onlap_kernels::misc::MadeCall;
use onlap_pg::TypeRef;
use onlap_pg::catalog::oids;
use parking_lot::Mutex;

use super::called::{TRIGGER, form, is_polymorphic};
use super::read::{self, Around, Form};
use super::values::{Held, Seen};
use super::{sql, trigger};
use crate::catalog::functions::Function;
use crate::error::Result;
use crate::parse::{self, Body as Kind};
use crate::query::{Bound, Names};
use crate::view::View;

/// Checks the body of a new function, which stands this number of characters behind the beginning of the statement's text.
///
/// # Errors
/// Those of its body; `42P13`: it gives something else.
pub fn check(view: &View, function: &Function, at: Option<usize>) -> Result<()> {
    let concrete = |oid: u32| match oid {
        oids::ANYARRAY | oids::ANYCOMPATIBLEARRAY => 1007,
        oids::ANYRANGE | oids::ANYCOMPATIBLERANGE => 3904,
        oids::ANYMULTIRANGE | oids::ANYCOMPATIBLEMULTIRANGE => 4451,
        oid if is_polymorphic(oid) => oids::INT4,
        oid => oid,
    };
    let args: Vec<TypeRef> =
        function.arguments().into_iter().map(|oid| TypeRef::new(concrete(oid))).collect();
    let call = MadeCall {
        proc: function.oid,
        places: (0..args.len()).collect(),
        args,
        result: TypeRef::new(concrete(function.result)),
        defined: Vec::new(),
    };
    let form = match function.result {
        TRIGGER => trigger::form(view, None)?,
        _ => form(view, function, &call)?,
    };
    let around = Around { view, name: &function.name.name, form: &form };
    if function.language != "sql" {
        return read::read(&function.source, &around).map(drop);
    }
    let is_open = function.parameters.iter().any(|of| is_polymorphic(of.ty));
    let context = format!("SQL function \"{}\"", function.name.name);
    let placed = |e: crate::error::SqlError, before: usize| match at {
        // It has a place in the statement.
        Some(at) => e.after(at + before),
        None => e.within_text(&function.source, before as i64).around(&context),
    };
    let all = parse::statements(&function.source).map_err(|e| placed(e, 0))?;
    if is_open {
        return Ok(());
    }
    drop(all);
    let (body, statements) = sql::read(function, &around)?;
    let held: Vec<Held> = body.slots.iter().map(|slot| Held::of(&slot.kind)).collect();
    let rows: Vec<u32> = body
        .slots
        .iter()
        .filter_map(|slot| match slot.kind {
            super::body::Kind::Row(oid, _) => Some(oid),
            _ => None,
        })
        .collect();
    let mut last = None;
    for sql in &statements {
        last = None;
        if matches!(sql.parsed.body, Kind::Defined | Kind::Other) {
            continue;
        }
        let used = Mutex::default();
        let seen = Seen { body: &body, held: &held, scope: sql.scope, used };
        let bound = Bound::within(view, &sql.parsed, &[], (&seen, &rows));
        let bound = bound.and_then(|bound| bound.must_reach(view).map(|()| bound));
        last = Some(bound.map_err(|e| placed(e, sql.parsed.before))?);
    }
    check_result(view, function, &form, last.as_ref()).map_err(|e| e.around(&context))
}

fn check_result(view: &View, function: &Function, form: &Form, last: Option<&Bound>) -> Result<()> {
    use super::body::{Gives, Kind as Holds};
    let names = Names::new(view);
    let catalog = names.catalog();
    let results: Vec<(String, TypeRef)> = form
        .parameters
        .iter()
        .filter(|of| matches!(of.2, b'o' | b'b' | b't'))
        .map(|of| (of.0.clone(), sql::type_of(&of.1)))
        .collect();
    // A row may come as one column, too.
    let whole = match (&form.gives, &results[..]) {
        (Gives::Results { several: false, .. }, [one]) => one.1.oid,
        _ => function.result,
    };
    let (wanted, is_row) = match (&form.gives, &form.row) {
        (Gives::Nothing | Gives::Procedure | Gives::Trigger, _) => return Ok(()),
        (Gives::Results { several: false, .. }, _) => {
            let result = form.parameters.iter().find(|of| matches!(of.2, b'o' | b'b' | b't'));
            match result.map(|of| &of.1) {
                Some(Holds::Row(_, fields)) => (fields.clone(), true),
                _ => (results, false),
            }
        }
        (Gives::Results { .. }, _) => (results, true),
        (Gives::Value { .. }, Some(Holds::Row(_, fields))) => (fields.clone(), true),
        (Gives::Value { ty, .. }, Some(_)) => {
            // Any row will do.
            let shape = last.filter(|last| last.returns().is_some()).map(Bound::shape);
            let wanted = shape.clone().unwrap_or_default();
            let _ = ty;
            return sql::misfit(
                catalog,
                function.result,
                &wanted,
                (shape.as_deref(), true),
                &|_, _| true,
            );
        }
        (Gives::Value { ty, .. }, None) => (vec![(String::new(), *ty)], false),
    };
    let given = last.filter(|last| last.returns().is_some()).map(Bound::shape);
    if let (true, Some([(_, one)])) = (is_row, given.as_deref())
        && one.oid == whole
    {
        return Ok(());
    }
    let may_become = |from: TypeRef, to: TypeRef| sql::may_become(catalog, from, to);
    sql::misfit(catalog, function.result, &wanted, (given.as_deref(), is_row), &may_become)
}
