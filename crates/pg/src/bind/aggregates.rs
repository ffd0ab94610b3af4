//! Aggregates: their arguments, the query that they belong to, and where they may stand.

use super::level::Clause;
use super::{At, Binder, calls};
use crate::ast::{self, Name};
use crate::bound::{Aggregate, EntryKind, Expr, ExprId, Part, Target};
use crate::catalog::{oids, procedure_signature};
use crate::resolve::Call;
use crate::{Error, Result, TypeRef};

/// Levels of what is in an aggregate's arguments.
#[derive(Default)]
struct Levels {
    column: Option<u32>,
    aggregate: Option<u32>,
    /// The nearest query of WITH that is named from within, and the name that it goes by.
    cte: Option<(u32, Name)>,
}

impl Binder<'_> {
    pub(super) fn aggregate(
        &mut self,
        call: &ast::Call,
        found: &Call,
        args: Vec<ExprId>,
        filter: Option<ExprId>,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let named = call.args.iter().any(|arg| arg.name.is_some());
        if named {
            return Err(Error::new("0A000", "aggregates cannot use named arguments")).at(place);
        }
        let kind = self.catalog.aggregate(found.proc).map_or(b'n', |aggregate| aggregate.kind);
        if kind != b'n' {
            self.check_direct(call, found, &args).at(place)?;
        }
        let originals = args.clone();
        let mut args: Vec<ExprId> =
            self.arguments(found, &args, false)?.into_iter().map(|arg| arg.1).collect();
        if kind == b'h' {
            self.unify_hypothetical(found, call.order.len(), &mut args)?;
        }
        let (mut order, mut distinct) = (Vec::new(), Vec::new());
        let direct: Vec<ExprId> = match kind {
            b'n' => Vec::new(),
            _ => args.drain(..args.len() - call.order.len()).collect(),
        };
        for (made, original) in args.iter().zip(&originals) {
            self.note_uncast(*made, *original);
        }
        let mut targets = arguments_as_targets(&args);
        if kind == b'n' {
            let before = std::mem::replace(&mut self.level().targets, targets.len() + 1);
            order = self.sort_clause(&call.order, &mut targets, Clause::OrderBy, true)?;
            if call.distinct {
                distinct = self.distinct_clause(&mut targets, &order, true)?;
            }
            self.level().targets = before;
        } else {
            for (at, sort) in call.order.iter().enumerate() {
                self.add_sort(at, &mut targets, sort, &mut order)?;
            }
        }
        let seen = targets.iter().filter(|target| !target.hidden).map(|target| target.value);
        let all: Vec<ExprId> = direct.iter().copied().chain(seen).collect();
        let types = calls::types_of(self, &all);
        let aggregate = Aggregate {
            proc: found.proc,
            kind,
            types,
            direct,
            args: targets,
            order,
            distinct,
            filter,
            star: call.star,
            variadic: found.whole || found.collected.is_some(),
            up: 0,
        };
        let mut aggregate = Box::new(aggregate);
        aggregate.up = self.aggregate_level(&aggregate, place)?;
        self.check_aggregate_place(aggregate.up, true, place)?;
        Ok(self.out.add(Expr::Aggregate(aggregate), TypeRef::new(found.result), place))
    }

    /// An aggregate of an ordered set takes a certain number of arguments before WITHIN GROUP.
    fn check_direct(&self, call: &ast::Call, found: &Call, args: &[ExprId]) -> Result<()> {
        let Some(proc) = self.catalog.proc(found.proc) else { return Ok(()) };
        let wanted = self.catalog.aggregate(found.proc).map_or(0, |aggregate| aggregate.direct);
        let (ordered, name) = (call.order.len(), proc.name.clone());
        let direct = args.len() - ordered;
        let elements = match proc.variadic {
            0 => 0,
            _ => args.len() + 1 - proc.arguments.len(),
        };
        let hint = if proc.variadic == 0 || wanted < proc.arguments.len() {
            if direct == wanted {
                return Ok(());
            }
            let s = if wanted == 1 { "" } else { "s" };
            format!(
                "There is an ordered-set aggregate {name}, but it requires {wanted} direct \
                 argument{s}, not {direct}."
            )
        } else {
            if elements == 2 * ordered {
                return Ok(());
            }
            format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct \
                 arguments (here {}) must match the number of ordering columns (here {ordered}).",
                elements as i64 - ordered as i64
            )
        };
        let given: Vec<_> = args.iter().map(|id| (None, self.out.ty(*id).oid)).collect();
        let shown = procedure_signature(self.catalog, &name, &given);
        Err(Error::new("42883", format!("function {shown} does not exist")).hint(hint))
    }

    /// Arguments of a hypothetical row have the types of what they are compared with.
    fn unify_hypothetical(
        &mut self,
        found: &Call,
        ordered: usize,
        args: &mut [ExprId],
    ) -> Result<()> {
        let any = self.catalog.proc(found.proc).is_some_and(|proc| proc.variadic == oids::ANY);
        if !any || args.len() < 2 * ordered {
            return Ok(());
        }
        let direct = args.len() - ordered;
        for at in direct - ordered..direct {
            let other = at + ordered;
            let pair = [args[other], args[at]];
            let common = self.common_type(&pair, "WITHIN GROUP")?;
            let modifier = self.common_modifier(&pair, common);
            let target = TypeRef { oid: common, modifier };
            for at in [at, other] {
                if self.out.ty(args[at]).oid != common {
                    let context = crate::resolve::Context::Implicit;
                    args[at] = self.cast_to(args[at], target, context)?;
                }
            }
        }
        Ok(())
    }

    /// The query that an aggregate belongs to: the innermost that one of its columns is of.
    fn aggregate_level(&mut self, call: &Aggregate, place: Option<u32>) -> Result<u32> {
        let args: Vec<ExprId> = call.args.iter().map(|target| target.value).collect();
        let filter: Vec<ExprId> = call.filter.into_iter().collect();
        let mut levels = Levels::default();
        for part in args.iter().chain(&filter) {
            self.find_levels(Part::Expr(*part), 0, &mut levels)?;
        }
        let level = match (levels.column, levels.aggregate) {
            (Some(column), Some(aggregate)) => column.min(aggregate),
            (one, other) => one.or(other).unwrap_or(0),
        };
        if let Some((_, name)) = levels.cte.filter(|(cte, _)| *cte < level) {
            let text = "outer-level aggregate cannot use a nested CTE";
            let detail = format!("CTE \"{name}\" is below the aggregate's semantic level.");
            return Err(Error::new("0A000", text).detail(detail)).at(place);
        }
        if levels.aggregate == Some(level) {
            let at = self.aggregate_of_level(&args, level);
            return self.nested(at.or_else(|| self.aggregate_of_level(&filter, level)));
        }
        let mut direct = Levels::default();
        for part in &call.direct {
            self.find_levels(Part::Expr(*part), 0, &mut direct)?;
        }
        if let Some(column) = direct.column.filter(|column| *column < level) {
            let text = "outer-level aggregate cannot contain a lower-level variable in its direct \
                        arguments";
            let at = self.var_of_level(&call.direct, column);
            return Err(Error::new("42803", text)).at(at.and_then(|at| self.out.place(at)));
        }
        match direct.aggregate.filter(|aggregate| *aggregate <= level) {
            Some(aggregate) => self.nested(self.aggregate_of_level(&call.direct, aggregate)),
            None => Ok(level),
        }
    }

    fn nested<T>(&self, at: Option<ExprId>) -> Result<T> {
        let at = at.and_then(|at| self.out.place(at));
        Err(Error::new("42803", "aggregate function calls cannot be nested")).at(at)
    }

    fn find_levels(&mut self, part: Part, up: u32, levels: &mut Levels) -> Result<()> {
        let id = match part {
            Part::Expr(id) => id,
            Part::Query(query) => {
                for entry in &self.out.query(query).entries {
                    if let EntryKind::Cte { up: own, .. } = entry.kind
                        && let Some(level) = own.checked_sub(up + 1)
                        && levels.cte.as_ref().is_none_or(|(least, _)| level < *least)
                    {
                        levels.cte = Some((level, entry.name.clone()));
                    }
                }
                for part in self.out.parts(query) {
                    self.deeper(|b| b.find_levels(part, up + 1, levels))?;
                }
                return Ok(());
            }
        };
        let least = |least: &mut Option<u32>, own: u32| {
            if let Some(level) = own.checked_sub(up) {
                *least = Some(least.map_or(level, |least| least.min(level)));
            }
        };
        match self.out.expr(id) {
            Expr::Var { up: own, .. } => {
                least(&mut levels.column, *own);
                return Ok(());
            }
            Expr::Aggregate(call) => least(&mut levels.aggregate, call.up),
            Expr::Grouping(_, _, own) => least(&mut levels.aggregate, *own),
            _ if up > 0 => {}
            Expr::WindowCall(_) => {
                let text = "aggregate function calls cannot contain window function calls";
                return Err(Error::new("42803", text)).at(self.out.place(id));
            }
            _ if self.gives_set(id) => {
                let text = "aggregate function calls cannot contain set-returning function calls";
                return Err(Error::new("0A000", text).hint(calls::LATERAL_HINT))
                    .at(self.start_of(id));
            }
            _ => {}
        }
        for part in self.out.expr(id).parts() {
            self.deeper(|b| b.find_levels(part, up, levels))?;
        }
        Ok(())
    }

    /// The query that an aggregate belongs to has it, and the clause that is being bound there may.
    fn check_aggregate_place(&mut self, up: u32, call: bool, place: Option<u32>) -> Result<()> {
        let at = self.levels.len() - 1 - up as usize;
        let level = &mut self.levels[at];
        level.has_aggregates = true;
        let what = if call { "aggregate functions" } else { "grouping operations" };
        let clause = match level.clause {
            Clause::Having
            | Clause::WindowPartition
            | Clause::WindowOrder
            | Clause::Targets
            | Clause::OrderBy
            | Clause::DistinctOn => return Ok(()),
            Clause::JoinOn | Clause::JoinUsing => "JOIN conditions",
            Clause::FromQuery => "FROM clause of their own query level",
            Clause::FromFunction => "functions in FROM",
            Clause::IndexExpression => "index expressions",
            Clause::IndexFilter => "index predicates",
            Clause::Check => "check constraints",
            Clause::Default => "DEFAULT expressions",
            Clause::Generation => "column generation expressions",
            Clause::Transform => "transform expressions",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::TriggerWhen => "trigger WHEN conditions",
            Clause::CopyWhere => "COPY FROM WHERE conditions",
            Clause::Policy => "policy expressions",
            other => other.name(),
        };
        Err(Error::new("42803", format!("{what} are not allowed in {clause}"))).at(place)
    }

    /// GROUPING.
    pub(super) fn grouping(
        &mut self,
        values: &[ast::ExprId],
        place: Option<u32>,
    ) -> Result<ExprId> {
        if values.len() > 31 {
            let text = "GROUPING must have fewer than 32 arguments";
            return Err(Error::new("54023", text)).at(place);
        }
        let args = self.all(values)?;
        let call = Aggregate {
            proc: 0,
            kind: b'n',
            types: Vec::new(),
            direct: Vec::new(),
            args: arguments_as_targets(&args),
            order: Vec::new(),
            distinct: Vec::new(),
            filter: None,
            star: false,
            variadic: false,
            up: 0,
        };
        let up = self.aggregate_level(&call, place)?;
        self.check_aggregate_place(up, false, place)?;
        let grouping = Expr::Grouping(args, Vec::new(), up);
        Ok(self.out.add(grouping, TypeRef::new(oids::INT4), place))
    }
}

/// Arguments as the targets that ORDER BY and DISTINCT name.
fn arguments_as_targets(args: &[ExprId]) -> Vec<Target> {
    let target = |(at, value): (usize, &ExprId)| Target {
        value: *value,
        number: at + 1,
        name: None,
        reference: 0,
        hidden: false,
    };
    args.iter().enumerate().map(target).collect()
}
