//! ORDER BY, DISTINCT and the targets that clauses name.

use super::level::Clause;
use super::{At, Binder, orders};
use crate::ast::{self, Expr as Raw, Literal, SortOrder};
use crate::bound::{ExprId, SortItem, Target};
use crate::resolve::{self, Step};
use crate::{Error, Oid, Result};

impl Binder<'_> {
    /// ORDER BY: items that are targets, or become hidden ones. By SQL99's rules names and numbers of targets mean nothing.
    pub(super) fn sort_clause(
        &mut self,
        list: &[ast::Sort],
        targets: &mut Vec<Target>,
        clause: Clause,
        sql99: bool,
    ) -> Result<Vec<SortItem>> {
        let mut made = Vec::new();
        for sort in list {
            let at = match sql99 {
                true => self.find_by_value(sort.value, targets, clause)?,
                false => self.find_target(sort.value, targets, clause)?,
            };
            self.add_sort(at, targets, sort, &mut made)?;
        }
        Ok(made)
    }

    /// The target that an item of a clause means by SQL92's rules: by its name, its number, or else its value.
    pub(super) fn find_target(
        &mut self,
        id: ast::ExprId,
        targets: &mut Vec<Target>,
        clause: Clause,
    ) -> Result<usize> {
        let tree = self.tree;
        let place = tree.place(id);
        match tree.expr(id) {
            Raw::Column(path) if path.len() == 1 => {
                let name = &path[0];
                let is_column =
                    clause == Clause::GroupBy && self.find_column_here(name, place)?.is_some();
                if !is_column && let Some(at) = self.target_named(name, targets, clause, place)? {
                    self.check_group_target(targets[at].value, clause)?;
                    return Ok(at);
                }
            }
            Raw::Literal(Literal::Int(number)) => {
                let wanted = usize::try_from(*number).ok().filter(|wanted| *wanted > 0);
                let mut seen = (0..targets.len()).filter(|at| !targets[*at].hidden);
                let Some(at) = wanted.and_then(|wanted| seen.nth(wanted - 1)) else {
                    let text = format!("{} position {number} is not in select list", clause.name());
                    return Err(Error::new("42P10", text)).at(place);
                };
                self.check_group_target(targets[at].value, clause)?;
                return Ok(at);
            }
            Raw::Literal(_) => {
                let text = format!("non-integer constant in {}", clause.name());
                return Err(Error::new("42601", text)).at(place);
            }
            _ => {}
        }
        self.find_by_value(id, targets, clause)
    }

    fn target_named(
        &self,
        name: &str,
        targets: &[Target],
        clause: Clause,
        place: Option<u32>,
    ) -> Result<Option<usize>> {
        let named = |target: &Target| !target.hidden && target.name.as_deref() == Some(name);
        let mut found: Option<usize> = None;
        for (at, target) in targets.iter().enumerate().filter(|(_, target)| named(target)) {
            match found {
                None => found = Some(at),
                Some(first) if self.same(targets[first].value, target.value) => {}
                Some(_) => {
                    let text = format!("{} \"{name}\" is ambiguous", clause.name());
                    return Err(Error::new("42702", text)).at(place);
                }
            }
        }
        Ok(found)
    }

    /// Aggregates and windows are not grouped by.
    fn check_group_target(&self, value: ExprId, clause: Clause) -> Result<()> {
        if clause != Clause::GroupBy {
            return Ok(());
        }
        if let Some(at) = self.aggregate_of_level(&[value], 0) {
            let text = "aggregate functions are not allowed in GROUP BY";
            return Err(Error::new("42803", text)).at(self.out.place(at));
        }
        if let Some(at) = self.window_in(value) {
            let text = "window functions are not allowed in GROUP BY";
            return Err(Error::new("42P20", text)).at(self.out.place(at));
        }
        Ok(())
    }

    /// The target that has an item's value, or a new hidden one.
    pub(super) fn find_by_value(
        &mut self,
        id: ast::ExprId,
        targets: &mut Vec<Target>,
        clause: Clause,
    ) -> Result<usize> {
        let value = self.expr_in(id, clause)?;
        let same = |target: &Target| self.same(value, self.uncast(target.value));
        if let Some(at) = targets.iter().position(same) {
            return Ok(at);
        }
        let target = self.target(value, None, true);
        targets.push(target);
        Ok(targets.len() - 1)
    }

    /// An item of ORDER BY for a target.
    pub(super) fn add_sort(
        &mut self,
        at: usize,
        targets: &mut [Target],
        sort: &ast::Sort,
        made: &mut Vec<SortItem>,
    ) -> Result<()> {
        targets[at].value = self.known(targets[at].value)?;
        let ty = self.out.ty(targets[at].value).oid;
        let start = self.raw_start(sort.value);
        let (less, equal, reverse) = match &sort.order {
            SortOrder::Default | SortOrder::Ascending => {
                let found = self.sort_orders(ty).at(start)?;
                (found.less, found.equal, false)
            }
            SortOrder::Descending => {
                let found = self.sort_orders(ty).at(start)?;
                (found.greater, found.equal, true)
            }
            SortOrder::Using(name, place) => {
                let operator = self.sort_operator(&name.name, ty).at(Some(*place))?;
                let Some((equal, down)) = self.order_of_operator(operator) else {
                    let shown = name.schema.iter().chain([&name.name]);
                    let shown: Vec<&str> = shown.map(|part| &**part).collect();
                    let text =
                        format!("operator {} is not a valid ordering operator", shown.join("."));
                    let hint = "Ordering operators must be \"<\" or \">\" members of btree \
                                operator families.";
                    return Err(Error::new("42809", text).hint(hint).at(*place));
                };
                (operator, equal, down)
            }
        };
        if !self.is_sorted(&targets[at], less, made) {
            let reference = assign_reference(targets, at);
            let nulls_first = sort.nulls_first.unwrap_or(reverse);
            made.push(SortItem { reference, equal, less, nulls_first });
        }
        Ok(())
    }

    /// The operator of USING: it must take the values as they are.
    fn sort_operator(&self, name: &str, ty: Oid) -> Result<Oid> {
        let operand = resolve::Operand::typed(crate::TypeRef::new(ty));
        let found = resolve::operator(self.catalog, name, Some(operand), operand)?;
        let plain = |step: &Step| matches!(step, Step::Relabel(_));
        match found.operands.iter().all(|operand| operand.steps.iter().all(plain)) {
            true => Ok(found.operator),
            false => {
                let shown = self.catalog.shown(ty);
                let text =
                    format!("operator requires run-time type coercion: {shown} {name} {shown}");
                Err(Error::new("42883", text))
            }
        }
    }

    /// Whether a target is in a list already, by this operator or one that goes the other way; 0 for any.
    fn is_sorted(&self, target: &Target, less: Oid, list: &[SortItem]) -> bool {
        target.reference != 0
            && list.iter().any(|item| {
                item.reference == target.reference
                    && (less == 0
                        || less == item.less
                        || self
                            .catalog
                            .operator(item.less)
                            .is_some_and(|operator| operator.commutator == less))
            })
    }

    /// An item of GROUP BY or DISTINCT for a target, unless it is there.
    pub(super) fn add_group(
        &mut self,
        at: usize,
        targets: &mut [Target],
        start: Option<u32>,
        made: &mut Vec<SortItem>,
    ) -> Result<()> {
        targets[at].value = self.known(targets[at].value)?;
        if self.is_sorted(&targets[at], 0, made) {
            return Ok(());
        }
        let ty = self.out.ty(targets[at].value).oid;
        let found = self.group_orders(ty).at(start)?;
        let reference = assign_reference(targets, at);
        let (equal, less) = (found.equal, found.less);
        made.push(SortItem { reference, equal, less, nulls_first: false });
        Ok(())
    }

    /// DISTINCT of whole rows, or of an aggregate's arguments.
    pub(super) fn distinct_clause(
        &mut self,
        targets: &mut [Target],
        order: &[SortItem],
        aggregate: bool,
    ) -> Result<Vec<SortItem>> {
        let mut made = Vec::new();
        for item in order {
            let target = by_reference(targets, item.reference);
            if target.hidden {
                let text = match aggregate {
                    true => {
                        "in an aggregate with DISTINCT, ORDER BY expressions must appear in \
                         argument list"
                    }
                    false => "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                };
                return Err(Error::new("42P10", text)).at(self.start_of(target.value));
            }
            made.push(*item);
        }
        for at in 0..targets.len() {
            if !targets[at].hidden {
                let start = self.start_of(targets[at].value);
                self.add_group(at, targets, start, &mut made)?;
            }
        }
        if made.is_empty() {
            let text = match aggregate {
                true => "an aggregate with DISTINCT must have at least one argument",
                false => "SELECT DISTINCT must have at least one column",
            };
            return Err(Error::new("42601", text));
        }
        match made.iter().find(|item| aggregate && item.less == 0) {
            Some(item) => {
                let value = by_reference(targets, item.reference).value;
                let mut error = orders::no_order(self.catalog, self.out.ty(value).oid);
                error.hint = None;
                let detail = "Aggregates with DISTINCT must be able to sort their inputs.";
                Err(error.detail(detail)).at(self.start_of(value))
            }
            None => Ok(made),
        }
    }

    /// DISTINCT ON: items of ORDER BY that are named by it come first.
    pub(super) fn distinct_on(
        &mut self,
        list: &[ast::ExprId],
        targets: &mut Vec<Target>,
        order: &[SortItem],
    ) -> Result<Vec<SortItem>> {
        let mut wanted = Vec::new();
        for id in list {
            let at = self.find_target(*id, targets, Clause::DistinctOn)?;
            wanted.push((*id, at, assign_reference(targets, at)));
        }
        let wrong = |place| {
            let text = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            Err(Error::new("42P10", text)).at(place)
        };
        let (mut made, mut skipped) = (Vec::new(), false);
        for item in order {
            match wanted.iter().find(|(.., reference)| *reference == item.reference) {
                Some((id, ..)) if skipped => return wrong(self.raw_start(*id)),
                Some(_) => made.push(*item),
                None => skipped = true,
            }
        }
        for (id, at, _) in wanted {
            if self.is_sorted(&targets[at], 0, &made) {
                continue;
            }
            let start = self.raw_start(id);
            if skipped {
                return wrong(start);
            }
            self.add_group(at, targets, start, &mut made)?;
        }
        Ok(made)
    }
}

/// The target of a reference, which an item has.
pub(super) fn by_reference(targets: &[Target], reference: u32) -> &Target {
    targets.iter().find(|target| target.reference == reference).expect("items name targets")
}

/// The number by which clauses name a target.
pub(super) fn assign_reference(targets: &mut [Target], at: usize) -> u32 {
    if targets[at].reference == 0 {
        let most = targets.iter().map(|target| target.reference).max().unwrap_or(0);
        targets[at].reference = most + 1;
    }
    targets[at].reference
}
