//! Columns, and fields of rows.

use super::{Printer, unserved};
use crate::Result;
use crate::ast::Name;
use crate::bind::SYSTEM;
use crate::bound::{EntryKind, Expr, ExprId, Query, QueryId};
use crate::catalog::oids;

impl Printer<'_> {
    /// A column; its name, or none for a whole row. `up`: how many queries further out it stands; `top`: whether it stands where
    /// `t.*` would be all columns.
    pub(super) fn variable(&mut self, id: ExprId, up: u32, top: bool) -> Result<Option<Name>> {
        let Expr::Var { entry, column, up: own } = *self.bound.expr(id) else {
            return Err(unserved());
        };
        let up = up + own;
        let (entry, column) = self.bound.called_column(id).unwrap_or((entry, column));
        let scope = self.scopes.len().checked_sub(1 + up as usize).ok_or_else(unserved)?;
        let scope = &self.scopes[scope];
        let of = scope.query.entries.get(entry.wrapping_sub(1)).ok_or_else(unserved)?;
        if let (EntryKind::Join { columns, .. }, None) = (&of.kind, &of.alias)
            && let Some(behind) = columns.get(column as usize - 1)
            && matches!(self.bound.expr(*behind), Expr::Var { .. })
        {
            return self.variable(*behind, up, top);
        }
        let called = scope.names[entry - 1].clone();
        let name: Option<Name> = match column {
            0 => None,
            1.. => {
                let known = scope.columns[entry - 1].names.get(column as usize - 1);
                Some(known.cloned().flatten().unwrap_or_else(|| "?dropped?column?".into()))
            }
            _ => SYSTEM.iter().find(|(_, number, _)| *number == column).map(|(n, ..)| (*n).into()),
        };
        if let Some(called) = called.filter(|_| self.prefix || name.is_none()) {
            self.put_name(&called);
            self.put(".");
        }
        match &name {
            Some(name) => self.put_name(name),
            None => {
                self.put("*");
                if top {
                    self.put_type(self.bound.ty(id));
                }
            }
        }
        Ok(name)
    }

    pub(super) fn field(&mut self, row: ExprId, number: i32) -> Result<()> {
        let bare = matches!(self.bound.expr(row), Expr::Subscript(_) | Expr::Field(..));
        self.put(if bare { "" } else { "(" });
        self.expr(row, true)?;
        self.put(if bare { "" } else { ")" });
        let around: Vec<&Query> = self.scopes.iter().map(|scope| scope.query).collect();
        let name = self.field_name(row, number, &around).ok_or_else(unserved)?;
        self.put(".");
        self.put_name(&name);
        Ok(())
    }

    /// The name of a row's field; `around` are the queries that it stands in.
    fn field_name(&self, row: ExprId, number: i32, around: &[&Query]) -> Option<Name> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        let ty = self.bound.ty(row).oid;
        if let Expr::Row(_, names) = self.bound.expr(row)
            && let Some(name) = names.get(at)
        {
            return Some(name.clone());
        }
        if ty != oids::RECORD {
            return self.facts.composite(self.catalog.base_type(ty))?.get(at).cloned();
        }
        match self.bound.expr(row) {
            Expr::Call(call) => {
                let given: Vec<_> = call.args.iter().map(|arg| self.bound.ty(arg.1).oid).collect();
                let proc = self.catalog.proc(call.proc)?;
                let outputs = crate::resolve::outputs(self.catalog, proc, &given)?;
                Some(outputs.get(at)?.0.clone())
            }
            Expr::Var { entry, column, up } => {
                let (entry, column) = self.bound.called_column(row).unwrap_or((*entry, *column));
                let depth = around.len().checked_sub(*up as usize)?;
                let of = around[..depth].last()?.entries.get(entry - 1)?;
                let column = usize::try_from(column).ok()?;
                if column == 0 {
                    return of.names.get(at).cloned();
                }
                match &of.kind {
                    EntryKind::Query(inner) => {
                        self.field_behind(*inner, column, number, &around[..depth])
                    }
                    EntryKind::Join { columns, .. } => {
                        self.field_name(*columns.get(column - 1)?, number, &around[..depth])
                    }
                    EntryKind::Cte { name, up, .. } => {
                        let level = depth.checked_sub(*up as usize)?;
                        let ctes = &around[..level].last()?.ctes;
                        let cte = ctes.iter().find(|cte| cte.name == *name)?;
                        self.field_behind(cte.query, column, number, &around[..level])
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn field_behind(
        &self,
        query: QueryId,
        column: usize,
        number: i32,
        around: &[&Query],
    ) -> Option<Name> {
        let query = self.bound.query(query);
        let target = query.output().iter().filter(|target| !target.hidden).nth(column - 1)?;
        let mut around = around.to_vec();
        around.push(query);
        self.field_name(target.value, number, &around)
    }
}
