//! From a statement's tree to what it means, as PostgreSQL 15 analyses it.
//!
//! Each query has a [`Level`]: the entries of its FROM, the names that are seen, the clause that is being bound. Names are
//! looked up from the innermost level outwards ([`names`]); operators, functions and casts are chosen by [`crate::resolve`];
//! what comes out is a [`Bound`] tree. The steps and their order are those of PostgreSQL's analysis, since the first
//! error wins: FROM, targets, WHERE, HAVING, ORDER BY, GROUP BY, DISTINCT, LIMIT, windows, then the checks that need
//! the whole query.
//!
//! Knows nothing of how a query is carried out, nor who may carry it out. Relations come from a [`Schema`]. Statements
//! that are too deep are `54001`. Thread safety: a binding belongs to one thread.

mod aggregates;
mod assign;
mod calls;
mod clauses;
mod collate;
mod constructs;
mod convert;
mod expr;
mod from;
mod functions;
mod grouped;
mod grouping;
mod hints;
mod joins;
mod level;
mod literals;
mod locks;
mod merge;
mod modify;
mod names;
mod orders;
mod places;
mod query;
mod recursion;
mod rows;
mod rules;
mod search;
mod sets;
mod steps;
mod strength;
mod subqueries;
mod targets;
mod types;
mod variables;
mod walk;
mod windows;
mod with;
mod xml;

pub(crate) use names::SYSTEM;

pub use locks::{check as check_lock, name as lock_name};
pub use rules::{policy_condition, rule_command, rule_condition, trigger_condition};
pub use variables::{Variable, Variables};

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{self, Name, Statement, Tree};
use crate::bound::{Bound, Entry, EntryKind, Expr, ExprId, Form, Part, Query, QueryId, Target};
use crate::catalog::Catalog;
use crate::resolve::{self, Context};
use crate::{Error, Oid, Result, TypeRef, worked};
use level::{Clause, Level};

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeRef,
    /// Its collation, or 0.
    pub collation: Oid,
    /// Whether it is there no more; its number is not given again.
    pub dropped: bool,
}

/// A table, a view, a composite type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its OID.
    pub oid: Oid,
    /// The type of its rows.
    pub row: Oid,
    /// Its name without a schema.
    pub name: Name,
    /// What kind it is (relkind).
    pub kind: u8,
    /// Its columns, in the order of their numbers.
    pub columns: Vec<Column>,
    /// The numbers of the primary key's columns, from 1; empty if it has none or one that is deferrable.
    pub key: Vec<i32>,
}

/// What a statement's names of relations stand for.
pub trait Schema {
    /// A relation by its name, with a schema and a database where they were written.
    ///
    /// # Errors
    /// The schema is not there, or the role may not look into it.
    fn relation(&self, name: &[Name]) -> Result<Option<Arc<Relation>>>;

    /// The type of the rows of a relation, by the name that a type is asked for with; it is in the catalog then.
    ///
    /// # Errors
    /// As [`Schema::relation`].
    fn row_type(&self, name: &[Name]) -> Result<Option<Oid>> {
        let _ = name;
        Ok(None)
    }

    /// The columns of a composite type, by the type's OID.
    fn composite(&self, row: Oid) -> Option<Arc<Relation>>;

    /// A table's constraint by its name.
    fn constraint(&self, relation: Oid, name: &str) -> Option<Oid>;

    /// Whether there is a schema of this name.
    fn is_schema(&self, name: &str) -> bool;

    /// The schema that a name means, where that is one of the session's own.
    fn meant(&self, schema: &Name) -> Name {
        schema.clone()
    }

    /// Lets the catalog have a type that is known by its OID: that of a relation's rows.
    ///
    /// # Errors
    /// The relation cannot be read.
    fn name_type(&self, oid: Oid) -> Result<()> {
        let _ = oid;
        Ok(())
    }

