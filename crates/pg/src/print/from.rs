//! FROM: relations, queries, functions, joins.

use super::{Printer, STEP, STEP_IN, name, unserved};
use crate::Result;
use crate::ast::{JoinKind, Name};
use crate::bound::{Entry, EntryKind, Expr, Function, JoinNode, JoinTree, Query};

/// unnest(anyarray)
const UNNEST: u32 = 2331;

impl<'a> Printer<'a> {
    pub(super) fn whole_from(&mut self, query: &'a Query) -> Result<()> {
        let seen = |tree: &&JoinTree| match tree {
            JoinTree::Entry(entry) => query.entries[entry - 1].in_from,
            JoinTree::Join(_) => true,
        };
        for (at, tree) in query.from.iter().filter(seen).enumerate() {
            if at == 0 {
                self.clause(" FROM ", 2);
                self.item_of_from(tree, query)?;
                continue;
            }
            self.put(", ");
            let text = self.apart(|p| p.item_of_from(tree, query))?;
            if let Some(wrap) = self.look.wrap {
                if text.starts_with('\n') {
                    self.cut_blanks();
                } else if self.width_with(&text) > wrap {
                    self.clause("", STEP_IN);
                }
            }
            self.out.push_str(&text);
        }
        Ok(())
    }

    fn item_of_from(&mut self, tree: &'a JoinTree, query: &'a Query) -> Result<()> {
        self.deeper(|p| match tree {
            JoinTree::Entry(number) => p.entry(*number, &query.entries[number - 1]),
            JoinTree::Join(join) => p.join(join, query),
        })
    }

    fn entry(&mut self, number: usize, entry: &'a Entry) -> Result<()> {
        self.put(if entry.lateral { "LATERAL " } else { "" });
        // What the entry is called without another name; the columns that a function is said to have.
        let (mut plain, mut defined) = (None, None);
        match &entry.kind {
            EntryKind::Relation { oid, inherited, .. } => {
                self.put(if *inherited { "" } else { "ONLY " });
                plain = Some(self.relation(*oid, &entry.name)?);
            }
            EntryKind::Query(query) => {
                self.put("(");
                self.query(*query, None, true)?;
                self.put(")");
            }
            EntryKind::Functions { calls, ordinality } => {
                defined = self.functions(calls, *ordinality)?;
            }
            EntryKind::Values(rows) => {
                self.put("(");
                self.values(rows)?;
                self.put(")");
            }
            EntryKind::Cte { name, .. } => {
                self.put_name(name);
                plain = Some(name.clone());
            }
            EntryKind::Join { .. } => return Err(unserved()),
        }
        let scope = self.here();
        let called = scope.names[number - 1].clone().unwrap_or_default();
        let columns = &scope.columns[number - 1];
        let (listed, list) = (columns.listed, columns.list());
        if entry.alias.is_some() || listed || plain.as_ref() != Some(&called) {
            self.put(" ");
            self.put_name(&called);
        }
        match defined {
            Some(function) => self.definitions(function, Some(number))?,
            None if listed => self.column_list(&list),
            None => {}
        }
        if let EntryKind::Relation { sample: Some(sample), .. } = &entry.kind {
            let method = self.catalog.proc(sample.0).map_or("", |proc| &proc.name);
            self.put(&format!(" TABLESAMPLE {} (", name(method)));
            self.list(&sample.1, |p, arg| p.expr(arg, false))?;
            self.put(")");
            if let Some(seed) = sample.2 {
                self.put(" REPEATABLE (");
                self.expr(seed, false)?;
                self.put(")");
            }
        }
        Ok(())
    }

    fn column_list(&mut self, list: &[Name]) {
        if !list.is_empty() {
            self.put("(");
            self.names(list);
            self.put(")");
        }
    }

    /// A relation's name, with its schema where it would not be found; its own name.
    fn relation(&mut self, oid: u32, known: &Name) -> Result<Name> {
        let Some(now) = self.facts.relation(oid)? else {
            self.put_name(known);
            return Ok(known.clone());
        };
        let hidden =
            self.scopes.iter().any(|scope| scope.query.ctes.iter().any(|cte| cte.name == now.name));
        if hidden || !now.visible {
            self.put_name(&now.schema);
            self.put(".");
        }
        self.put_name(&now.name);
        Ok(now.name)
    }

