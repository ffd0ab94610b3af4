//! Queries and their clauses.

use super::{Printer, STEP, STEP_IN, unserved};
use crate::Result;
use crate::ast::{LockStrength, LockWait, Name, SetKind};
use crate::bound::{
    Cte, CteKind, EntryKind, Expr, ExprId, Literal, Query, QueryId, SetNode, Target,
};

/// The name of a column that has none.
const NAMELESS: &str = "?column?";

impl<'a> Printer<'a> {
    /// A query within those that are being printed. `columns` are the names that its columns have outside; `named` says
    /// whether names of columns count at all where it stands.
    pub(super) fn query(
        &mut self,
        id: QueryId,
        columns: Option<&[Name]>,
        named: bool,
    ) -> Result<()> {
        self.deeper(|p| {
            let query = p.bound.query(id);
            if query.modify.is_some() {
                return Err(unserved());
            }
            let scope = p.scope(query)?;
            let before = (p.indent, p.prefix);
            p.prefix = true;
            p.scopes.push(scope);
            let made = p.select(query, columns, named);
            p.scopes.pop();
            (p.indent, p.prefix) = before;
            made
        })
    }

    fn select(&mut self, query: &'a Query, columns: Option<&[Name]>, named: bool) -> Result<()> {
        self.with(query)?;
        match &query.set {
            Some(set) => self.set(set, query, columns, named)?,
            None => self.basic(query, columns, named)?,
        }
        if !query.order.is_empty() {
            self.clause(" ORDER BY ", 1);
            self.order(&query.order, &query.targets, query.set.is_some())?;
        }
        if let Some(offset) = query.offset {
            self.clause(" OFFSET ", 0);
            self.expr(offset, false)?;
        }
        if let Some(limit) = query.limit {
            self.limit(limit, query.ties)?;
        }
        for lock in query.locks.iter().filter(|lock| !lock.pushed_down) {
            self.clause(
                match lock.strength {
                    LockStrength::KeyShare => " FOR KEY SHARE",
                    LockStrength::Share => " FOR SHARE",
                    LockStrength::NoKeyUpdate => " FOR NO KEY UPDATE",
                    LockStrength::Update => " FOR UPDATE",
                },
                0,
            );
            let name = self.here().names[lock.entry - 1].clone().unwrap_or_default();
            self.put(" OF ");
            self.put_name(&name);
            self.put(match lock.wait {
                LockWait::Block => "",
                LockWait::Error => " NOWAIT",
                LockWait::Skip => " SKIP LOCKED",
            });
        }
        Ok(())
    }

    fn limit(&mut self, limit: ExprId, ties: bool) -> Result<()> {
        if ties {
            self.clause(" FETCH FIRST ", 0);
            self.put("(");
            self.expr(limit, false)?;
            self.put(") ROWS WITH TIES");
            return Ok(());
        }
        self.clause(" LIMIT ", 0);
        match self.bound.expr(limit) {
            Expr::Literal(Literal::Null) => self.put("ALL"),
            _ => self.expr(limit, false)?,
        }
        Ok(())
    }