    /// Lets the catalog have the type of a relation's rows that a function takes: nothing is read of the relation.
    ///
    /// # Errors
    /// As [`Schema::name_type`].
    fn name_taken(&self, oid: Oid) -> Result<()> {
        self.name_type(oid)
    }

    /// Whether this is the name of the database.
    fn is_database(&self, name: &str) -> bool;
}

/// A database without relations.
pub struct NoRelations;

impl Schema for NoRelations {
    fn relation(&self, _: &[Name]) -> Result<Option<Arc<Relation>>> {
        Ok(None)
    }
    fn composite(&self, _: Oid) -> Option<Arc<Relation>> {
        None
    }
    fn constraint(&self, _: Oid, _: &str) -> Option<Oid> {
        None
    }
    fn is_schema(&self, _: &str) -> bool {
        false
    }
    fn is_database(&self, _: &str) -> bool {
        false
    }
}

/// Binds a query, or a statement that changes rows.
///
/// `parameters` are the types that a client gave, 0 where it left one open.
///
/// # Errors
/// PostgreSQL's, with their places; `0A000` for what is not bound yet.
pub fn bind(
    tree: &Tree,
    statement: &Statement,
    schema: &dyn Schema,
    catalog: &Catalog,
    parameters: &[Oid],
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::new(tree, schema, catalog, parameters);
    let query = binder.statement(statement)?;
    binder.check_parameters(query)?;
    Ok((binder.out.end(), query))
}

/// Binds a statement within a routine, whose variables it sees. What they are becomes parameters of it.
///
/// # Errors
/// As of [`bind()`].
pub fn bind_within(
    tree: &Tree,
    statement: &Statement,
    schema: &dyn Schema,
    catalog: &Catalog,
    parameters: &[Oid],
    variables: &dyn Variables,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::new(tree, schema, catalog, parameters);
    binder.variables = Some(variables);
    let query = binder.statement(statement)?;
    binder.check_parameters(query)?;
    Ok((binder.out.end(), query))
}

/// The conversion of a value that is assigned to a variable: the only target of a query, over the column of an entry without
/// rows. Where types do not convert by assignment, their texts do.
///
/// # Errors
/// As [`bind()`].
pub fn assignment(
    from: TypeRef,
    to: TypeRef,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId)> {
    let tree = Tree::default();
    let mut binder = Binder::new(&tree, schema, catalog, &[]);
    binder.levels.push(Level::default());
    let var = Expr::Var { entry: 1, column: 1, up: 0 };
    let mut value = binder.out.add(var, from, None);
    let operand = binder.operand(value);
    let conversion = match resolve::convert(catalog, operand, to, Context::Assignment)? {
        Some(conversion) => conversion,
        None => {
            // A domain is asked of what the text means to the type below: of NULL, too.
            let below = TypeRef::new(catalog.base_type(to.oid));
            value = binder.out.add(Expr::ViaText(value), below, None);
            let operand = binder.operand(value);
            let to_itself = resolve::convert(catalog, operand, to, Context::Assignment)?;
            to_itself.ok_or_else(|| resolve::cast_error(catalog, from.oid, to.oid))?
        }
    };
    let made = binder.converted(value, &conversion)?;
    let entry = Entry {
        kind: EntryKind::Values(Vec::new()),
        alias: None,
        name: "".into(),
        names: vec!["value".into()],
        types: vec![from],
        lateral: false,
        in_from: false,
        guards: Vec::new(),
    };
    binder.alone(made, vec![entry])
}