    /// The calls of an entry; the one whose columns are to be said behind its name.
    fn functions(
        &mut self,
        calls: &'a [Function],
        ordinality: bool,
    ) -> Result<Option<&'a Function>> {
        let mut defined = None;
        match calls {
            [one] if one.defined.is_empty() || !ordinality => {
                self.as_call(one.call)?;
                defined = Some(one).filter(|one| !one.defined.is_empty());
            }
            _ => {
                let unnested = |function: &Function| match self.bound.expr(function.call) {
                    Expr::Call(call) if call.proc == UNNEST && function.defined.is_empty() => {
                        Some(call.args.iter().map(|arg| arg.1).collect::<Vec<_>>())
                    }
                    _ => None,
                };
                let all: Option<Vec<_>> = calls.iter().map(unnested).collect();
                match all {
                    Some(args) => {
                        self.put("UNNEST(");
                        self.list(&args.concat(), |p, arg| p.expr(arg, true))?;
                    }
                    None => {
                        self.put("ROWS FROM(");
                        for (at, function) in calls.iter().enumerate() {
                            self.put(if at > 0 { ", " } else { "" });
                            self.as_call(function.call)?;
                            if !function.defined.is_empty() {
                                self.put(" AS ");
                                self.definitions(function, None)?;
                            }
                        }
                    }
                }
                self.put(")");
            }
        }
        self.put(if ordinality { " WITH ORDINALITY" } else { "" });
        Ok(defined)
    }

    /// `(name type, …)`, by the names of an entry's columns where there is one.
    fn definitions(&mut self, function: &'a Function, entry: Option<usize>) -> Result<()> {
        self.put("(");
        for (at, (own, ty)) in function.defined.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            let called = entry
                .and_then(|entry| self.here().columns[entry - 1].names.get(at).cloned().flatten());
            self.put_name(&called.unwrap_or_else(|| own.clone()));
            let shown = self.catalog.shown_with(*ty);
            self.put(" ");
            self.put(&shown);
        }
        self.put(")");
        Ok(())
    }

    fn join(&mut self, join: &'a JoinNode, query: &'a Query) -> Result<()> {
        let is_named = |entry: usize| query.entries[entry - 1].alias.is_some();
        let named = is_named(join.entry);
        let parens = !self.look.pretty || named;
        let parens_right = match &join.right {
            JoinTree::Join(right) => self.look.pretty && !is_named(right.entry),
            JoinTree::Entry(_) => false,
        };
        self.put(if parens { "(" } else { "" });
        self.item_of_from(&join.left, query)?;
        let word = match (join.kind, join.condition) {
            (JoinKind::Inner, Some(_)) => " JOIN ",
            (JoinKind::Inner, None) => " CROSS JOIN ",
            (JoinKind::Left, _) => " LEFT JOIN ",
            (JoinKind::Right, _) => " RIGHT JOIN ",
            (JoinKind::Full, _) => " FULL JOIN ",
        };
        self.line(word, -STEP, STEP, STEP_IN);
        self.put(if parens_right { "(" } else { "" });
        self.item_of_from(&join.right, query)?;
        self.put(if parens_right { ")" } else { "" });
        let columns = &self.here().columns[join.entry - 1];
        let (using, listed, list) = (columns.using.clone(), columns.listed, columns.list());
        match join.condition {
            _ if !using.is_empty() => {
                self.put(" USING ");
                self.column_list(&using);
                if let EntryKind::Join { using: Some((name, _)), .. } =
                    &query.entries[join.entry - 1].kind
                {
                    self.put(" AS ");
                    self.put_name(name);
                }
            }
            Some(condition) => {
                self.put(" ON ");
                self.plain_paren("(");
                self.expr(condition, false)?;
                self.plain_paren(")");
            }
            None if join.kind != JoinKind::Inner => self.put(" ON TRUE"),
            None => {}
        }
        self.put(if parens { ")" } else { "" });
        if named {
            let called = self.here().names[join.entry - 1].clone().unwrap_or_default();
            self.put(" ");
            self.put_name(&called);
            if listed {
                self.column_list(&list);
            }
        }
        Ok(())
    }
}
