//! How are functions of SQL carried out?
//!
//! Their statements run one after the other; the last one gives the result. Names of parameters stand behind those of columns.

use std::sync::Arc;

use onlap_kernels::Datum;
use onlap_kernels::array::record;
use onlap_pg::TypeRef;
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::resolve::{Context, can_convert};

use super::body::{Block, Body, Conflict, Gives, Kind, Role, Sql};
use super::give::is_row;
use super::machine::{Given, Machine};
use super::read::{Around, Reader};
use super::values::Shape;
use crate::catalog::functions::Function;
use crate::error::{Result, SqlError};
use crate::parse;
use crate::query::sql_error;

/// Reads a body.
///
/// # Errors
/// Those of the grammar, with their places in the body.
pub fn read(function: &Function, around: &Around<'_>) -> Result<(Body, Vec<Sql>)> {
    let text = &function.source;
    let all = parse::statements(text).map_err(|e| e.within_text(text, 0))?;
    let (mut body, scope) = Reader::parameters_alone(around);
    body.conflict = Conflict::Column;
    body.root = Block { label: None, declared: Vec::new(), body: Vec::new(), handlers: None };
    let statements = all.into_iter().enumerate().map(|(number, parsed)| {
        super::texts::no_past(&parsed)?;
        let further = i64::try_from(parsed.before).unwrap_or(0);
        Ok(Sql {
            parsed: Arc::new(parsed),
            shown: text.clone(),
            further,
            role: Role::Whole,
            is_plain: false,
            scope,
            number,
        })
    });
    Ok((body, statements.collect::<Result<_>>()?))
}

/// Whether PostgreSQL would put the expression in the place of the call, so that errors say nothing of it.
fn is_inlined(function: &Function, statements: &[Sql]) -> bool {
    let [one] = statements else { return false };
    super::texts::is_plain(&one.parsed)
        && !function.set
        && !function.definer
        && function.settings.is_empty()
        && function.results().count() == 0
        && function.result != oids::RECORD
        && function.result != super::called::VOID
}

/// Carries the statements out; whether the last one has given a row.
///
/// # Errors
/// Those of the statements.
pub fn run(machine: &mut Machine<'_, '_>, function: &Function, statements: &[Sql]) -> Result<bool> {
    let (mut gave, inlined) = (false, is_inlined(function, statements));
    for (at, sql) in statements.iter().enumerate() {
        machine.host.view.scope.go_on()?;
        let is_last = at + 1 == statements.len();
        let gives = !matches!(machine.body.gives, Gives::Nothing | Gives::Procedure);
        let most = match (is_last && gives, machine.body.gives.is_set()) {
            (false, _) => 0,
            (true, true) => usize::MAX,
            (true, false) => 1,
        };
        let done = machine.fixed(sql, most);
        if let (Ok(Given { shape: Some(shape), .. }), true) = (&done, is_last) {
            machine.must_become_defined(shape).map_err(|e| {
                e.around(&format!("SQL function \"{}\" during startup", function.name.name))
            })?;
        }
        let done = match (done, is_last) {
            (Ok(given), true) => machine.give_last(&given),
            (done, _) => done.map(|_| false),
        };
        let done = done.map_err(|e| machine.host.with_values_to_see(e));
        gave = done.map_err(|e| match inlined {
            true => e,
            false => {
                e.around(&format!("SQL function \"{}\" statement {}", function.name.name, at + 1))
            }
        })?;
    }
    Ok(gave)
}

impl Machine<'_, '_> {
    /// The result that the last statement gives, if it gives rows.
    fn give_last(&mut self, given: &Given) -> Result<bool> {
        if matches!(self.body.gives, Gives::Nothing) {
            return Ok(false);
        }
        let Some(shape) = given.shape.clone() else { return Ok(false) };
        if !self.body.gives.is_set() {
            let Some(row) = given.first() else { return Ok(false) };
            let row = self.as_result(&shape, row)?;
            self.set_results(row)?;
            return Ok(true);
        }
        for row in Self::rows_of(given) {
            self.host.view.scope.go_on()?;
            let row = self.as_result(&shape, row)?;
            let bytes: usize = row.iter().map(|value| value.size() + 32).sum();
            self.charge(0, bytes)?;
            self.given.rows.push(row);
        }
        Ok(true)
    }

    /// Fails unless the columns of the last statement become those that the query defines for a record.
    fn must_become_defined(&self, shape: &Shape) -> Result<()> {
        let row = self.body.row.map(|slot| &self.body.slots[slot].kind);
        let Some(Kind::Row(oids::RECORD, wanted)) = row else { return Ok(()) };
        if matches!(&shape[..], [(_, one)] if is_row(self.host.catalog(), one.oid)) {
            return Ok(());
        }
        let may_become = |from: TypeRef, to: TypeRef| may_become(self.host.catalog(), from, to);
        let given = (Some(&shape[..]), true);
        misfit(self.host.catalog(), oids::RECORD, wanted, given, &may_become)
    }

    fn set_results(&mut self, mut row: Vec<Datum<'static>>) -> Result<()> {
        if !matches!(self.body.gives, Gives::Results { .. }) {
            self.given.value = row.pop();
            return Ok(());
        }
        let results =
            self.body.parameters.iter().filter(|(_, mode)| matches!(mode, b'o' | b'b' | b't'));
        for ((slot, _), value) in results.zip(row) {
            let ty = type_of(&self.body.slots[*slot].kind);
            self.put_given(*slot, ty, value)?;
        }
        Ok(())
    }

