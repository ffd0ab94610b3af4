//! Functions in FROM, with the columns that they give.

use super::from::Made;
use super::level::Clause;
use super::{At, Binder};
use crate::ast::{self, Alias, ColumnDef, Expr as Raw, FunctionItem, Name};
use crate::bound::{Call, Entry, EntryKind, Expr, ExprId, Function, collation_named};
use crate::catalog::{Kind, oids};
use crate::{Error, Oid, Result, TypeRef};

/// What is written around calls in FROM.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) lateral: bool,
    pub(super) rows_from: bool,
    pub(super) ordinality: bool,
}

/// A call, its name, the definitions of its columns.
type Called<'a> = (ExprId, Name, &'a [ColumnDef]);

/// The columns that calls give together.
#[derive(Default)]
struct Columns {
    functions: Vec<Function>,
    names: Vec<Name>,
    types: Vec<TypeRef>,
    collations: Vec<Oid>,
}

/// What kind of rows a call gives.
enum Rows {
    Scalar,
    Columns(Vec<(Name, TypeRef)>),
    Open,
    Other,
}

impl Binder<'_> {
    pub(super) fn function_item(
        &mut self,
        form: Form,
        calls: &[FunctionItem],
        alias: Option<&Alias>,
        columns: &[ColumnDef],
    ) -> Result<Made> {
        let before = std::mem::replace(&mut self.level().lateral, true);
        let mut called: Vec<Called<'_>> = Vec::new();
        for item in calls {
            if item.columns.is_empty() && self.unnests_several(item.call) {
                let Raw::Call(call) = self.tree.expr(item.call) else { continue };
                for arg in &call.args {
                    let made = self.top_call(|b| {
                        let value = b.expr(arg.value)?;
                        b.system_call("unnest", vec![value], b.tree.place(item.call))
                    })?;
                    called.push((made, "unnest".into(), &[]));
                }
                continue;
            }
            let made = self.top_call(|b| b.expr(item.call))?;
            if let (Some(_), Some(first)) = (item.columns.first(), columns.first()) {
                let text = "multiple column definition lists are not allowed for the same function";
                return Err(Error::new("42601", text).at(first.place));
            }
            called.push((made, self.figured(item.call), &item.columns));
        }
        self.level().lateral = before;
        if let Some(first) = columns.first() {
            check_definitions(form, called.len()).at(Some(first.place))?;
            called[0].2 = columns;
        }
        let made: Vec<ExprId> = called.iter().map(|call| call.0).collect();
        self.derive_collations(&made)?;
        let lateral = form.lateral || made.iter().any(|call| self.has_vars(*call));
        let columns = self.function_columns(&called, alias)?;
        self.function_entry(form, columns, alias, lateral)
    }

    fn function_entry(
        &mut self,
        form: Form,
        columns: Columns,
        alias: Option<&Alias>,
        lateral: bool,
    ) -> Result<Made> {
        let Columns { functions, mut names, mut types, mut collations } = columns;
        if form.ordinality {
            names.push("ordinality".into());
            types.push(TypeRef::new(oids::INT8));
            collations.push(0);
        }
        if names.len() > 1600 {
            let text = "functions in FROM can return at most 1600 columns";
            return Err(Error::new("54011", text));
        }
        let first = functions.first().map_or(Name::from(""), |function| function.name.clone());
        let name = alias.map_or(first, |alias| alias.name.clone());
        let names = match alias {
            Some(alias) => self.named_by(alias, names)?,
            None => names,
        };
        let entry = Entry {
            kind: EntryKind::Functions { calls: functions, ordinality: form.ordinality },
            alias: alias.map(|alias| (alias.name.clone(), alias.columns.clone())),
            name,
            names,
            types,
            lateral,
            in_from: true,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        self.set_collations(number, collations);
        Ok(self.made(number))
    }

    /// A call that may give a set, but none within it.
    fn top_call(&mut self, bind: impl FnOnce(&mut Self) -> Result<ExprId>) -> Result<ExprId> {
        let last = self.level().last_set;
        let before = std::mem::replace(&mut self.level().clause, Clause::FromFunction);
        let made = bind(self);
        self.level().clause = before;
        let made = made?;
        match self.level().last_set {
            Some(inner) if Some(inner) != last && inner != made => {
                let text = "set-returning functions must appear at top level of FROM";
                Err(Error::new("0A000", text)).at(self.start_of(inner))
            }
            _ => Ok(made),
        }
    }

    /// `unnest(a, b)`, which is two calls.
    fn unnests_several(&self, id: ast::ExprId) -> bool {
        let Raw::Call(call) = self.tree.expr(id) else { return false };
        call.name.len() == 1
            && &*call.name[0] == "unnest"
            && call.args.len() > 1
            && !call.star
            && !call.distinct
            && !call.variadic
            && call.order.is_empty()
            && call.filter.is_none()
            && call.over.is_none()
    }

    fn function_columns(
        &mut self,
        called: &[Called<'_>],
        alias: Option<&Alias>,
    ) -> Result<Columns> {
        let mut all = Columns::default();
        for (call, name, definitions) in called {
            let rows = self.rows_of(*call);
            self.check_rows(&rows, *call, definitions)?;
            let mut defined = Vec::new();
            let mut collations = None;
            let columns = match rows {
                Rows::Columns(columns) => columns,
                Rows::Scalar => {
                    let own = self.result_name(*call);
                    let given = alias.filter(|_| called.len() == 1).map(|alias| &alias.name);
                    let name = own.as_ref().or(given).unwrap_or(name).clone();
                    collations = Some(vec![self.collation_of(*call)]);
                    vec![(name, self.out.ty(*call))]
                }
                Rows::Open => {
                    defined = self.definitions(definitions)?;
                    collations = Some(self.defined_collations(definitions, &defined)?);
                    defined.clone()
                }
                Rows::Other => {
                    let shown = self.catalog.shown(self.out.ty(*call).oid);
                    let text =
                        format!("function \"{name}\" in FROM has unsupported return type {shown}");
                    return Err(Error::new("42804", text)).at(self.start_of(*call));
                }
            };
            let of_types = || columns.iter().map(|of| self.catalog.collation(of.1.oid)).collect();
            all.collations.extend(collations.unwrap_or_else(of_types));
            all.functions.push(Function {
                name: name.clone(),
                call: *call,
                columns: columns.len(),
                defined,
            });
            for (name, ty) in columns {
                all.names.push(name);
                all.types.push(ty);
            }
        }
        Ok(all)
    }

    fn check_rows(&self, rows: &Rows, call: ExprId, definitions: &[ColumnDef]) -> Result<()> {
        let wrong = |text: &str, place| Err(Error::new("42601", text)).at(place);
        let Some(first) = definitions.first() else {
            return match rows {
                Rows::Open => wrong(
                    "a column definition list is required for functions returning \"record\"",
                    self.start_of(call),
                ),
                _ => Ok(()),
            };
        };
        let place = Some(first.place);
        match rows {
            Rows::Open => Ok(()),
            Rows::Columns(_) if self.out.ty(call).oid == oids::RECORD => wrong(
                "a column definition list is redundant for a function with OUT parameters",
                place,
            ),
            Rows::Columns(_) => wrong(
                "a column definition list is redundant for a function returning a named \
                 composite type",
                place,
            ),
            _ => wrong(
                "a column definition list is only allowed for functions returning \"record\"",
                place,
            ),
        }
    }

    fn definitions(&self, list: &[ColumnDef]) -> Result<Vec<(Name, TypeRef)>> {
        let mut made: Vec<(Name, TypeRef)> = Vec::new();
        for definition in list {
            if definition.ty.set {
                let text = format!("column \"{}\" cannot be declared SETOF", definition.name);
                return Err(Error::new("42P16", text).at(definition.place));
            }
            let ty = self.type_of(&definition.ty)?;
            made.push((definition.name.clone(), ty));
        }
        for (at, (name, ty)) in made.iter().enumerate() {
            if made[..at].iter().any(|(other, _)| other == name) {
                let text = format!("column name \"{name}\" specified more than once");
                return Err(Error::new("42701", text));
            }
            let pseudo =
                self.catalog.get_type(ty.oid).is_some_and(|found| found.kind == Kind::Pseudo);
            if pseudo && ty.oid != oids::RECORD && ty.oid != oids::RECORD_ARRAY {
                let shown = self.catalog.shown(ty.oid);
                let text = format!("column \"{name}\" has pseudo-type {shown}");
                return Err(Error::new("42P16", text));
            }
        }
        Ok(made)
    }

    /// The collations of columns that are defined: those of their types, unless others were written.
    fn defined_collations(
        &self,
        list: &[ColumnDef],
        defined: &[(Name, TypeRef)],
    ) -> Result<Vec<Oid>> {
        let one = |(column, (_, ty)): (&ColumnDef, &(Name, TypeRef))| {
            let own = self.catalog.collation(ty.oid);
            let Some((written, place)) = &column.collation else { return Ok(own) };
            let (name, place) = (written.last().expect("a name"), Some(*place));
            match collation_named(name) {
                None => {
                    let text = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                    Err(Error::new("42704", text)).at(place)
                }
                Some(_) if own == 0 => {
                    let shown = self.catalog.shown(ty.oid);
                    let text = format!("collations are not supported by type {shown}");
                    Err(Error::new("42804", text)).at(place)
                }
                Some(found) => Ok(found),
            }
        };
        list.iter().zip(defined).map(one).collect()
    }

    fn rows_of(&self, call: ExprId) -> Rows {
        if let Some(columns) = self.output_columns(call) {
            return Rows::Columns(columns);
        }
        let ty = self.out.ty(call).oid;
        if self.catalog.is_composite(ty)
            || matches!(self.out.expr(call), Expr::Row(..)) && ty == oids::RECORD
        {
            let fields =
                self.fields_of(call).map(|all| all.into_iter().map(|one| (one.name, one.ty)));
            return fields.map_or(Rows::Open, |all| Rows::Columns(all.collect()));
        }
        match self.catalog.get_type(ty).map(|found| found.kind) {
            // record; void and cstring are values like others.
            Some(Kind::Pseudo) => match ty {
                oids::RECORD => Rows::Open,
                2278 | 2275 => Rows::Scalar,
                _ => Rows::Other,
            },
            Some(_) => Rows::Scalar,
            None => Rows::Other,
        }
    }

    /// The columns that OUT parameters make, with their types for this call.
    pub(super) fn output_columns(&self, id: ExprId) -> Option<Vec<(Name, TypeRef)>> {
        let Expr::Call(Call { proc, args, .. }) = self.out.expr(id) else { return None };
        let proc = self.catalog.proc(*proc)?;
        if proc.result != oids::RECORD {
            return None;
        }
        let given: Vec<_> = args.iter().map(|arg| self.out.ty(arg.1).oid).collect();
        let outputs = crate::resolve::outputs(self.catalog, proc, &given)?;
        Some(outputs.into_iter().map(|(name, oid)| (name, TypeRef::new(oid))).collect())
    }

    /// The name of the one OUT parameter.
    fn result_name(&self, id: ExprId) -> Option<Name> {
        let Expr::Call(call) = self.out.expr(id) else { return None };
        crate::resolve::result_name(self.catalog.proc(call.proc)?)
    }
}

fn check_definitions(form: Form, calls: usize) -> Result<()> {
    let wrong = |text: &str, hint: &str| Err(Error::new("42601", text).hint(hint));
    match (calls, form.rows_from) {
        (1, _) if form.ordinality => wrong(
            "WITH ORDINALITY cannot be used with a column definition list",
            "Put the column definition list inside ROWS FROM().",
        ),
        (1, _) => Ok(()),
        (_, true) => wrong(
            "ROWS FROM() with multiple functions cannot have a column definition list",
            "Put a separate column definition list for each function inside ROWS FROM().",
        ),
        (_, false) => wrong(
            "UNNEST() with multiple arguments cannot have a column definition list",
            "Use separate UNNEST() calls inside ROWS FROM(), and attach a column definition list \
             to each one.",
        ),
    }
}
