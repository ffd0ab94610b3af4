//! What of its database does an expression name that is kept with a table?
//!
//! Enums, domains, and functions in SQL that are one expression: the program carries them (`crate::formulas::carried`). Whatever
//! else a database made is refused. Functions are carried as they are when the expression is kept; so they may not be changed as
//! long as it is there. Thread safety: pure, except for the statement's view.

use std::sync::Arc;

use onlap_pg::ast::Name;
use onlap_pg::bind::{self, Relation};
use onlap_pg::bound::{Bound, Call, Expr, ExprId, Literal, QueryId};
use onlap_pg::catalog::{Catalog, Volatility, oids};
use onlap_pg::print::Look;
use onlap_pg::{Oid, TypeRef, grammar};

use super::change::anew;
use super::index_parts::{failed, is_immutable, is_passing};
use crate::catalog::Kind;
use crate::catalog::functions::{Function, Parameter};
use crate::error::{Result, SqlError};
use crate::formulas::carried::{
    Carried, CarriedFunction, CarriedType, is_made, of_base, parameter,
};
use crate::formulas::{self, Named};
use crate::query::{Names, domains::only_target, needs};
use crate::rights::{Action, Need};
use crate::routine::{is_plain, is_polymorphic};
use crate::types::PgType;
use crate::view::View;
use crate::{deep, parse};

mod stay;

pub use stay::{domain_must_stay, must_keep_name, must_stay};

/// Functions that call one another in the expression of one.
const MAX_DEPTH: usize = 32;

/// Finds out what an expression names.
pub struct Carrier<'a> {
    view: &'a View,
    names: &'a Names<'a>,
    catalog: &'a Catalog,
    /// What the expression is, in messages.
    what: &'static str,
    found: Carried,
}

/// An expression as it is kept, with what it names.
pub struct Kept {
    /// Its text.
    pub sql: String,
    /// What it names.
    pub carried: Carried,
}

