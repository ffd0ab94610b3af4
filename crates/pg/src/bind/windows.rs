//! Windows: those of WINDOW, and those that OVER writes.

use super::level::Clause;
use super::{At, Binder};
use crate::ast::{self, FrameUnit, GroupItem, Name, Over};
use crate::bound::{ExprId, Frame, FrameEdge, SortItem, Target, Window};
use crate::catalog::oids;
use crate::{Error, Oid, Result};

impl Binder<'_> {
    /// The number of the window that OVER means; one that is written as another before is that.
    pub(super) fn window_of(&mut self, over: &Over) -> Result<usize> {
        let windows = &self.level_ref().windows;
        let window = match over {
            Over::Named(name, place) => {
                let is_it = |(own, _): &(Option<Name>, ast::Window)| own.as_ref() == Some(name);
                return match windows.iter().position(is_it) {
                    Some(at) => Ok(at + 1),
                    None => Err(no_window(name).at(*place)),
                };
            }
            Over::Window(window) => &**window,
        };
        let same = |(_, other): &(Option<Name>, ast::Window)| self.tree.same_window(window, other);
        if let Some(at) = windows.iter().position(same) {
            return Ok(at + 1);
        }
        self.level().windows.push((None, window.clone()));
        Ok(self.level().windows.len())
    }

    /// All windows of a query.
    pub(super) fn window_clause(&mut self, targets: &mut Vec<Target>) -> Result<Vec<Window>> {
        let mut made: Vec<Window> = Vec::new();
        let windows = std::mem::take(&mut self.level().windows);
        for (name, window) in windows {
            let named = |name: &Name| made.iter().find(|w| w.name.as_ref() == Some(name));
            if let Some(name) = name.as_ref().filter(|name| named(name).is_some()) {
                let text = format!("window \"{name}\" is already defined");
                return Err(Error::new("42P20", text).at(window.place));
            }
            let base = match &window.base {
                Some(base) => match named(base) {
                    Some(found) => Some(found.clone()),
                    None => return Err(no_window(base).at(window.place)),
                },
                None => None,
            };
            let order = self.sort_clause(&window.order, targets, Clause::WindowOrder, true)?;
            let items: Vec<GroupItem> =
                window.partition.iter().map(|id| GroupItem::Expr(*id)).collect();
            let clause = Clause::WindowPartition;
            let (partition, _) = self.group_clause(&items, targets, &order, clause, true)?;
            made.push(self.window(name, &window, base, partition, order)?);
        }
        Ok(made)
    }

    fn window(
        &mut self,
        name: Option<Name>,
        written: &ast::Window,
        base: Option<Window>,
        partition: Vec<SortItem>,
        order: Vec<SortItem>,
    ) -> Result<Window> {
        let frame = written.frame.as_ref();
        let place = written.place;
        let (mut partition, mut order, mut copied_order) = (partition, order, false);
        if let Some(base) = base {
            let of = written.base.as_deref().unwrap_or_default();
            let wrong = |what: &str| {
                let text = format!("cannot override {what} clause of window \"{of}\"");
                Err(Error::new("42P20", text).at(place))
            };
            if !partition.is_empty() {
                return wrong("PARTITION BY");
            }
            if !order.is_empty() && !base.order.is_empty() {
                return wrong("ORDER BY");
            }
            if base.frame.written {
                let text = format!("cannot copy window \"{of}\" because it has a frame clause");
                let error = Error::new("42P20", text).at(place);
                let plain = name.is_none() && order.is_empty() && frame.is_none();
                return Err(match plain {
                    true => error.hint("Omit the parentheses in this OVER clause."),
                    false => error,
                });
            }
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
                copied_order = true;
            }
        }
        let frame = self.frame(frame, &order, place)?;
        Ok(Window { name, base: written.base.clone(), partition, order, frame, copied_order })
    }

    fn frame(
        &mut self,
        frame: Option<&ast::Frame>,
        order: &[SortItem],
        place: u32,
    ) -> Result<Frame> {
        let mut made = Frame {
            written: frame.is_some(),
            between: false,
            unit: FrameUnit::Range,
            from: FrameEdge::First,
            to: FrameEdge::Current,
            exclude: None,
            in_range: [0; 2],
            ascending: false,
            nulls_first: false,
        };
        let Some(frame) = frame else { return Ok(made) };
        made.between = frame.to.is_some();
        made.unit = frame.unit;
        made.exclude = frame.exclude;
        let wrong = |text: &str| Err(Error::new("42P20", text).at(place));
        let distance = |edge: ast::FrameEdge| {
            matches!(edge, ast::FrameEdge::Before(_) | ast::FrameEdge::After(_))
        };
        let to = frame.to.unwrap_or(ast::FrameEdge::Current);
        let mut column = 0;
        if frame.unit == FrameUnit::Range && (distance(frame.from) || distance(to)) {
            let [item] = order else {
                return wrong(
                    "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                );
            };
            column = self.catalog.operator(item.less).map_or(0, |operator| operator.left);
            made.ascending = self.order_of_operator(item.less).is_some_and(|(_, down)| !down);
            made.nulls_first = item.nulls_first;
        }
        if frame.unit == FrameUnit::Groups && order.is_empty() {
            return wrong("GROUPS mode requires an ORDER BY clause");
        }
        (made.from, made.in_range[0]) = self.edge(frame.from, frame.unit, column)?;
        (made.to, made.in_range[1]) = self.edge(to, frame.unit, column)?;
        Ok(made)
    }

    fn edge(
        &mut self,
        edge: ast::FrameEdge,
        unit: FrameUnit,
        column: Oid,
    ) -> Result<(FrameEdge, Oid)> {
        Ok(match edge {
            ast::FrameEdge::First => (FrameEdge::First, 0),
            ast::FrameEdge::Current => (FrameEdge::Current, 0),
            ast::FrameEdge::Last => (FrameEdge::Last, 0),
            ast::FrameEdge::Before(distance) => {
                let (distance, function) = self.distance(distance, unit, column)?;
                (FrameEdge::Before(distance), function)
            }
            ast::FrameEdge::After(distance) => {
                let (distance, function) = self.distance(distance, unit, column)?;
                (FrameEdge::After(distance), function)
            }
        })
    }

    /// The distance of a frame's end, and the function that finds it in a range.
    fn distance(
        &mut self,
        distance: ast::ExprId,
        unit: FrameUnit,
        column: Oid,
    ) -> Result<(ExprId, Oid)> {
        let (clause, name) = match unit {
            FrameUnit::Rows => (Clause::FrameRows, "ROWS"),
            FrameUnit::Range => (Clause::FrameRange, "RANGE"),
            FrameUnit::Groups => (Clause::FrameGroups, "GROUPS"),
        };
        let value = self.expr_in(distance, clause)?;
        let (target, function) = match unit {
            FrameUnit::Range => self.in_range(value, column)?,
            _ => (oids::INT8, 0),
        };
        let value = self.specific(value, target, name)?;
        self.no_vars(value, name)?;
        Ok((value, function))
    }

    /// The type of a distance from values of a column, and the function.
    fn in_range(&self, value: ExprId, column: Oid) -> Result<(Oid, Oid)> {
        let given = self.out.ty(value).oid;
        let wanted = if given == oids::UNKNOWN { column } else { given };
        let of = self.catalog.procs_named("in_range");
        let all: Vec<(Oid, Oid)> = of
            .filter(|proc| proc.arguments[0] == column)
            .map(|proc| (proc.arguments[2], proc.oid))
            .collect();
        let can = |target| {
            let context = crate::resolve::Context::Implicit;
            crate::resolve::can_convert(self.catalog, given, target, context)
        };
        let some: Vec<(Oid, Oid)> = all.iter().copied().filter(|(to, _)| can(*to)).collect();
        let (shown, offset) = (self.catalog.shown(column), self.catalog.shown(given));
        let refuse = |text: String, hint: Option<&str>| {
            let error = Error::new("0A000", text);
            let error = hint.into_iter().fold(error, |error, hint| error.hint(hint));
            Err(error).at(self.start_of(value))
        };
        let what = "RANGE with offset PRECEDING/FOLLOWING";
        if all.is_empty() {
            return refuse(format!("{what} is not supported for column type {shown}"), None);
        }
        if let Some(exact) = some.iter().find(|(to, _)| *to == wanted) {
            return Ok(*exact);
        }
        match some[..] {
            [one] => Ok(one),
            [] => refuse(
                format!("{what} is not supported for column type {shown} and offset type {offset}"),
                Some("Cast the offset value to an appropriate type."),
            ),
            _ => refuse(
                format!(
                    "{what} has multiple interpretations for column type {shown} and offset type \
                     {offset}"
                ),
                Some("Cast the offset value to the exact intended type."),
            ),
        }
    }
}

fn no_window(name: &str) -> Error {
    Error::new("42704", format!("window \"{name}\" does not exist"))
}