    fn with(&mut self, query: &'a Query) -> Result<()> {
        if query.ctes.is_empty() {
            return Ok(());
        }
        self.indent += STEP;
        self.put(if query.recursive { " WITH RECURSIVE " } else { " WITH " });
        for (at, cte) in query.ctes.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            self.cte(cte)?;
        }
        self.line("", -STEP, 0, 0);
        Ok(())
    }

    fn cte(&mut self, cte: &'a Cte) -> Result<()> {
        self.put_name(&cte.name);
        if !cte.aliases.is_empty() {
            self.put("(");
            self.names(&cte.aliases);
            self.put(")");
        }
        self.put(match cte.kind {
            CteKind::Default => " AS (",
            CteKind::Materialized => " AS MATERIALIZED (",
            CteKind::Inline => " AS NOT MATERIALIZED (",
        });
        self.line("", 0, 0, 0);
        self.query(cte.query, None, true)?;
        self.line("", 0, 0, 0);
        self.put(")");
        if let Some(search) = &cte.search {
            let how = if search.breadth { "BREADTH" } else { "DEPTH" };
            self.put(&format!(" SEARCH {how} FIRST BY "));
            self.names(&search.by);
            self.put(" SET ");
            self.put_name(&search.set);
        }
        if let Some((cycle, marks)) = &cte.cycle {
            self.put(" CYCLE ");
            self.names(&cycle.columns);
            self.put(" SET ");
            self.put_name(&cycle.mark);
            let plain = |id, wanted| match self.bound.expr(id) {
                Expr::Literal(Literal::Bool(flag)) => *flag == wanted,
                _ => false,
            };
            if !(plain(marks[0], true) && plain(marks[1], false)) {
                self.put(" TO ");
                self.expr(marks[0], false)?;
                self.put(" DEFAULT ");
                self.expr(marks[1], false)?;
            }
            self.put(" USING ");
            self.put_name(&cycle.path);
        }
        Ok(())
    }

    /// Queries put together.
    fn set(
        &mut self,
        set: &'a SetNode,
        query: &'a Query,
        columns: Option<&[Name]>,
        named: bool,
    ) -> Result<()> {
        self.deeper(|p| match set {
            SetNode::Entry(entry) => {
                let EntryKind::Query(part) = query.entries[entry - 1].kind else {
                    return Err(unserved());
                };
                let of = p.bound.query(part);
                let parens = !of.ctes.is_empty()
                    || !of.order.is_empty()
                    || !of.locks.is_empty()
                    || of.offset.is_some()
                    || of.limit.is_some()
                    || of.set.is_some();
                p.put(if parens { "(" } else { "" });
                p.query(part, columns, named)?;
                p.put(if parens { ")" } else { "" });
                Ok(())
            }
            SetNode::Both { kind, all, left, right, .. } => {
                let same = |node: &SetNode| match node {
                    SetNode::Entry(_) => true,
                    SetNode::Both { kind: other, all: all2, .. } => (other, all2) == (kind, all),
                };
                let parens = !same(left);
                if parens {
                    p.put("(");
                    p.line("", STEP, 0, 0);
                }
                p.set(left, query, columns, named)?;
                match parens {
                    true => p.line(") ", -STEP, 0, 0),
                    false => p.line("", 0, 0, 0),
                }
                p.put(match kind {
                    SetKind::Union => "UNION ",
                    SetKind::Intersect => "INTERSECT ",
                    SetKind::Except => "EXCEPT ",
                });
                p.put(if *all { "ALL " } else { "" });
                let parens = matches!(**right, SetNode::Both { .. });
                p.put(if parens { "(" } else { "" });
                let step = if parens { STEP } else { 0 };
                p.line("", step, 0, 0);
                p.set(right, query, columns, false)?;
                p.indent -= step;
                if parens {
                    p.line(")", 0, 0, 0);
                }
                Ok(())
            }
        })
    }

    /// SELECT up to WINDOW, or VALUES.
    fn basic(&mut self, query: &'a Query, columns: Option<&[Name]>, named: bool) -> Result<()> {
        self.indent += STEP;
        self.put(" ");
        if let Some(rows) = plain_values(query, columns) {
            return self.values(rows);
        }
        self.put("SELECT");
        if query.distinct_on {
            self.put(" DISTINCT ON (");
            self.list(&query.distinct, |p, item| p.item(item.reference, &query.targets, false))?;
            self.put(")");
        } else if !query.distinct.is_empty() {
            self.put(" DISTINCT");
        }
        self.targets(&query.targets, columns, named)?;
        self.whole_from(query)?;
        if let Some(filter) = query.filter {
            self.clause(" WHERE ", 1);
            self.expr(filter, false)?;
        }
        if !query.groups.is_empty() || !query.sets.is_empty() {
            self.clause(" GROUP BY ", 1);
            self.put(if query.groups_distinct { "DISTINCT " } else { "" });
            self.groups(query)?;
        }
        if let Some(having) = query.having {
            self.clause(" HAVING ", 0);
            self.expr(having, false)?;
        }
        let mut first = true;
        for window in &query.windows {
            let Some(name) = &window.name else { continue };
            match std::mem::replace(&mut first, false) {
                true => self.clause(" WINDOW ", 1),
                false => self.put(", "),
            }
            self.put_name(name);
            self.put(" AS ");
            self.window(window)?;
        }
        Ok(())
    }

    pub(super) fn values(&mut self, rows: &[Vec<ExprId>]) -> Result<()> {
        self.put("VALUES ");
        for (at, row) in rows.iter().enumerate() {
            self.put(if at > 0 { ", (" } else { "(" });
            for (at, value) in row.iter().enumerate() {
                self.put(if at > 0 { "," } else { "" });
                self.top(*value, false)?;
            }
            self.put(")");
        }
        Ok(())
    }

    fn targets(
        &mut self,
        targets: &'a [Target],
        columns: Option<&[Name]>,
        named: bool,
    ) -> Result<()> {
        let mut many_lines = false;
        for (at, target) in targets.iter().filter(|target| !target.hidden).enumerate() {
            self.put(if at > 0 { ", " } else { " " });
            let outside = columns.and_then(|columns| columns.get(at));
            let text = self.apart(|p| {
                let own = match p.bound.expr(target.value) {
                    Expr::Var { .. } => p.variable(target.value, 0, true)?,
                    _ => {
                        p.expr(target.value, true)?;
                        (!named).then(|| NAMELESS.into())
                    }
                };
                if let Some(name) = outside.or(target.name.as_ref())
                    && own.as_ref() != Some(name)
                {
                    p.put(" AS ");
                    p.put_name(name);
                }
                Ok(())
            })?;
            if let Some(wrap) = self.look.wrap {
                match text.strip_prefix('\n') {
                    Some(rest) => {
                        self.cut_blanks();
                        many_lines = rest.contains('\n');
                    }
                    None => {
                        if at > 0 && (self.width_with(&text) > wrap || many_lines) {
                            self.clause("", STEP_IN);
                        }
                        many_lines = text.contains('\n');
                    }
                }
            }
            self.out.push_str(&text);
        }
        Ok(())
    }
}

/// The rows of a query that gives VALUES alone, whose columns keep their names.
fn plain_values<'a>(query: &'a Query, columns: Option<&[Name]>) -> Option<&'a [Vec<ExprId>]> {
    let [entry] = &query.entries[..] else { return None };
    let EntryKind::Values(rows) = &entry.kind else { return None };
    if !entry.in_from || query.targets.len() != entry.names.len() {
        return None;
    }
    let mut targets = query.targets.iter().zip(&entry.names).enumerate();
    let kept = targets.all(|(at, (target, own))| {
        let outside = columns.and_then(|columns| columns.get(at));
        !target.hidden && outside.or(target.name.as_ref()) == Some(own)
    });
    kept.then_some(rows)
}
