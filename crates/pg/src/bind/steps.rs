//! Steps into a value: fields of rows, elements of containers.

use super::convert::{Collated, RowField};
use super::{At, Binder, unsupported};
use crate::ast::{self, Name, Step};
use crate::bound::{Entry, EntryKind, Expr, ExprId, Literal, Subscript, Target};
use crate::catalog::oids;
use crate::resolve::{self, Context};
use crate::{Error, Oid, Result, TypeRef};

/// jsonb
const JSONB: Oid = 3802;

impl Binder<'_> {
    /// An expression and the steps behind it; a star at the end is the caller's.
    pub(super) fn steps(
        &mut self,
        base: ast::ExprId,
        steps: &[Step],
        place: Option<u32>,
    ) -> Result<ExprId> {
        let value = self.expr(base)?;
        self.steps_of(value, steps, place)
    }

    pub(super) fn steps_of(
        &mut self,
        mut value: ExprId,
        steps: &[Step],
        place: Option<u32>,
    ) -> Result<ExprId> {
        let mut subscripts: Vec<&Step> = Vec::new();
        for step in steps {
            match step {
                Step::Index(_) | Step::Slice(..) => subscripts.push(step),
                Step::Star => {
                    let text = "row expansion via \"*\" is not supported here";
                    return Err(Error::new("0A000", text)).at(place);
                }
                Step::Field(name) => {
                    if !subscripts.is_empty() {
                        value = self.subscripted(value, &std::mem::take(&mut subscripts))?;
                    }
                    match self.field_or_function(value, name, place)? {
                        Some(found) => value = found,
                        None => return Err(self.no_field(value, name)).at(place),
                    }
                }
            }
        }
        match subscripts.is_empty() {
            true => Ok(value),
            false => self.subscripted(value, &subscripts),
        }
    }

    fn no_field(&self, value: ExprId, name: &str) -> Error {
        let ty = self.out.ty(value).oid;
        if let Expr::Var { entry, column: 0, up } = self.out.expr(value) {
            let level = &self.levels[self.levels.len() - 1 - *up as usize];
            let relation = &level.entries[entry - 1].name;
            return Error::new("42703", format!("column {relation}.{name} does not exist"));
        }
        let shown = self.catalog.shown(ty);
        if self.catalog.is_composite(ty) {
            let text = format!("column \"{name}\" not found in data type {shown}");
            return Error::new("42703", text);
        }
        if ty == oids::RECORD {
            let text = format!("could not identify column \"{name}\" in record data type");
            return Error::new("42703", text);
        }
        let text = format!(
            "column notation .{name} applied to type {shown}, which is not a composite type"
        );
        Error::new("42809", text)
    }

    /// `row.name`: a field, or a function of the row.
    pub(super) fn field_or_function(
        &mut self,
        row: ExprId,
        name: &Name,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        if let Some(found) = self.field(row, name, place)? {
            return Ok(Some(found));
        }
        self.function_of_row(row, name, place)
    }

    /// A field by its name.
    pub(super) fn field(
        &mut self,
        row: ExprId,
        name: &str,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        let ty = self.out.ty(row).oid;
        if ty != oids::RECORD && !self.catalog.is_composite(ty) {
            return Ok(None);
        }
        if let Expr::Var { entry, column: 0, up } = *self.out.expr(row) {
            // A column of an entry is that, not a field of its row.
            let level = self.levels.len() - 1 - up as usize;
            let items = &self.levels[level].items;
            let at = items.iter().position(|item| item.entry == entry && !item.merged);
            if let Some(at) = at {
                return self.column_of(up as usize, at, name, place);
            }
            let names = &self.levels[level].entries[entry - 1];
            let found = names.names.iter().position(|n| **n == *name);
            return Ok(found.map(|at| {
                let ty = names.types[at];
                self.out.add(Expr::Var { entry, column: at as i32 + 1, up }, ty, place)
            }));
        }
        let Some(fields) = self.fields_of(row) else {
            if ty == oids::RECORD {
                return match self.out.expr(row) {
                    Expr::Var { .. } => {
                        Err(Error::new("42809", "record type has not been registered"))
                    }
                    _ => Ok(None),
                };
            }
            return Err(unsupported("a field of this type"));
        };
        let found = fields.iter().position(|field| *field.name == *name && !name.is_empty());
        Ok(found.map(|at| self.add_field(row, at as i32 + 1, &fields[at], place)))
    }

    /// The fields of a record in a column: those of the query's target that it comes from.
    pub(super) fn fields_behind(
        &self,
        entry: &Entry,
        column: i32,
        up: usize,
    ) -> Option<Vec<RowField>> {
        let at = usize::try_from(column - 1).ok()?;
        match &entry.kind {
            EntryKind::Query(query) => self.fields_of_target(*query, at, up),
            EntryKind::Cte { name, up: own, own: false } => {
                let level = self.levels.len().checked_sub(1 + up + *own as usize)?;
                let known = self.levels[level].ctes.iter().find(|known| known.cte.name == *name)?;
                self.fields_of_target(known.cte.query, at, up + *own as usize)
            }
            EntryKind::Join { columns, .. } => match *self.out.expr(*columns.get(at)?) {
                Expr::Var { entry, column, up: 0 } => {
                    let level = self.levels.len().checked_sub(1 + up)?;
                    self.fields_behind(self.levels[level].entries.get(entry - 1)?, column, up)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The fields of a target of a query that was bound.
    fn fields_of_target(
        &self,
        query: crate::bound::QueryId,
        at: usize,
        up: usize,
    ) -> Option<Vec<RowField>> {
        let query = self.out.query(query);
        let target: &Target = query.output().iter().filter(|t| !t.hidden).nth(at)?;
        match *self.out.expr(target.value) {
            Expr::Row(ref fields, ref names) => Some(self.fields_of_values(fields, names)),
            Expr::Var { entry, column: 0, up: 0 } => {
                let entry = query.entries.get(entry - 1)?;
                let types = entry.types.iter().copied();
                let fields = entry.names.iter().cloned().zip(types).enumerate();
                let value = |at: usize| match &entry.kind {
                    EntryKind::Query(query) => {
                        let mut output = self.out.query(*query).output().iter();
                        output.find(|target| target.number == at + 1).map(|target| target.value)
                    }
                    _ => None,
                };
                let field = |(at, (name, ty))| {
                    let collated = value(at).map_or(Collated::ByType, Collated::Value);
                    RowField { name, ty, collated }
                };
                Some(fields.map(field).collect())
            }
            // What is behind a column of that query is found through its own WITH.
            Expr::Var { entry, column, up: 0 } => match &query.entries.get(entry - 1)?.kind {
                EntryKind::Cte { name, up: 0, .. } => {
                    let cte = query.ctes.iter().find(|cte| cte.name == *name)?;
                    self.fields_of_target(cte.query, usize::try_from(column - 1).ok()?, up)
                }
                EntryKind::Cte { up: own, .. } if *own as usize > 0 => {
                    let name = query.entries[entry - 1].name.clone();
                    let level = self.levels.len().checked_sub(up + *own as usize)?;
                    let of = &self.levels[level].ctes;
                    let known = of.iter().find(|known| known.cte.name == name)?;
                    let at = usize::try_from(column - 1).ok()?;
                    self.fields_of_target(known.cte.query, at, up)
                }
                _ => self.fields_behind(&query.entries[entry - 1], column, up),
            },
            _ => self.output_fields(target.value),
        }
    }

    /// Subscripts of a container.
    pub(super) fn subscripted(&mut self, value: ExprId, steps: &[&Step]) -> Result<ExprId> {
        let ty = self.out.ty(value);
        let (base, modifier) = self.catalog.base(ty.oid, ty.modifier);
        let container = match base {
            oids::OIDVECTOR => 1028,
            oids::INT2VECTOR => 1005,
            other => other,
        };
        let element = self.catalog.get_type(container).map_or(0, |t| t.element);
        if container != JSONB && (element == 0 || !self.is_subscripted(container)) {
            let shown = self.catalog.shown(container);
            let text =
                format!("cannot subscript type {shown} because it does not support subscripting");
            return Err(Error::new("42804", text)).at(self.start_of(value));
        }
        let is_slice = steps.iter().any(|step| matches!(step, Step::Slice(..)));
        if container == JSONB {
            return self.json_subscripts(value, steps, is_slice);
        }
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Index(at) => {
                    let at = self.subscript(*at)?;
                    if is_slice {
                        // Alone among ranges it is one from 1.
                        lower.push(Some(self.literal(Literal::Int(1), 23, None)));
                    }
                    upper.push(Some(at));
                }
                Step::Slice(from, to) => {
                    let from = from.map(|from| self.subscript(from)).transpose()?;
                    let to = to.map(|to| self.subscript(to)).transpose()?;
                    lower.push(from);
                    upper.push(to);
                }
                Step::Field(_) | Step::Star => {}
            }
        }
        if upper.len() > 6 {
            let text = format!(
                "number of array dimensions ({}) exceeds the maximum allowed (6)",
                upper.len()
            );
            return Err(Error::new("54000", text));
        }
        let ty = if is_slice { container } else { element };
        let subscript = Subscript {
            container: value,
            container_type: container,
            element,
            upper,
            lower,
            assigned: None,
        };
        let expr = Expr::Subscript(Box::new(subscript));
        Ok(self.out.add(expr, TypeRef { oid: ty, modifier }, self.out.place(value)))
    }

    /// Arrays, and the few types of fixed length that have elements.
    fn is_subscripted(&self, oid: Oid) -> bool {
        // name, point, box, lseg, line and their like have raw elements.
        const RAW: [Oid; 5] = [19, 600, 601, 603, 628];
        self.catalog.element(oid).is_some() || RAW.contains(&oid)
    }

    fn subscript(&mut self, at: ast::ExprId) -> Result<ExprId> {
        let value = self.expr(at)?;
        let int = TypeRef::new(23);
        let operand = self.operand(value);
        match resolve::convert(self.catalog, operand, int, Context::Assignment)? {
            Some(conversion) => self.converted(value, &conversion),
            None => {
                let error = Error::new("42804", "array subscript must have type integer");
                Err(error).at(self.start_of(value))
            }
        }
    }

    fn json_subscripts(
        &mut self,
        value: ExprId,
        steps: &[&Step],
        is_slice: bool,
    ) -> Result<ExprId> {
        if is_slice {
            let error = Error::new("42804", "jsonb subscript does not support slices");
            let bound = steps.iter().find_map(|step| match step {
                Step::Slice(from, to) => to.or(*from),
                _ => None,
            });
            return Err(error).at(bound.and_then(|bound| self.raw_start(bound)));
        }
        let mut upper = Vec::new();
        for step in steps {
            let Step::Index(at) = step else { continue };
            let at = self.expr(*at)?;
            let operand = self.operand(at);
            let can =
                |to| resolve::can_convert(self.catalog, operand.ty.oid, to, Context::Implicit);
            let target = match operand.ty.oid {
                oids::UNKNOWN => oids::TEXT,
                _ => match (can(23), can(oids::TEXT)) {
                    (true, false) => 23,
                    (false, true) => oids::TEXT,
                    (both, _) => {
                        let shown = self.catalog.shown(operand.ty.oid);
                        let text = format!("subscript type {shown} is not supported");
                        let hint = match both {
                            true => {
                                "jsonb subscript must be coercible to only one type, integer or text."
                            }
                            false => "jsonb subscript must be coercible to either integer or text.",
                        };
                        return Err(Error::new("42804", text).hint(hint)).at(self.start_of(at));
                    }
                },
            };
            let found =
                resolve::convert(self.catalog, operand, TypeRef::new(target), Context::Implicit)?;
            let conversion = found.expect("it was asked whether it can");
            upper.push(Some(self.converted(at, &conversion)?));
        }
        let place = self.out.place(value);
        let subscript = Subscript {
            container: value,
            container_type: JSONB,
            element: 0,
            upper,
            lower: Vec::new(),
            assigned: None,
        };
        Ok(self.out.add(Expr::Subscript(Box::new(subscript)), TypeRef::new(JSONB), place))
    }
}