/// Binds a query to be printed: the tree says how it was written, too, and SEARCH and CYCLE stay clauses. `column` is the
/// type of the column that its one value is assigned to, if that is what it is for.
///
/// # Errors
/// As of [`bind`].
pub fn bind_to_print(
    tree: &Tree,
    statement: &Statement,
    schema: &dyn Schema,
    catalog: &Catalog,
    column: Option<TypeRef>,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::new(tree, schema, catalog, &[]);
    binder.out.keep_written();
    let query = binder.statement(statement)?;
    if let (Some(column), [target]) = (column, &binder.out.query(query).targets[..]) {
        let value = target.value;
        let operand = binder.operand(value);
        if let Some(found) = resolve::convert(catalog, operand, column, Context::Assignment)? {
            let made = binder.converted(value, &found)?;
            binder.out.query_mut(query).targets[0].value = made;
        }
    }
    Ok((binder.out.end(), query))
}

/// The type that a name in a definition means, with its modifier.
///
/// # Errors
/// `42704`: there is none; a modifier that is none of the type's.
pub fn type_named(
    tree: &Tree,
    name: &ast::TypeName,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<TypeRef> {
    Binder::new(tree, schema, catalog, &[]).type_of(name)
}

/// A domain's condition: it is about the column of a query without rows, which is its only target.
///
/// # Errors
/// As [`bind()`]; `42804`: it is no condition.
pub fn check(
    tree: &Tree,
    condition: ast::ExprId,
    value: TypeRef,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::new(tree, schema, catalog, &[]);
    binder.value = Some(value);
    binder.levels.push(Level::default());
    let made = binder.expr_in(condition, Clause::Check)?;
    let made = binder.boolean(made, "CHECK")?;
    let entry = Entry {
        kind: EntryKind::Values(Vec::new()),
        alias: None,
        name: "".into(),
        names: vec!["value".into()],
        types: vec![value],
        lateral: false,
        in_from: false,
        guards: Vec::new(),
    };
    binder.alone(made, vec![entry])
}

/// A condition on each row of a table: the only target of a query about them. The tree says how it was written, too.
///
/// # Errors
/// As [`bind()`]; what may not stand in a CHECK; `42804`: it is no condition.
pub fn of_table(
    tree: &Tree,
    condition: ast::ExprId,
    relation: &Relation,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::over(tree, relation, schema, catalog)?;
    let made = binder.expr_in(condition, Clause::Check)?;
    let made = binder.boolean(made, "CHECK")?;
    let entries = std::mem::take(&mut binder.level().entries);
    binder.alone(made, entries)
}

/// An expression of an index, or its condition where `filter` is set: the only target of a query about the rows of a table.
/// The tree says how it was written, too.
///
/// # Errors
/// As [`bind()`]; what may not stand in an index; `42804`: the condition is none.
pub fn of_index(
    tree: &Tree,
    expr: ast::ExprId,
    filter: bool,
    relation: &Relation,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::over(tree, relation, schema, catalog)?;
    let made = match filter {
        true => {
            let made = binder.expr_in(expr, Clause::IndexFilter)?;
            binder.boolean(made, "WHERE")?
        }
        false => binder.expr_in(expr, Clause::IndexExpression)?,
    };
    let entries = std::mem::take(&mut binder.level().entries);
    binder.alone(made, entries)
}

/// The condition of COPY FROM: the only target of a query about the rows of a table, and an expression for itself.
///
/// # Errors
/// As [`bind()`]; what may not stand there; `42804`: it is no condition.
pub fn copy_condition(
    tree: &Tree,
    condition: ast::ExprId,
    relation: &Relation,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId, ExprId)> {
    let mut binder = Binder::over(tree, relation, schema, catalog)?;
    let value = binder.condition(Some(condition), Clause::CopyWhere, "WHERE")?;
    let value = value.expect("it is there");
    let entries = std::mem::take(&mut binder.level().entries);
    let (bound, query) = binder.alone(value, entries)?;
    Ok((bound, query, value))
}

/// The expression of a generated column of a type: the only target of a query about the rows of a table. With no type it is
/// as it was written.
///
/// # Errors
/// As [`bind()`]; what may not stand there; `42804`: it is of another type.
pub fn of_column(
    tree: &Tree,
    expr: ast::ExprId,
    wanted: Option<(&str, TypeRef)>,
    relation: &Relation,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::over(tree, relation, schema, catalog)?;
    let mut made = binder.expr_in(expr, Clause::Generation)?;
    if let Some((name, ty)) = wanted {
        made = binder.column_default(made, name, ty)?;
    }
    let entries = std::mem::take(&mut binder.level().entries);
    binder.alone(made, entries)
}

/// What a column's values become where it gets another type, by what USING says or by itself: the only target of a query about
/// the rows of a table; `None` where there is no assignment from the one type to the other. Of a domain it is the type below.
///
/// # Errors
/// As [`bind()`]; what may not stand there.
pub fn of_transform(
    tree: &Tree,
    using: Option<ast::ExprId>,
    (column, to): (usize, TypeRef),
    relation: &Relation,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<Option<(Bound, QueryId)>> {
    let mut binder = Binder::over(tree, relation, schema, catalog)?;
    let of = &relation.columns[column];
    let value = match using {
        Some(expr) => binder.expr_in(expr, Clause::Transform)?,
        None => {
            let number = i32::try_from(column).unwrap_or(i32::MAX - 1) + 1;
            let value = binder.out.add(Expr::Var { entry: 1, column: number, up: 0 }, of.ty, None);
            binder.out.set_collation(value, of.collation);
            value
        }
    };
    let (oid, modifier) = catalog.base(to.oid, to.modifier);
    let operand = binder.operand(value);
    let conversion =
        resolve::convert(catalog, operand, TypeRef { oid, modifier }, Context::Assignment)?;
    let Some(conversion) = conversion else { return Ok(None) };
    let made = binder.converted(value, &conversion)?;
    let entries = std::mem::take(&mut binder.level().entries);
    binder.alone(made, entries).map(Some)
}

/// Whether a column of this name is one that every table has without saying so.
pub fn is_system_column(name: &str) -> bool {
    names::system_number(name).is_some()
}

/// The name of a system column.
pub fn system_column(number: i32) -> Option<&'static str> {
    names::SYSTEM.iter().find(|column| column.1 == number).map(|column| column.0)
}

/// The name that an index's column gets from its expression, if it gets one.
pub fn name_of(
    tree: &Tree,
    expr: ast::ExprId,
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Option<Name> {
    Binder::new(tree, schema, catalog, &[]).figured_name(expr).map(|(name, _)| name)
}

/// The default of a domain, as a value of what it is over: the only target of a query without FROM.
///
/// # Errors
/// As [`bind()`]; `42804`: it is of another type.
pub fn default(
    tree: &Tree,
    default: ast::ExprId,
    (name, wanted): (&str, TypeRef),
    schema: &dyn Schema,
    catalog: &Catalog,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::new(tree, schema, catalog, &[]);
    binder.levels.push(Level::default());
    let made = binder.expr_in(default, Clause::Default)?;
    let made = binder.column_default(made, name, wanted)?;
    binder.alone(made, Vec::new())
}

/// What a query is told by what it stands in.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    /// Literals whose type is open stay so: UNION decides.
    keeps_unknown: bool,
    /// The recursive query of the level around it that this is.
    cte: Option<usize>,
}

struct Binder<'a> {
    tree: &'a Tree,
    catalog: &'a Catalog,
    schema: &'a dyn Schema,
    out: Bound,
    /// Queries that are being bound, the outermost first.
    levels: Vec<Level>,
    /// What queries in expressions were bound to.
    queries: HashMap<ast::ExprId, QueryId>,
    /// Arguments of aggregates before they were converted.
    casts: HashMap<ExprId, ExprId>,
    /// Where the cast is written that is being bound.
    cast_at: Option<u32>,
    /// How the conversion that is made came to be.
    form: Form,
    /// The type of VALUE in a domain's condition.
    value: Option<TypeRef>,
    /// Levels around the statement: that of OLD and NEW.
    around: usize,
    /// Variables of the routine around.
    variables: Option<&'a dyn Variables>,
    depth: u32,
}

