//! Calls of functions.

use super::level::Clause;
use super::{At, Binder};
use crate::ast::{self, Name};
use crate::bound::{self, Expr, ExprId, Form as Written, WindowCall};
use crate::catalog::{ProcKind, oids, procedure_signature};
use crate::resolve::{self, Call, Called, Form};
use crate::{Error, Oid, Result, TypeRef};

impl Binder<'_> {
    pub(super) fn call(&mut self, call: &ast::Call, place: Option<u32>) -> Result<ExprId> {
        let last_set = self.level_ref().last_set;
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(self.expr(arg.value)?);
        }
        if call.within_group {
            for sort in &call.order {
                args.push(self.expr(sort.value)?);
            }
        }
        if !self.is_procedure(call) && call.args.iter().all(|arg| arg.name.is_none()) {
            // Drivers send what their OUT parameters stand for so.
            let is_void = |id: &ExprId| self.out.ty(*id).oid == oids::VOID;
            args.retain(|id| !(matches!(self.out.expr(*id), Expr::Param(_)) && is_void(id)));
        }
        let filter = self.condition(call.filter, Clause::Filter, "FILTER")?;
        let name = self.function_name(call, &args, place)?;
        let found = match self.called(call, &name, &args, place)? {
            Ok(found) => found,
            Err(value) => return Ok(value),
        };
        if call.name.len() == 1 {
            self.catalog.note(&name, found.proc);
        }
        self.check_form(call, &found, &name, place)?;
        match (found.kind, &call.over) {
            (ProcKind::Aggregate, None) => {
                return self.aggregate(call, &found, args, filter, place);
            }
            (_, Some(over)) => {
                return self.window_call(call, over, &found, args, (filter, last_set), place);
            }
            _ => {}
        }
        if found.retset
            && self.level_ref().clause == Clause::FromFunction
            && let Some(inner) = self.new_set(last_set)
        {
            let text = "set-returning functions must appear at top level of FROM";
            return Err(Error::new("0A000", text)).at(self.start_of(inner));
        }
        let named = call.args.iter().any(|arg| arg.name.is_some());
        let made = self.plain(&found, &args, named, place)?;
        if call.sql_syntax {
            self.out.note_form(made, Written::Syntax);
        }
        if named && self.out.keeps_written() {
            self.note_places(made, call);
        }
        Ok(made)
    }

    /// Arguments without a name are printed without one.
    fn note_places(&mut self, made: ExprId, call: &ast::Call) {
        let mut expr = self.out.expr(made).clone();
        if let Expr::Call(made) = &mut expr {
            let without =
                made.args.iter_mut().zip(&call.args).filter(|(_, arg)| arg.name.is_none());
            without.for_each(|(arg, _)| arg.0 = None);
        }
        self.out.set_expr(made, expr);
    }

    /// Whether a call is what CALL calls.
    fn is_procedure(&self, call: &ast::Call) -> bool {
        let procedure = self.tree.procedure.map(|id| self.tree.expr(id));
        matches!(procedure, Some(ast::Expr::Call(own)) if std::ptr::eq(&**own, call))
    }

    /// The function that a call means, or the field or cast that it is.
    fn called(
        &mut self,
        call: &ast::Call,
        name: &Name,
        args: &[ExprId],
        place: Option<u32>,
    ) -> Result<std::result::Result<Call, ExprId>> {
        let names: Vec<Option<&str>> = call.args.iter().map(|arg| arg.name.as_deref()).collect();
        let named = names.iter().any(Option::is_some);
        if let [arg] = *args
            && call.name.len() == 1
            && is_plain(call)
            && !named
            && !call.sql_syntax
            && self.has_fields(arg)
            && self.catalog.procs_named(name).next().is_none()
            && let Some(found) = self.field(arg, name, place)?
        {
            return Ok(Err(found));
        }
        let form = Form {
            names: if named { &names } else { &[] },
            variadic: call.variadic,
            star: call.star,
            within_group: call.within_group,
            over: call.over.is_some(),
            procedure: self.is_procedure(call),
        };
        self.name_rows_taken(name, args)?;
        let operands: Vec<_> = args.iter().map(|arg| self.operand(*arg)).collect();
        match resolve::function(self.catalog, name, &operands, form) {
            Ok(Called::Function(found)) => Ok(Ok(found)),
            Ok(Called::Cast(conversion)) => {
                self.check_plain_cast(call, name, place)?;
                self.form = Written::Call;
                let made = self.converted(args[0], &conversion).at(place).map(Err);
                self.form = Written::Implicit;
                made
            }
            Err(error) => {
                // `f(row)` may be a field of the row.
                if error.state == "42883"
                    && args.len() == 1
                    && is_plain(call)
                    && let Some(field) = self.field(args[0], name, place)?
                {
                    return Ok(Err(field));
                }
                Err(Self::resolution_error(self.call_error(error, call, name), place))
            }
        }
    }

    /// Has the catalog know the types of rows that the database's functions of a name take, where an argument may become one:
    /// types of rows are known when they are named.
    fn name_rows_taken(&self, name: &str, args: &[ExprId]) -> Result<()> {
        let open = |id: &ExprId| matches!(self.out.ty(*id).oid, oids::RECORD | oids::UNKNOWN);
        if !args.iter().any(open) {
            return Ok(());
        }
        let made = self.catalog.procs_named(name).filter(|proc| proc.made.is_some());
        let types: Vec<Oid> = made.flat_map(|proc| proc.arguments.iter().copied()).collect();
        let unknown = |ty: &Oid| *ty != 0 && self.catalog.get_type(*ty).is_none();
        types.into_iter().filter(unknown).try_for_each(|ty| self.schema.name_taken(ty))
    }

    /// An error of resolution: what polymorphic types say is told without a place.
    pub(super) fn resolution_error(error: Error, place: Option<u32>) -> Error {
        let polymorphic = error.state == "42804" && !error.message.starts_with("VARIADIC");
        match place.filter(|_| !polymorphic && error.position.is_none()) {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// An error of a call, at the argument that it is about, and with the name as it was written.
    fn call_error(&self, mut error: Error, call: &ast::Call, name: &str) -> Error {
        if error.state == "42601" {
            let named = call.args.iter().position(|arg| arg.name.is_some());
            let wrong = call.args.iter().enumerate().skip(named.unwrap_or(0)).find(|(at, arg)| {
                let before = &call.args[..*at];
                arg.name.is_none() || before.iter().any(|other| other.name == arg.name)
            });
            return match wrong {
                Some((_, arg)) => {
                    let start = self.raw_start(arg.value).filter(|_| arg.name.is_none());
                    error.at(start.unwrap_or(arg.place))
                }
                None => error,
            };
        }
        if error.state == "42883" && call.order.len() > 1 && !call.within_group {
            error = error.hint(
                "No aggregate function matches the given name and argument types. Perhaps you \
                 misplaced ORDER BY; ORDER BY must appear after all regular arguments of the \
                 aggregate.",
            );
        }
        if error.message.starts_with("VARIADIC")
            && let Some(start) = call.args.last().and_then(|last| self.raw_start(last.value))
        {
            return error.at(start);
        }
        if let [schema, _] = &call.name[..]
            && !name.contains('.')
        {
            let written = format!("function {schema}.{name}(");
            error.message = error.message.replacen(&format!("function {name}("), &written, 1);
        }
        error
    }

    /// A function of this name in the system's schema, of bound arguments.
    pub(super) fn system_call(
        &mut self,
        name: &str,
        args: Vec<ExprId>,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let operands: Vec<_> = args.iter().map(|arg| self.operand(*arg)).collect();
        let name = self.catalog.name_of_system(&name.into());
        let found = resolve::function(self.catalog, &name, &operands, Form::default());
        match found.map_err(|error| Self::resolution_error(error, place))? {
            Called::Cast(conversion) => self.converted(args[0], &conversion),
            Called::Function(found) => self.plain(&found, &args, false, place),
        }
    }

    /// `row.name` as `name(row)`.
    pub(super) fn function_of_row(
        &mut self,
        row: ExprId,
        name: &str,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        let operand = self.operand(row);
        let found = resolve::function(self.catalog, name, &[operand], Form::default());
        match found {
            Ok(Called::Function(found)) if found.kind == ProcKind::Function => {
                self.plain(&found, &[row], false, place).map(Some)
            }
            Ok(Called::Cast(conversion)) => self.converted(row, &conversion).map(Some),
            _ => Ok(None),
        }
    }

    fn function_name(&self, call: &ast::Call, args: &[ExprId], place: Option<u32>) -> Result<Name> {
        match &call.name[..] {
            [name] => Ok(name.clone()),
            [schema, name] if &**schema == "pg_catalog" => Ok(self.catalog.name_of_system(name)),
            [schema, _] if !self.schema.is_schema(schema) => {
                let text = format!("schema \"{schema}\" does not exist");
                Err(Error::new("3F000", text)).at(place)
            }
            [schema, name] => {
                let whole = Name::from(format!("{}.{name}", self.schema.meant(schema)));
                if self.catalog.procs_named(&whole).next().is_some() {
                    return Ok(whole);
                }
                let given: Vec<_> = args
                    .iter()
                    .enumerate()
                    .map(|(at, id)| {
                        let named = call.args.get(at).and_then(|arg| arg.name.as_deref());
                        (named, self.out.ty(*id).oid)
                    })
                    .collect();
                let shown = procedure_signature(self.catalog, name, &given);
                let text = format!("function {schema}.{shown} does not exist");
                let hint = "No function matches the given name and argument types. You might need \
                            to add explicit type casts.";
                Err(Error::new("42883", text).hint(hint)).at(place)
            }
            path => {
                let text = "improper qualified name (too many dotted names): ";
                Err(Error::new("42601", format!("{text}{}", path.join(".")))).at(place)
            }
        }
    }

    fn has_fields(&self, id: ExprId) -> bool {
        let ty = self.out.ty(id).oid;
        ty == oids::RECORD || self.catalog.is_composite(ty)
    }

    fn check_plain_cast(&self, call: &ast::Call, name: &str, place: Option<u32>) -> Result<()> {
        let wrong = |text: String| Err(Error::new("42809", text)).at(place);
        if call.within_group {
            return wrong(format!(
                "WITHIN GROUP specified, but {name} is not an aggregate function"
            ));
        }
        self.check_not_aggregate(call, name, place)?;
        match call.over.is_some() {
            true => wrong(format!(
                "OVER specified, but {name} is not a window function nor an aggregate function"
            )),
            false => Ok(()),
        }
    }

    fn check_not_aggregate(&self, call: &ast::Call, name: &str, place: Option<u32>) -> Result<()> {
        let found = [
            (call.star, "(*) specified"),
            (call.distinct, "DISTINCT specified"),
            (call.within_group, "WITHIN GROUP specified"),
            (!call.order.is_empty(), "ORDER BY specified"),
            (call.filter.is_some(), "FILTER specified"),
        ];
        match found.into_iter().find(|(is, _)| *is) {
            Some((_, "(*) specified")) => {
                let text = format!("{name}(*) specified, but {name} is not an aggregate function");
                Err(Error::new("42809", text)).at(place)
            }
            Some((_, what)) => {
                let text = format!("{what}, but {name} is not an aggregate function");
                Err(Error::new("42809", text)).at(place)
            }
            None => Ok(()),
        }
    }

    fn check_form(
        &self,
        call: &ast::Call,
        found: &Call,
        name: &str,
        place: Option<u32>,
    ) -> Result<()> {
        match found.kind {
            ProcKind::Aggregate => Ok(()),
            ProcKind::Window => {
                let text = |what| format!("{what}, but {name} is not an aggregate function");
                let wrong = |text: String, state| Err(Error::new(state, text)).at(place);
                if call.within_group {
                    return wrong(
                        format!("window function {name} cannot have WITHIN GROUP"),
                        "42809",
                    );
                }
                if call.distinct && call.over.is_none() {
                    return wrong(text("DISTINCT specified"), "42809");
                }
                Ok(())
            }
            _ => self.check_not_aggregate(call, name, place),
        }
    }

    /// The arguments of a call, converted; those of a variadic parameter as one array.
    pub(super) fn arguments(
        &mut self,
        found: &Call,
        args: &[ExprId],
        named: bool,
    ) -> Result<Vec<(Option<usize>, ExprId)>> {
        let mut made = Vec::new();
        for ((arg, conversion), place) in args.iter().zip(&found.arguments).zip(&found.places) {
            let value = self.converted(*arg, conversion)?;
            made.push((named.then_some(*place), value));
        }
        if let Some(collected) = found.collected {
            let elements: Vec<ExprId> =
                made.split_off(made.len() - collected.count).into_iter().map(|m| m.1).collect();
            let place = elements.first().and_then(|first| self.out.place(*first));
            let array = Expr::Array(elements, false);
            made.push((None, self.out.add(array, TypeRef::new(collected.array), place)));
        }
        Ok(made)
    }

    fn plain(
        &mut self,
        found: &Call,
        args: &[ExprId],
        named: bool,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let mut args = self.arguments(found, args, named)?;
        if !named {
            args.iter_mut().for_each(|arg| arg.0 = None);
        }
        // Types of rows are known when they are named.
        let outputs = self.catalog.proc(found.proc).and_then(|proc| proc.made.clone());
        let outputs = outputs.iter().flat_map(|made| &made.parameters).map(|of| of.ty.oid);
        for ty in outputs.chain([found.result]) {
            if self.catalog.get_type(ty).is_none() {
                self.schema.name_type(ty)?;
            }
        }
        let variadic = found.whole || found.collected.is_some();
        let call = bound::Call { proc: found.proc, args, set: found.retset, variadic };
        let made = self.out.add(Expr::Call(call), TypeRef::new(found.result), place);
        if found.retset {
            self.set_here(made)?;
        }
        Ok(made)
    }

    /// A call that gives a set stands here.
    pub(super) fn set_here(&mut self, made: ExprId) -> Result<()> {
        let place = self.start_of(made);
        let level = self.level();
        let name = match level.clause {
            Clause::Targets
            | Clause::GroupBy
            | Clause::OrderBy
            | Clause::DistinctOn
            | Clause::WindowPartition
            | Clause::WindowOrder
            | Clause::ValuesRow => {
                level.has_sets = true;
                level.last_set = Some(made);
                return Ok(());
            }
            Clause::FromFunction => {
                level.last_set = Some(made);
                return Ok(());
            }
            Clause::FrameRange | Clause::FrameRows | Clause::FrameGroups => "window definitions",
            Clause::JoinOn | Clause::JoinUsing => "JOIN conditions",
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
        let text = format!("set-returning functions are not allowed in {name}");
        Err(Error::new("0A000", text)).at(place)
    }

    /// Sets within arguments are refused where the caller says so: the last one, if there is a new one.
    fn new_set(&self, before: Option<ExprId>) -> Option<ExprId> {
        self.level_ref().last_set.filter(|last| Some(*last) != before)
    }

    fn window_call(
        &mut self,
        call: &ast::Call,
        over: &ast::Over,
        found: &Call,
        args: Vec<ExprId>,
        (filter, last_set): (Option<ExprId>, Option<ExprId>),
        place: Option<u32>,
    ) -> Result<ExprId> {
        let wrong = |text: String| Err(Error::new("0A000", text)).at(place);
        if call.distinct {
            return wrong("DISTINCT is not implemented for window functions".into());
        }
        if !call.order.is_empty() {
            return wrong("aggregate ORDER BY is not implemented for window functions".into());
        }
        if filter.is_some() && found.kind == ProcKind::Window {
            return wrong("FILTER is not implemented for non-aggregate window functions".into());
        }
        let named = call.args.iter().any(|arg| arg.name.is_some());
        let args: Vec<ExprId> =
            self.arguments(found, &args, named)?.into_iter().map(|arg| arg.1).collect();
        if let Some(inner) = self.new_set(last_set) {
            let text = "window function calls cannot contain set-returning function calls";
            return Err(Error::new("0A000", text).hint(LATERAL_HINT)).at(self.start_of(inner));
        }
        self.check_window_place(place, &args)?;
        let window = self.window_of(over)?;
        self.level().has_windows = true;
        let call = WindowCall {
            proc: found.proc,
            kind: found.kind,
            args,
            filter,
            window,
            star: call.star,
        };
        let expr = Expr::WindowCall(Box::new(call));
        Ok(self.out.add(expr, TypeRef::new(found.result), place))
    }

    fn check_window_place(&self, place: Option<u32>, args: &[ExprId]) -> Result<()> {
        if let Some(inner) = args.iter().find_map(|arg| self.window_in(*arg)) {
            let text = "window function calls cannot be nested";
            return Err(Error::new("42P20", text)).at(self.out.place(inner));
        }
        let level = self.levels.last().expect("a query is being bound");
        let place_of = match level.clause {
            Clause::Targets | Clause::OrderBy | Clause::DistinctOn => return Ok(()),
            Clause::WindowPartition
            | Clause::WindowOrder
            | Clause::FrameRows
            | Clause::FrameRange
            | Clause::FrameGroups => "window definitions",
            Clause::FromFunction => "functions in FROM",
            Clause::JoinOn | Clause::JoinUsing => "JOIN conditions",
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
        let text = format!("window functions are not allowed in {place_of}");
        Err(Error::new("42P20", text)).at(place)
    }

    /// No set may have come up in a construct since then.
    pub(super) fn no_sets_since(&self, before: Option<ExprId>, construct: &str) -> Result<()> {
        match self.new_set(before) {
            Some(id) => {
                let text = format!("set-returning functions are not allowed in {construct}");
                Err(Error::new("0A000", text).hint(LATERAL_HINT)).at(self.start_of(id))
            }
            None => Ok(()),
        }
    }
}

/// What may help where a set cannot stand.
pub(super) const LATERAL_HINT: &str =
    "You might be able to move the set-returning function into a LATERAL FROM item.";

fn is_plain(call: &ast::Call) -> bool {
    !call.star
        && !call.distinct
        && !call.within_group
        && call.order.is_empty()
        && call.filter.is_none()
        && call.over.is_none()
        && !call.variadic
}

/// The transition types of an aggregate that are declared by its arguments.
pub(super) fn types_of(binder: &Binder<'_>, ids: &[ExprId]) -> Vec<Oid> {
    ids.iter().map(|id| binder.out.ty(*id).oid).collect()
}
