//! Calls of functions, also those that SQL has a syntax of its own for.

use super::{Printer, name, unserved};
use crate::bound::{Aggregate, Call, Expr, ExprId, Form, WindowCall};
use crate::catalog::{Catalog, Proc};
use crate::resolve::parameter_name;
use crate::{Oid, Result};

impl<'a> Printer<'a> {
    fn proc(&self, oid: Oid) -> Result<&'a Proc> {
        self.catalog.proc(oid).ok_or_else(unserved)
    }

    pub(super) fn call(&mut self, id: ExprId, call: &Call, implicit: bool) -> Result<()> {
        let proc = self.proc(call.proc)?;
        let args: Vec<ExprId> = call.args.iter().map(|arg| arg.1).collect();
        match self.bound.form(id) {
            Form::Implicit | Form::Cast => {
                let ty = self.bound.ty(id);
                return self.conversion(id, *args.first().ok_or_else(unserved)?, ty, implicit);
            }
            Form::Syntax if self.by_syntax(id, proc, &args)? => return Ok(()),
            _ => {}
        }
        self.put(&own_name(self.catalog, proc));
        self.put("(");
        for (at, (parameter, value)) in call.args.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            let last = at + 1 == call.args.len();
            self.put(if call.variadic && last { "VARIADIC " } else { "" });
            if let Some(called) = parameter.and_then(|parameter| parameter_name(proc, parameter)) {
                self.put_name(called);
                self.put(" => ");
            }
            self.expr(*value, true)?;
        }
        self.put(")");
        Ok(())
    }

    pub(super) fn aggregate(&mut self, call: &'a Aggregate) -> Result<()> {
        let proc = self.proc(call.proc)?;
        self.put(&own_name(self.catalog, proc));
        self.put(if call.distinct.is_empty() { "(" } else { "(DISTINCT " });
        if call.kind != b'n' {
            self.exprs(&call.direct)?;
            self.put(") WITHIN GROUP (ORDER BY ");
            self.order(&call.order, &call.args, false)?;
        } else {
            self.put(if call.star { "*" } else { "" });
            let args: Vec<_> = call.args.iter().filter(|arg| !arg.hidden).collect();
            for (at, arg) in args.iter().enumerate() {
                self.put(if at > 0 { ", " } else { "" });
                let last = at + 1 == args.len();
                self.put(if call.variadic && last { "VARIADIC " } else { "" });
                self.expr(arg.value, true)?;
            }
            if !call.order.is_empty() {
                self.put(" ORDER BY ");
                self.order(&call.order, &call.args, false)?;
            }
        }
        self.filter(call.filter)?;
        self.put(")");
        Ok(())
    }

    fn filter(&mut self, filter: Option<ExprId>) -> Result<()> {
        if let Some(filter) = filter {
            self.put(") FILTER (WHERE ");
            self.expr(filter, false)?;
        }
        Ok(())
    }

    pub(super) fn window_call(&mut self, call: &'a WindowCall) -> Result<()> {
        let proc = self.proc(call.proc)?;
        self.put(&own_name(self.catalog, proc));
        self.put(if call.star { "(*" } else { "(" });
        self.exprs(&call.args)?;
        self.filter(call.filter)?;
        self.put(") OVER ");
        let query = self.here().query;
        let window = query.windows.get(call.window.wrapping_sub(1)).ok_or_else(unserved)?;
        match &window.name {
            Some(name) => self.put_name(name),
            None => self.window(window)?,
        }
        Ok(())
    }

    /// What must look like a call, in FROM.
    pub(super) fn as_call(&mut self, id: ExprId) -> Result<()> {
        let call = match self.bound.expr(id) {
            Expr::Call(_) => matches!(self.bound.form(id), Form::Call | Form::Syntax),
            Expr::NullIf(_)
            | Expr::Coalesce(_)
            | Expr::Greatest(..)
            | Expr::SqlValue(..)
            | Expr::Xml(_) => true,
            _ => false,
        };
        if call {
            return self.expr(id, true);
        }
        self.put("CAST(");
        self.expr(id, false)?;
        let shown = self.catalog.shown_with(self.bound.ty(id));
        self.put(&format!(" AS {shown})"));
        Ok(())
    }

    /// Arguments with words between them, which stand before each; the last word ends it.
    fn worded(&mut self, words: &[&str], args: &[ExprId]) -> Result<()> {
        for (word, arg) in words.iter().zip(args) {
            self.put(word);
            self.expr(*arg, false)?;
        }
        self.put(words[args.len()]);
        Ok(())
    }

    /// A call by SQL's syntax; whether there is one.
    fn by_syntax(&mut self, id: ExprId, proc: &Proc, args: &[ExprId]) -> Result<bool> {
        match (&*proc.name, args) {
            ("timezone", [zone, time]) => {
                self.put("(");
                self.part(*time, false, id)?;
                self.put(" AT TIME ZONE ");
                self.part(*zone, false, id)?;
                self.put(")");
            }
            ("overlaps", [_, _, _, _]) => {
                self.worded(&["((", ", ", ") OVERLAPS (", ", ", "))"], args)?;
            }
            ("extract", [field, value]) => {
                let field = self.word_of(*field)?;
                // What is no word stands in quotes: a text that is carried out again must mean the same.
                let is_word =
                    !field.is_empty() && field.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                let field = match is_word {
                    true => field.to_string(),
                    false => format!("'{}'", field.replace('\'', "''")),
                };
                self.worded(&[&format!("EXTRACT({field} FROM "), ")"], &[*value])?;
            }
            ("is_normalized", [value, form @ ..]) => {
                self.put("(");
                self.part(*value, false, id)?;
                self.put(" IS");
                if let [form] = form {
                    let form = self.word_of(*form)?.to_string();
                    self.put(&format!(" {form}"));
                }
                self.put(" NORMALIZED)");
            }
            ("pg_collation_for", [_]) => self.worded(&["COLLATION FOR (", ")"], args)?,
            ("normalize", [value, form @ ..]) => {
                self.put("NORMALIZE(");
                self.expr(*value, false)?;
                if let [form] = form {
                    let form = self.word_of(*form)?.to_string();
                    self.put(&format!(", {form}"));
                }
                self.put(")");
            }
            ("overlay", [_, _, _]) => {
                self.worded(&["OVERLAY(", " PLACING ", " FROM ", ")"], args)?;
            }
            ("overlay", [_, _, _, _]) => {
                self.worded(&["OVERLAY(", " PLACING ", " FROM ", " FOR ", ")"], args)?;
            }
            ("position", [whole, part]) => {
                self.worded(&["POSITION((", ") IN (", "))"], &[*part, *whole])?;
            }
            ("substring", _) => return self.substring(args),
            ("btrim" | "ltrim" | "rtrim", [whole, part @ ..]) => {
                self.put(match &*proc.name {
                    "btrim" => "TRIM(BOTH",
                    "ltrim" => "TRIM(LEADING",
                    _ => "TRIM(TRAILING",
                });
                if let [part] = part {
                    self.put(" ");
                    self.expr(*part, false)?;
                }
                self.worded(&[" FROM ", ")"], &[*whole])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn substring(&mut self, args: &[ExprId]) -> Result<bool> {
        let by_number = |id: &ExprId| self.bound.ty(*id).oid == 23;
        match args {
            [_, from] if by_number(from) => self.worded(&["SUBSTRING(", " FROM ", ")"], args)?,
            [_, from, _] if by_number(from) => {
                self.worded(&["SUBSTRING(", " FROM ", " FOR ", ")"], args)?;
            }
            [_, _, _] => self.worded(&["SUBSTRING(", " SIMILAR ", " ESCAPE ", ")"], args)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A function's name; that of another schema has it before it.
fn own_name(catalog: &Catalog, proc: &Proc) -> String {
    if let Some(made) = &proc.made {
        return match catalog.is_seen(proc) {
            true => name(&proc.name).into_owned(),
            false => format!("{}.{}", name(&made.schema), name(&proc.name)),
        };
    }
    if let Some(created) = catalog.created(proc.oid).filter(|created| !created.seen) {
        return format!("{}.{}", name(&created.schema), name(&proc.name));
    }
    let parts: Vec<_> = proc.name.split('.').map(name).collect();
    parts.join(".")
}
