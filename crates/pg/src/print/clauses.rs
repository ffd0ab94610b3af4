//! GROUP BY, ORDER BY and windows: clauses that name targets.

use super::{Printer, unserved};
use crate::Result;
use crate::ast::{Exclude, FrameUnit};
use crate::bound::{Expr, Frame, FrameEdge, GroupSet, Query, SortItem, Target, Window};

impl<'a> Printer<'a> {
    /// An item of ORDER BY, GROUP BY or DISTINCT, by its number or as an expression.
    pub(super) fn item(&mut self, reference: u32, targets: &[Target], number: bool) -> Result<()> {
        let found = targets.iter().find(|target| target.reference == reference);
        let target = found.ok_or_else(unserved)?;
        let value = target.value;
        match self.bound.expr(value) {
            _ if number => self.put(&target.number.to_string()),
            Expr::Literal(literal) => self.literal(literal, self.bound.ty(value), 1)?,
            Expr::Var { .. } => self.expr(value, true)?,
            // What looks like a call could be taken for ROLLUP or CUBE.
            expr => {
                let call = matches!(expr, Expr::Call(_) | Expr::Aggregate(_) | Expr::WindowCall(_));
                let parens = self.look.pretty || call;
                self.put(if parens { "(" } else { "" });
                self.expr(value, true)?;
                self.put(if parens { ")" } else { "" });
            }
        }
        Ok(())
    }

    pub(super) fn order(
        &mut self,
        order: &[SortItem],
        targets: &[Target],
        numbers: bool,
    ) -> Result<()> {
        self.list(order, |p, item| {
            p.item(item.reference, targets, numbers)?;
            let name = p.catalog.operator(item.less).map_or("", |operator| operator.name);
            match name {
                "<" | "#<#" => p.put(if item.nulls_first { " NULLS FIRST" } else { "" }),
                ">" | "#>#" => p.put(if item.nulls_first { " DESC" } else { " DESC NULLS LAST" }),
                name => {
                    p.put(" USING ");
                    p.put(name);
                    p.put(if item.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
                }
            }
            Ok(())
        })
    }

    pub(super) fn groups(&mut self, query: &'a Query) -> Result<()> {
        if query.sets.is_empty() {
            return self
                .list(&query.groups, |p, item| p.item(item.reference, &query.targets, false));
        }
        for (at, set) in query.sets.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            self.group_set(set, &query.targets, true)?;
        }
        Ok(())
    }

    /// `bare`: one expression alone needs no parentheses.
    fn group_set(&mut self, set: &GroupSet, targets: &[Target], bare: bool) -> Result<()> {
        let (word, inner, bare) = match set {
            GroupSet::Empty => {
                self.put("()");
                return Ok(());
            }
            GroupSet::Simple(all) => {
                let parens = !bare || all.len() != 1;
                self.put(if parens { "(" } else { "" });
                self.list(all, |p, reference| p.item(reference, targets, false))?;
                self.put(if parens { ")" } else { "" });
                return Ok(());
            }
            GroupSet::Rollup(inner) => ("ROLLUP(", inner, true),
            GroupSet::Cube(inner) => ("CUBE(", inner, true),
            GroupSet::Sets(inner) => ("GROUPING SETS (", inner, false),
        };
        self.put(word);
        for (at, set) in inner.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            self.deeper(|p| p.group_set(set, targets, bare))?;
        }
        self.put(")");
        Ok(())
    }

    /// A window's definition.
    pub(super) fn window(&mut self, window: &'a Window) -> Result<()> {
        let targets: &'a [Target] = &self.here().query.targets;
        let mut between = "";
        self.put("(");
        if let Some(base) = &window.base {
            self.put_name(base);
            between = " ";
        } else if !window.partition.is_empty() {
            self.put("PARTITION BY ");
            self.list(&window.partition, |p, item| p.item(item.reference, targets, false))?;
            between = " ";
        }
        if !window.order.is_empty() && !window.copied_order {
            self.put(between);
            self.put("ORDER BY ");
            self.order(&window.order, targets, false)?;
            between = " ";
        }
        if window.frame.written {
            self.put(between);
            self.frame(&window.frame)?;
        }
        self.put(")");
        Ok(())
    }

    fn frame(&mut self, frame: &Frame) -> Result<()> {
        self.put(match frame.unit {
            FrameUnit::Range => "RANGE ",
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Groups => "GROUPS ",
        });
        self.put(if frame.between { "BETWEEN " } else { "" });
        self.edge(frame.from)?;
        if frame.between {
            self.put(" AND ");
            self.edge(frame.to)?;
        }
        self.put(match frame.exclude {
            None => "",
            Some(Exclude::Current) => " EXCLUDE CURRENT ROW",
            Some(Exclude::Group) => " EXCLUDE GROUP",
            Some(Exclude::Ties) => " EXCLUDE TIES",
        });
        Ok(())
    }

    fn edge(&mut self, edge: FrameEdge) -> Result<()> {
        match edge {
            FrameEdge::First => self.put("UNBOUNDED PRECEDING"),
            FrameEdge::Current => self.put("CURRENT ROW"),
            FrameEdge::Last => self.put("UNBOUNDED FOLLOWING"),
            FrameEdge::Before(distance) => {
                self.expr(distance, false)?;
                self.put(" PRECEDING");
            }
            FrameEdge::After(distance) => {
                self.expr(distance, false)?;
                self.put(" FOLLOWING");
            }
        }
        Ok(())
    }
}