impl<'a> Carrier<'a> {
    /// For an expression that was bound with these types and functions.
    pub fn new(names: &'a Names<'a>, catalog: &'a Catalog, what: &'static str) -> Carrier<'a> {
        let found = Carried::default();
        Carrier { view: names.view(), names, catalog, what, found }
    }

    /// The only target of a query, with what it names. `asked` are columns of which it is only asked whether a value is there.
    ///
    /// # Errors
    /// `0A000`: it names what cannot be kept; `42P17`: a function that may give something else each time; `42501`: one in a
    /// schema that the role may not look in; what stands for a domain breaks its conditions.
    pub fn keep(
        mut self,
        (bound, query): (&Bound, QueryId),
        asked: &[ExprId],
        (table, columns): (&str, Vec<Option<Name>>),
        mutable: &dyn Fn() -> SqlError,
    ) -> Result<Kept> {
        // A text that a table passes on has no names to look up.
        if std::ptr::eq(self.catalog, self.names.catalog()) {
            needs::must_reach(self.view, bound, query)?;
        }
        let root = bound.query(query).targets[0].value;
        self.add(bound, root, (asked, 0), mutable)?;
        let sql = self.printed((bound, query), self.catalog, (table, columns))?;
        self.found.keep_named(&sql);
        Ok(Kept { sql, carried: self.found })
    }

    /// Has a type carried, too: that of the column that the expression fills.
    ///
    /// # Errors
    /// As of [`Carrier::keep`].
    pub fn with_type(mut self, oid: Oid) -> Result<Carrier<'a>> {
        self.add_type(oid)?;
        Ok(self)
    }

    /// What was found.
    pub fn into_carried(self) -> Carried {
        self.found
    }

    fn printed(
        &self,
        bound: (&Bound, QueryId),
        by: &Catalog,
        (table, columns): (&str, Vec<Option<Name>>),
    ) -> Result<String> {
        let own = self.found.catalog();
        let reader = self.names.reader();
        let named = Named {
            table: table.into(),
            columns,
            reader: Some(&reader),
            shows: None,
            moved: Some((by, &own)),
        };
        formulas::printed(bound, &own, &named, Look::PLAIN).map_err(failed)
    }

    fn refused(&self, what: &str) -> SqlError {
        SqlError::unsupported(format!("{what} in {}", self.what))
    }

    fn add(
        &mut self,
        bound: &Bound,
        root: ExprId,
        (asked, depth): (&[ExprId], usize),
        mutable: &dyn Fn() -> SqlError,
    ) -> Result<()> {
        let mut all = Vec::new();
        bound.visit(root, 0, &mut |id, _| {
            all.push(id);
            true
        });
        for id in all.into_iter().filter(|id| !asked.contains(id)) {
            self.add_type(bound.ty(id).oid)?;
            match bound.expr(id) {
                Expr::Domain(one) => self.keep_to(bound, *one, bound.ty(id).oid)?,
                Expr::Literal(Literal::Text(text)) => self.keep_text(bound.ty(id).oid, text)?,
                Expr::Call(call) => {
                    let proc = self.catalog.proc(call.proc);
                    if let Some(proc) = proc.filter(|proc| proc.made.is_some()) {
                        let is_fixed = proc.volatility == Volatility::Immutable;
                        self.add_function(call, (is_fixed, depth), mutable)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_type(&mut self, oid: Oid) -> Result<()> {
        if !is_made(oid) || self.found.has_type(oid) {
            return Ok(());
        }
        let Some(made) = self.view.objects.made_types().get(oid) else {
            return Err(self.refused("the type of a relation's rows"));
        };
        self.hold(Kind::Type, &made.name.engine(&made.database))?;
        if let Some(domain) = made.domain() {
            self.add_type(domain.base.oid)?;
        }
        let ty = CarriedType::of(made).ok_or_else(|| self.refused("a composite type"))?;
        self.found.types.push(ty);
        Ok(())
    }

    /// What becomes a value of a domain must be one for ever, since nothing asks for the conditions later.
    fn keep_to(&self, bound: &Bound, one: ExprId, oid: Oid) -> Result<()> {
        let types = self.view.objects.made_types();
        let domains = std::iter::successors(types.domain(oid), |of| types.domain(of.base.oid));
        if domains.into_iter().all(|domain| domain.checks.is_empty() && !domain.not_null) {
            return Ok(());
        }
        let text = match bound.expr(one) {
            Expr::Literal(Literal::Text(text) | Literal::Numeric(text)) => text.to_string(),
            Expr::Literal(Literal::Int(value)) => value.to_string(),
            Expr::Literal(Literal::Int8(value)) => value.to_string(),
            _ => return Err(self.refused("a value that becomes one of a domain with conditions")),
        };
        self.names.reader().fixed_text(PgType::new(oid), &text).map(drop)
    }

    /// A text of a domain, or of its arrays, is to meet the conditions.
    fn keep_text(&self, oid: Oid, text: &str) -> Result<()> {
        let made = self.view.objects.made_types().get(oid);
        match made.is_some_and(|made| made.domain().is_some()) {
            true => self.names.reader().fixed_text(PgType::new(oid), text).map(drop),
            false => Ok(()),
        }
    }

    /// Keeps others from changing a function or a domain until the end of this transaction.
    fn hold(&self, kind: Kind, key: &str) -> Result<()> {
        self.view.scope.tx()?.share_name(key)?;
        match self.view.newest_objects().get(kind, key) == self.view.objects.get(kind, key) {
            true => Ok(()),
            false => Err(anew(self.view)),
        }
    }

    /// `is_fixed`: it is marked IMMUTABLE.
    fn add_function(
        &mut self,
        call: &Call,
        (is_fixed, depth): (bool, usize),
        mutable: &dyn Fn() -> SqlError,
    ) -> Result<()> {
        if self.found.functions.iter().any(|of| of.oid == call.proc) {
            return Ok(());
        }
        let functions = self.view.objects.functions();
        let Some(function) = functions.by_oid(call.proc).map(Arc::clone) else {
            return Err(self.refused("a function of the database"));
        };
        let call_it = Need::new(
            Action::Call,
            function.class(),
            function.rights(),
            function.name.name.as_str(),
        );
        self.view.must(&[call_it])?;
        self.hold(Kind::Function, &function.key())?;
        let is_called_plainly = call.args.len() == function.parameters.len()
            && call.args.iter().all(|(place, _)| place.is_none())
            && !call.variadic;
        if function.language != "sql" {
            // One that is not in SQL is never looked into.
            return Err(match is_fixed {
                true => self.refused("a function of the database that is not in SQL"),
                false => mutable(),
            });
        }
        if !is_simple(&function) || !is_called_plainly || depth >= MAX_DEPTH {
            return Err(match is_fixed {
                true => self.refused("a function of the database that is more than one expression"),
                false => mutable(),
            });
        }
        // What is not said to be immutable is so by what it is, as long as NULL does not go around it.
        if !is_fixed && function.strict {
            return Err(mutable());
        }
        let refused = || match is_fixed {
            true => self.refused("a function of the database that does not always give the same"),
            false => mutable(),
        };
        let refused = refused();
        let sql = self.body(&function, depth, &refused)?;
        self.found.functions.push(CarriedFunction {
            oid: function.oid,
            arguments: function.arguments(),
            result: function.result,
            strict: function.strict,
            sql,
        });
        Ok(())
    }

    /// The expression that a function is.
    fn body(&mut self, function: &Function, depth: usize, mutable: &SqlError) -> Result<String> {
        let more = || match function.volatility {
            'i' => self.refused("a function of the database that is more than one expression"),
            _ => mutable.clone(),
        };
        let all = parse::statements(&function.source).map_err(SqlError::nowhere)?;
        let [parsed] = &all[..] else { return Err(more()) };
        if !is_plain(parsed) {
            return Err(more());
        }
        parsed.depth.check()?;
        deep::run(parsed.depth, || self.expression(function, &parsed.text, (depth, mutable)))
    }

    fn expression(
        &mut self,
        function: &Function,
        text: &str,
        (depth, mutable): (usize, &SqlError),
    ) -> Result<String> {
        let mut tree = grammar::parse(text).map_err(failed)?;
        let value = only_target(&tree).expect("it was looked at");
        let catalog = self.names.catalog();
        let names: Vec<String> = function.parameters.iter().enumerate().map(called).collect();
        tree.call_parameters(&|number| {
            let at = usize::try_from(number).ok()?.checked_sub(1)?;
            names.get(at).map(|name| name.as_str().into())
        });
        let column = |(name, of): (&String, &Parameter)| bind::Column {
            name: name.as_str().into(),
            ty: of_base(catalog, of.ty),
            collation: catalog.collation(of.ty),
            dropped: false,
        };
        let relation = Relation {
            oid: 1,
            row: oids::RECORD,
            name: function.name.name.as_str().into(),
            kind: b'r',
            columns: names.iter().zip(&function.parameters).map(column).collect(),
            key: Vec::new(),
        };
        let wanted = Some(("result", TypeRef::new(function.result)));
        let made = bind::of_column(&tree, value, wanted, &relation, self.names, catalog);
        // Aggregates and their like are no part of an expression of one row.
        let (bound, query) = made.map_err(|_| {
            self.refused("a function of the database that is more than one expression")
        })?;
        needs::must_reach(self.view, &bound, query)?;
        let root = bound.query(query).targets[0].value;
        let mut is_fixed = true;
        bound.visit(root, 0, &mut |id, _| {
            let of = bound.ty(id);
            is_fixed &= match bound.expr(id) {
                Expr::Literal(literal) => !is_passing(of, literal),
                Expr::Var { column, .. } => *column > 0,
                Expr::Param(_) => false,
                expr => is_immutable(catalog, &bound, expr, of),
            };
            is_fixed
        });
        if !is_fixed {
            return Err(mutable.clone());
        }
        self.add(&bound, root, (&[], depth + 1), &|| mutable.clone())?;
        for of in &function.parameters {
            self.add_type(of.ty)?;
        }
        self.add_type(function.result)?;
        let written = bind::of_column(&tree, value, None, &relation, self.names, catalog);
        let (written, query) = written.map_err(failed)?;
        let columns = (0..names.len()).map(|at| Some(parameter(at).as_str().into())).collect();
        self.printed((&written, query), catalog, ("", columns))
    }
}

/// What a parameter is called in the function's text; by its number where it has no name.
fn called((at, of): (usize, &Parameter)) -> String {
    if of.name.is_empty() { parameter(at) } else { of.name.clone() }
}

/// Whether a function takes and gives values alone, and runs as who calls it.
fn is_simple(function: &Function) -> bool {
    !function.procedure
        && !function.set
        && !function.definer
        && function.settings.is_empty()
        && function.result != crate::routine::VOID
        && !is_polymorphic(function.result)
        && function.parameters.iter().all(|of| of.mode == b'i' && !is_polymorphic(of.ty))
}