    /// A row of the last statement as the result has it.
    fn as_result(
        &mut self,
        shape: &Shape,
        row: Vec<Datum<'static>>,
    ) -> Result<Vec<Datum<'static>>> {
        let Some((result, fields)) = self.row_to_give() else {
            let wanted = match &self.body.gives {
                Gives::Value { ty, .. } => vec![(String::new(), *ty)],
                _ => self.result_types(),
            };
            return self.converted(shape, row, &wanted);
        };
        if let [(_, given)] = &shape[..]
            && (given.oid == result
                || result == oids::RECORD && is_row(self.host.catalog(), given.oid))
        {
            return Ok(row);
        }
        let wanted = fields.unwrap_or_else(|| shape.clone());
        if wanted.len() != shape.len() {
            // The type has changed since the function was made.
            let more = if wanted.len() > shape.len() { "few" } else { "many" };
            let shown = self.host.catalog().shown(result);
            let text = format!("return type mismatch in function declared to return {shown}");
            let detail = format!("Final statement returns too {more} columns.");
            return Err(SqlError::new("42P13", text).detail(detail));
        }
        let made = self.converted(shape, row, &wanted)?;
        let names: Vec<&str> = wanted.iter().map(|field| field.0.as_str()).collect();
        let fields: Vec<_> = wanted.iter().map(|field| field.1.oid).zip(made).collect();
        let made = record::build_named(&names, &fields).map_err(|e| sql_error(&e, ""))?;
        Ok(vec![Datum::bytes(made)])
    }

    fn converted(
        &mut self,
        shape: &Shape,
        row: Vec<Datum<'static>>,
        wanted: &Shape,
    ) -> Result<Vec<Datum<'static>>> {
        let mut made = Vec::with_capacity(row.len());
        for (((_, from), value), (_, to)) in shape.iter().zip(row).zip(wanted) {
            made.push(self.convert(value, *from, *to)?);
        }
        Ok(made)
    }

    /// The type and the fields of the row that is given back as a whole: the columns of a statement may be its fields. Those of a
    /// record are whatever it has.
    fn row_to_give(&self) -> Option<(u32, Option<Shape>)> {
        let results =
            || self.body.parameters.iter().filter(|of| matches!(of.1, b'o' | b'b' | b't'));
        let slot = match self.body.gives {
            Gives::Value { .. } => self.body.row,
            Gives::Results { several: false, .. } => results().next().map(|of| of.0),
            _ => None,
        };
        match &self.body.slots[slot?].kind {
            Kind::Row(oid, fields) => Some((*oid, Some(fields.clone()))),
            Kind::Record => Some((oids::RECORD, None)),
            Kind::Scalar(_) => None,
        }
    }

    /// Names and types of parameters that are parts of the result.
    fn result_types(&self) -> Vec<(String, TypeRef)> {
        let results =
            self.body.parameters.iter().filter(|(_, mode)| matches!(mode, b'o' | b'b' | b't'));
        let one = |(slot, _): &(usize, u8)| {
            let declared = &self.body.slots[*slot];
            (declared.name.clone(), type_of(&declared.kind))
        };
        results.map(one).collect()
    }
}

/// The type of what a variable holds.
pub fn type_of(kind: &Kind) -> TypeRef {
    match kind {
        Kind::Scalar(ty) => *ty,
        Kind::Row(oid, _) => TypeRef::new(*oid),
        Kind::Record => TypeRef::new(oids::RECORD),
    }
}

/// Whether a value of one type is given back as one of another.
pub fn may_become(catalog: &Catalog, from: TypeRef, to: TypeRef) -> bool {
    let from = if from.oid == oids::UNKNOWN { oids::TEXT } else { from.oid };
    from == to.oid || can_convert(catalog, from, to.oid, Context::Assignment)
}

/// What is wrong with the columns of the last statement, for the result of a function.
pub fn misfit(
    catalog: &Catalog,
    result: u32,
    wanted: &[(String, TypeRef)],
    (given, is_row): (Option<&[(String, TypeRef)]>, bool),
    may_become: &dyn Fn(TypeRef, TypeRef) -> bool,
) -> Result<()> {
    let text =
        format!("return type mismatch in function declared to return {}", catalog.shown(result));
    let refuse = |detail: &str| Err(SqlError::new("42P13", &*text).detail(detail));
    let Some(given) = given else {
        return refuse(
            "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
        );
    };
    if !is_row {
        if given.len() != 1 {
            return refuse("Final statement must return exactly one column.");
        }
        if !may_become(given[0].1, wanted[0].1) {
            return refuse(&format!("Actual return type is {}.", catalog.shown(given[0].1.oid)));
        }
        return Ok(());
    }
    for (at, (_, wanted)) in wanted.iter().enumerate() {
        let Some((_, given)) = given.get(at) else {
            return refuse("Final statement returns too few columns.");
        };
        if !may_become(*given, *wanted) {
            return refuse(&format!(
                "Final statement returns {} instead of {} at column {}.",
                catalog.shown(given.oid),
                catalog.shown(wanted.oid),
                at + 1
            ));
        }
    }
    match given.len() > wanted.len() {
        true => refuse("Final statement returns too many columns."),
        false => Ok(()),
    }
}
