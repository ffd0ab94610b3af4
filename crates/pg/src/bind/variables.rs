//! What may a name mean that is no column?
//!
//! Statements within a routine see its variables. Each part of one that a statement names is a parameter of the statement; a
//! variable with fields stands for a row of parameters, whose fields are known. [`Variables`] numbers them as they are named.

use super::{At, Binder};
use crate::ast::{Name, Path};
use crate::bound::{Expr, ExprId};
use crate::catalog::oids;
use crate::resolve::Context;
use crate::{Error, Oid, Result, TypeRef};

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// A value: the number of the parameter, from 1, and its type.
    Value(i32, TypeRef),
    /// A row: its fields with their parameters, and its type.
    Row(Vec<(Name, i32, TypeRef)>, Oid),
}

/// Variables around a statement.
pub trait Variables {
    /// What a name of one part or several means; `None` if it is none of them. `star`: its fields are wanted, even where the row
    /// is NULL.
    ///
    /// # Errors
    /// `42703`: the variable has no such field; `55000`: it has no row yet.
    fn find(&self, path: &[Name], star: bool) -> Result<Option<Variable>>;

    /// What `$n` means.
    ///
    /// # Errors
    /// `42P02`: there is no such parameter.
    fn parameter(&self, number: i32) -> Result<Variable>;

    /// Whether a column hides a variable of its name, as in functions of SQL; otherwise such a name is ambiguous, unless
    /// variables hide columns.
    fn yields(&self) -> bool {
        false
    }

    /// Whether a variable hides a column of its name.
    fn hides(&self) -> bool {
        false
    }
}

/// States that say that there is no such column.
const MISSING: [&str; 3] = ["42703", "42P01", "42883"];

impl Binder<'_> {
    /// A column reference that may be a variable.
    pub(super) fn column(&mut self, path: &Path, place: Option<u32>) -> Result<ExprId> {
        let Some(variables) = self.variables else { return self.column_of_query(path, place) };
        let found = variables.find(path, false)?;
        if let (true, Some(found)) = (variables.hides(), &found) {
            return self.variable(found.clone(), place);
        }
        let column = self.column_of_query(path, place);
        match (found, column) {
            (None, column) => column,
            (Some(_), Ok(column)) if variables.yields() => Ok(column),
            (Some(_), Ok(_)) => {
                let text = format!("column reference \"{}\" is ambiguous", path.join("."));
                let detail = "It could refer to either a PL/pgSQL variable or a table column.";
                Err(Error::new("42702", text).detail(detail)).at(place)
            }
            (Some(found), Err(e)) if MISSING.contains(&e.state) => self.variable(found, place),
            (Some(_), Err(e)) => Err(e),
        }
    }

    /// The row that a variable before a star is.
    pub(super) fn starred_variable(
        &mut self,
        path: &Path,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        let Some(variables) = self.variables else { return Ok(None) };
        // A table of its name comes first where columns do.
        let is_table =
            || matches!(path.len(), 1 | 2) && matches!(self.item_named(path, place), Ok(Some(_)));
        if variables.yields() && is_table() {
            return Ok(None);
        }
        match variables.find(path, true)? {
            Some(row @ Variable::Row(..)) => self.row_variable(row, place).map(Some),
            _ => Ok(None),
        }
    }

    /// `$n`, where it is a parameter of the routine.
    pub(super) fn routine_parameter(
        &mut self,
        number: i32,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        let Some(variables) = self.variables else { return Ok(None) };
        let found = variables.parameter(number).at(place)?;
        self.variable(found, place).map(Some)
    }

    fn variable(&mut self, found: Variable, place: Option<u32>) -> Result<ExprId> {
        match found {
            Variable::Value(number, ty) => Ok(self.value_of(number, ty, place)),
            Variable::Row(_, oids::RECORD) => self.row_variable(found, place),
            Variable::Row(_, oid) => {
                let row = self.row_variable(found, place)?;
                self.cast_to(row, TypeRef::new(oid), Context::Explicit)
            }
        }
    }

    /// A row with the fields of a variable.
    fn row_variable(&mut self, found: Variable, place: Option<u32>) -> Result<ExprId> {
        let Variable::Row(fields, _) = found else {
            return Err(Error::defect("a row was expected"));
        };
        let names: Vec<Name> = fields.iter().map(|field| field.0.clone()).collect();
        let values =
            fields.into_iter().map(|(_, number, ty)| self.value_of(number, ty, place)).collect();
        Ok(self.out.add(Expr::Row(values, names), TypeRef::new(oids::RECORD), place))
    }

    fn value_of(&mut self, number: i32, ty: TypeRef, place: Option<u32>) -> ExprId {
        let at = usize::try_from(number).unwrap_or(0);
        if self.out.parameters.len() < at {
            self.out.parameters.resize(at, 0);
        }
        if let Some(known) = at.checked_sub(1).and_then(|at| self.out.parameters.get_mut(at)) {
            *known = ty.oid;
        }
        self.out.add(Expr::Param(number), ty, place)
    }
}
