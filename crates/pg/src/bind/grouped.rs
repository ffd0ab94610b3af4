//! May a column stand outside of aggregates in a query that groups?
//!
//! It may where it is grouped by, alone or within an expression that is, or where it follows from a primary key that is.

use super::clauses::by_reference;
use super::{At, Binder, grouping};
use crate::bound::{EntryKind, Expr, ExprId, Part, Query};
use crate::{Error, Result};

/// What a query groups by.
struct Grouped<'a> {
    query: &'a Query,
    /// References and values, joins' columns replaced by what they are.
    values: Vec<(u32, ExprId)>,
    /// Columns that are in all sets.
    common: Vec<(usize, i32)>,
    /// Whether a value is more than a column.
    complex: bool,
    /// Entries whose key is grouped by.
    by_key: Vec<usize>,
    /// Whether direct arguments of an aggregate are looked at.
    direct: bool,
}

impl Binder<'_> {
    /// Checks that all columns of a query that groups are grouped.
    pub(super) fn check_groups(&mut self, made: &mut Query) -> Result<()> {
        let groups = made.has_aggregates
            || !made.groups.is_empty()
            || !made.sets.is_empty()
            || made.having.is_some();
        if !groups {
            return Ok(());
        }
        let common = self.common_set(made)?;
        let mut grouped = Grouped {
            query: made,
            values: Vec::new(),
            common: Vec::new(),
            complex: false,
            by_key: Vec::new(),
            direct: false,
        };
        for item in made.groups.iter().rev() {
            let value = by_reference(&made.targets, item.reference).value;
            let value = self.flattened_value(value, made)?;
            match *self.out.expr(value) {
                Expr::Var { entry, column, up: 0 } => {
                    if common.as_ref().is_none_or(|common| common.contains(&item.reference)) {
                        grouped.common.push((entry, column));
                    }
                }
                Expr::Var { .. } => {}
                _ => grouped.complex = true,
            }
            grouped.values.push((item.reference, value));
        }
        let targets = made.targets.iter().map(|target| target.value);
        let clauses: [Vec<ExprId>; 2] = [targets.collect(), made.having.into_iter().collect()];
        for clause in clauses {
            for value in &clause {
                self.finish_grouping(*value, 0, &grouped)?;
            }
            for value in clause {
                let value = self.flattened_value(value, made)?;
                self.check_grouped(Part::Expr(value), 0, 0, &mut grouped)?;
            }
        }
        let depends_on_keys = !grouped.by_key.is_empty();
        made.depends_on_keys = depends_on_keys;
        let own =
            |entry: &crate::bound::Entry| matches!(entry.kind, EntryKind::Cte { own: true, .. });
        if made.has_aggregates && made.entries.iter().any(own) {
            let text = "aggregate functions are not allowed in a recursive query's recursive term";
            let at = self.aggregate_in_query(made);
            return Err(Error::new("42P19", text)).at(at.and_then(|at| self.out.place(at)));
        }
        Ok(())
    }

    /// The references that all sets have; none where there are no sets.
    fn common_set(&mut self, made: &mut Query) -> Result<Option<Vec<u32>>> {
        if made.sets.is_empty() {
            return Ok(None);
        }
        let Some(sets) = grouping::expanded(&made.sets, made.groups_distinct) else {
            let text = "too many grouping sets present (maximum 4096)";
            return Err(Error::new("54001", text));
        };
        let mut common = sets[0].clone();
        for set in &sets[1..] {
            common.retain(|reference| set.contains(reference));
        }
        if sets.len() == 1 && !made.groups.is_empty() {
            made.sets = Vec::new();
            return Ok(None);
        }
        Ok(Some(common))
    }

    /// Columns of joins become what they are.
    fn flattened_value(&mut self, id: ExprId, query: &Query) -> Result<ExprId> {
        if !query.entries.iter().any(|entry| matches!(entry.kind, EntryKind::Join { .. })) {
            return Ok(id);
        }
        self.deeper(|b| {
            if let Expr::Var { entry, column, up: 0 } = *b.out.expr(id) {
                let of = &query.entries[entry - 1];
                let EntryKind::Join { columns, .. } = &of.kind else { return Ok(id) };
                if column > 0 {
                    let value = columns[column as usize - 1];
                    return b.flattened_value(value, query);
                }
                let mut fields = Vec::new();
                for value in columns {
                    fields.push(b.flattened_value(*value, query)?);
                }
                let row = Expr::Row(fields, of.names.clone());
                return Ok(b.out.add(row, b.out.ty(id), b.out.place(id)));
            }
            let mut changed = false;
            let mut expr = b.out.expr(id).clone();
            let mut made = Vec::new();
            for child in expr.children() {
                let new = b.flattened_value(child, query)?;
                changed |= new != child;
                made.push(new);
            }
            if !changed {
                return Ok(id);
            }
            let mut made = made.into_iter();
            expr.children_mut(&mut |child| *child = made.next().expect("as many children"));
            Ok(b.out.add(expr, b.out.ty(id), b.out.place(id)))
        })
    }

    /// What arguments of GROUPING are, among what is grouped by.
    fn finish_grouping(&mut self, id: ExprId, up: u32, grouped: &Grouped<'_>) -> Result<()> {
        let mut found = Vec::new();
        self.visit(id, up, &mut |id, up| {
            match self.out.expr(id) {
                Expr::Grouping(_, _, of) if *of == up => found.push((id, up)),
                Expr::Aggregate(call) if call.up == up => {
                    let direct = &call.direct;
                    let inside = |id: &ExprId| matches!(self.out.expr(*id), Expr::Grouping(..));
                    found.extend(direct.iter().filter(|id| inside(id)).map(|id| (*id, up)));
                    return false;
                }
                Expr::Aggregate(call) => return call.up < up,
                _ => {}
            }
            true
        });
        for (id, up) in found {
            let Expr::Grouping(args, ..) = self.out.expr(id).clone() else { continue };
            let mut references = Vec::new();
            for arg in &args {
                let start = self.start_of(*arg);
                let arg = self.flattened_value(*arg, grouped.query)?;
                match self.reference_of(arg, up, grouped) {
                    Some(reference) => references.push(reference),
                    None => {
                        let text = "arguments to GROUPING must be grouping expressions of the \
                                    associated query level";
                        return Err(Error::new("42803", text)).at(start);
                    }
                }
            }
            self.out.set_expr(id, Expr::Grouping(args, references, up));
        }
        Ok(())
    }

    fn reference_of(&self, id: ExprId, up: u32, grouped: &Grouped<'_>) -> Option<u32> {
        let is_it = |value: ExprId| match (self.out.expr(id), self.out.expr(value)) {
            (
                Expr::Var { entry, column, up: own },
                Expr::Var { entry: entry2, column: column2, up: 0 },
            ) => *own == up && entry == entry2 && column == column2,
            (Expr::Var { .. }, _) => false,
            _ => up == 0 && grouped.complex && self.same(id, value),
        };
        grouped.values.iter().find(|(_, value)| is_it(*value)).map(|(reference, _)| *reference)
    }

    /// Looks for a column that is not grouped. `up` counts the queries that were entered, `shift` the levels by which
    /// columns in the part are further out than they say.
    fn check_grouped(
        &mut self,
        part: Part,
        up: u32,
        shift: u32,
        grouped: &mut Grouped<'_>,
    ) -> Result<()> {
        self.deeper(|b| match part {
            Part::Query(query) => {
                for part in b.out.parts(query) {
                    b.check_grouped(part, up + 1, shift, grouped)?;
                }
                Ok(())
            }
            Part::Expr(id) => b.check_grouped_value(id, up, shift, grouped),
        })
    }

    fn check_grouped_value(
        &mut self,
        id: ExprId,
        up: u32,
        shift: u32,
        grouped: &mut Grouped<'_>,
    ) -> Result<()> {
        match self.out.expr(id) {
            Expr::Literal(_) | Expr::Param(_) => return Ok(()),
            Expr::Aggregate(call) if call.up == up => {
                let direct = call.direct.clone();
                grouped.direct = true;
                for id in direct {
                    self.check_grouped(Part::Expr(id), up, shift, grouped)?;
                }
                grouped.direct = false;
                return Ok(());
            }
            Expr::Aggregate(call) if call.up > up => return Ok(()),
            Expr::Grouping(_, _, of) if *of >= up => return Ok(()),
            _ => {}
        }
        if up == 0
            && grouped.complex
            && grouped.values.iter().any(|(_, value)| self.same(id, *value))
        {
            return Ok(());
        }
        if let Expr::Var { entry, column, up: own } = *self.out.expr(id) {
            return match own + shift == up {
                true => self.check_column(id, entry, column, up, grouped),
                false => Ok(()),
            };
        }
        let parts = self.out.expr(id).parts();
        for part in parts {
            self.check_grouped(part, up, shift, grouped)?;
        }
        Ok(())
    }

    fn check_column(
        &mut self,
        id: ExprId,
        entry: usize,
        column: i32,
        up: u32,
        grouped: &mut Grouped<'_>,
    ) -> Result<()> {
        let of = &grouped.query.entries[entry - 1];
        if let (EntryKind::Join { columns, .. }, true) = (&of.kind, column > 0) {
            // A column of a join that a query within names is what it is there.
            let value = columns[column as usize - 1];
            return self.check_grouped(Part::Expr(value), up, up, grouped);
        }
        let is_it = |value: &ExprId| {
            matches!(self.out.expr(*value), Expr::Var { entry: e, column: c, up: 0 }
                if (*e, *c) == (entry, column))
        };
        if (!grouped.complex || up != 0) && grouped.values.iter().any(|(_, value)| is_it(value)) {
            return Ok(());
        }
        if grouped.by_key.contains(&entry) {
            return Ok(());
        }
        let key = &self.level_ref().keys[entry - 1];
        if !key.is_empty() && key.iter().all(|column| grouped.common.contains(&(entry, *column))) {
            grouped.by_key.push(entry);
            return Ok(());
        }
        let name = match column {
            0 => "*",
            1.. => of.names.get(column as usize - 1).map_or("", |name| &**name),
            _ => super::names::system_name(column),
        };
        let place = self.out.place(id);
        if up > 0 {
            let text =
                format!("subquery uses ungrouped column \"{}.{name}\" from outer query", of.name);
            return Err(Error::new("42803", text)).at(place);
        }
        let text = format!(
            "column \"{}.{name}\" must appear in the GROUP BY clause or be used in an aggregate \
             function",
            of.name
        );
        let mut error = Error::new("42803", text);
        if grouped.direct {
            error = error.detail(
                "Direct arguments of an ordered-set aggregate must use only grouped columns.",
            );
        }
        Err(error).at(place)
    }
}