/// Rules within each other.
const MAX_DEPTH: u32 = 10_000;
/// A rule begins with so much stack left, or on a piece of its own.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;
/// Work for a node of a statement, in the units of [`worked`]: some ten microseconds.
const NODE_WORK: usize = 1 << 10;

impl<'a> Binder<'a> {
    fn new(
        tree: &'a Tree,
        schema: &'a dyn Schema,
        catalog: &'a Catalog,
        parameters: &[Oid],
    ) -> Binder<'a> {
        Binder {
            tree,
            catalog,
            schema,
            out: Bound::new(parameters),
            levels: Vec::new(),
            queries: HashMap::new(),
            casts: HashMap::new(),
            cast_at: None,
            form: Form::Implicit,
            value: None,
            around: 0,
            variables: None,
            depth: 0,
        }
    }

    /// For an expression about the rows of one table. The tree says how it was written, too.
    fn over(
        tree: &'a Tree,
        relation: &Relation,
        schema: &'a dyn Schema,
        catalog: &'a Catalog,
    ) -> Result<Binder<'a>> {
        let mut binder = Binder::new(tree, schema, catalog, &[]);
        binder.out.keep_written();
        binder.levels.push(Level::default());
        let name = std::iter::once(relation.name.clone()).collect();
        let named = ast::Relation { name, only: false, alias: None, place: 0 };
        let entry = binder.relation_entry(relation, &named, false)?;
        binder.see(entry);
        Ok(binder)
    }

    /// Runs a rule within the one that runs.
    ///
    /// # Errors
    /// `54001`.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new("54001", "stack depth limit exceeded"));
        }
        worked(NODE_WORK)?;
        self.depth += 1;
        let made = stacker::maybe_grow(RED_ZONE, MORE_STACK, || rule(self));
        self.depth -= 1;
        made
    }

    /// A query whose only target is an expression.
    fn alone(mut self, value: ExprId, entries: Vec<Entry>) -> Result<(Bound, QueryId)> {
        self.collate_over(value, &entries)?;
        let target = Target { value, number: 1, name: None, reference: 0, hidden: false };
        let query = Query { entries, targets: vec![target], ..Query::default() };
        let query = self.out.add_query(query);
        Ok((self.out.end(), query))
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("a query is being bound")
    }

    fn level_ref(&self) -> &Level {
        self.levels.last().expect("a query is being bound")
    }

    /// Every parameter must have a type in the end, and the same wherever it stands.
    fn check_parameters(&mut self, query: QueryId) -> Result<()> {
        let mut open = None;
        self.visit_part(Part::Query(query), 0, &mut |id, _| {
            if let Expr::Param(number) = *self.out.expr(id)
                && open.is_none()
                && self.out.parameters[number as usize - 1] != self.out.ty(id).oid
            {
                open = Some((number, id));
            }
            true
        });
        let text = |number| format!("could not determine data type of parameter ${number}");
        if let Some((number, id)) = open {
            return Err(Error::new("42P08", text(number))).at(self.out.place(id));
        }
        let unknown = |oid: &Oid| *oid == 0 || *oid == crate::catalog::oids::UNKNOWN;
        match self.out.parameters.iter().position(unknown) {
            Some(at) => Err(Error::new("42P18", text(at as i32 + 1))),
            None => Ok(()),
        }
    }
}

/// What is not bound yet.
fn unsupported(what: &str) -> Error {
    Error::unserved(format!("{what} is not supported"))
}

/// An error at a place, unless it has one.
trait At<T> {
    fn at(self, place: Option<u32>) -> Result<T>;
}

impl<T> At<T> for Result<T> {
    fn at(self, place: Option<u32>) -> Result<T> {
        self.map_err(|e| match (e.position, place) {
            (None, Some(place)) => Error::at(e, place),
            _ => e,
        })
    }
}
