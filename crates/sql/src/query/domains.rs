//! Do values keep to the conditions of a domain?
//!
//! The conditions are texts of the catalog. They are bound when a statement first asks, with the types below domains for
//! VALUE, and made into the nodes that calculate all expressions. Those of a domain below come before those of a domain above,
//! and those of one domain in the order of their names; NOT NULL comes first. Thread safety: what was made is read only.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use datafusion_execution::memory_pool::MemoryPool;
use onlap_pg::ast::{Body, ExprId, Statement, Tree};
use onlap_pg::catalog::Catalog;
use onlap_pg::grammar::{Keyword, Kind as Token, Tokens};
use onlap_pg::{About, Error, Oid, Result, TypeRef, bind, grammar};
use onlap_query::{Condition, Env};
use parking_lot::Mutex;

use super::schema::Names;
use super::session::{Asked, settings};
use crate::catalog::made_types::{Check, Made};
use crate::view::View;

/// The domains that a statement asked for.
#[derive(Default)]
pub struct Domains {
    known: Mutex<HashMap<Oid, Arc<Judge>>>,
    /// How many conditions ask each other: those of a domain may have casts to it.
    depth: usize,
}

/// More conditions than this do not ask each other.
const MAX_DEPTH: usize = 16;

/// The conditions of a domain and of those below it.
struct Judge {
    /// Its name for messages, and what programs learn of it.
    shown: String,
    about: About,
    not_null: bool,
    checks: Vec<(String, Condition)>,
    env: Arc<Env>,
    asked: Arc<Asked>,
}

impl Domains {
    /// Asked by a condition.
    pub fn within(depth: usize) -> Domains {
        Domains { depth, ..Domains::default() }
    }

    /// Asks whether all values of a column keep to a domain.
    ///
    /// # Errors
    /// `23502`, `23514`; those of the conditions.
    pub fn keep_to(
        &self,
        view: &View,
        pool: Option<&Arc<dyn MemoryPool>>,
        domain: Oid,
        values: &ArrayRef,
    ) -> Result<()> {
        let known = self.known.lock().get(&domain).cloned();
        let judge = match known {
            Some(judge) => judge,
            None => {
                if self.depth >= MAX_DEPTH {
                    return Err(Error::new("54001", "stack depth limit exceeded"));
                }
                let made = Arc::new(Judge::new(view, domain, self.depth + 1)?);
                self.known.lock().insert(domain, Arc::clone(&made));
                made
            }
        };
        if let Some(pool) = pool {
            judge.asked.begin(pool);
        }
        judge.judge(values)
    }
}

/// A domain with those below it, the lowest first.
fn line(view: &View, domain: Oid) -> Vec<&Made> {
    let types = view.objects.made_types();
    let above = |made: &&Made| {
        let base = made.domain()?.base.oid;
        types.get(base).filter(|below| below.oid == base && below.domain().is_some())
    };
    let first = types.get(domain).filter(|made| made.domain().is_some());
    let mut line: Vec<&Made> = std::iter::successors(first, above).collect();
    line.reverse();
    line
}

/// The expression of a text that is kept, in a tree of its own.
pub fn expression(sql: &str) -> Result<(Tree, ExprId)> {
    let none = || Error::new("XX001", format!("a text of the catalog is no expression: {sql}"));
    let tree = grammar::parse(&format!("SELECT {sql}"))?;
    let value = only_target(&tree).ok_or_else(none)?;
    Ok((tree, value))
}

/// What the only SELECT of a text gives, where that is one expression.
pub fn only_target(tree: &Tree) -> Option<ExprId> {
    let [one] = &tree.statements[..] else { return None };
    let Statement::Query(query) = one.statement else { return None };
    let Body::Select(select) = &tree.query(query).body else { return None };
    let [target] = &select.targets[..] else { return None };
    Some(target.value)
}

/// A condition with VALUE as PostgreSQL writes it.
pub fn upper_value(mut sql: String) -> String {
    let places: Vec<usize> = {
        let tokens = Tokens::of(&sql).all;
        let is_dot = |at: Option<usize>| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| token.kind == Token::Char('.'))
        };
        let is_value = |(at, token): &(usize, &onlap_pg::grammar::Token)| {
            token.kind == Token::Word(Keyword::Value) && !is_dot(at.checked_sub(1))
        };
        let found = tokens.iter().enumerate().filter(is_value);
        found.map(|(_, token)| token.start as usize).collect()
    };
    for at in places {
        sql.replace_range(at..at + "VALUE".len(), "VALUE");
    }
    sql
}

/// What calculates a condition of values of a type.
pub fn condition(view: &View, sql: &str, base: TypeRef, env: &Arc<Env>) -> Result<Condition> {
    let names = Names::new(view);
    let (tree, value) = expression(&format!("({sql})"))?;
    // What is wrong with it has no place in the statement's text.
    let nowhere = |e: Error| Error { position: None, ..e };
    let (bound, query) =
        bind::check(&tree, value, base, &names, names.catalog()).map_err(nowhere)?;
    Condition::new(&bound, query, env).map_err(nowhere)
}

/// What conditions share.
pub fn env(view: &View, depth: usize) -> (Arc<Env>, Arc<Asked>) {
    env_in(view, view.objects.made_types().catalog(), depth)
}

/// The same of a catalog that knows the functions which they call.
pub fn env_in(view: &View, catalog: &Arc<Catalog>, depth: usize) -> (Arc<Env>, Arc<Asked>) {
    let asked = Arc::new(Asked::of_conditions(view, depth));
    let env = Arc::new(Env {
        catalog: Arc::clone(catalog),
        settings: settings(view),
        session: Arc::clone(&asked) as _,
        params: Vec::new(),
        handle: view.instance.runner.handle().clone(),
        context: Mutex::new(None),
        sets: Default::default(),
    });
    (env, asked)
}

impl Judge {
    fn new(view: &View, domain: Oid, depth: usize) -> Result<Judge> {
        let line = line(view, domain);
        let types = view.objects.made_types();
        let own = line
            .last()
            .ok_or_else(|| Error::new("XX001", format!("a domain is not there: OID {domain}")))?;
        let (env, asked) = env(view, depth);
        let (mut checks, mut not_null) = (Vec::new(), false);
        for made in &line {
            let Some(of) = made.domain() else { continue };
            not_null |= of.not_null;
            let base = types.catalog().base(made.oid, -1);
            let base = TypeRef { oid: base.0, modifier: base.1 };
            let mut own: Vec<&Check> = of.checks.iter().collect();
            own.sort_by(|a, b| a.name.cmp(&b.name));
            for check in own {
                checks.push((check.name.clone(), condition(view, &check.sql, base, &env)?));
            }
        }
        let about = About {
            schema: own.name.schema.clone(),
            datatype: own.name.name.clone(),
            constraint: None,
        };
        let shown = types.shown_to(view, domain).unwrap_or_default();
        Ok(Judge { shown, about, not_null, checks, env, asked })
    }

    /// The first row that does not keep to the conditions fails, at the first of them.
    fn judge(&self, values: &ArrayRef) -> Result<()> {
        let mut failed: Option<Error> = None;
        let mut left = Arc::clone(values);
        if self.not_null
            && let Some(row) = (0..left.len()).find(|row| left.is_null(*row))
        {
            let text = format!("domain {} does not allow null values", self.shown);
            failed = Some(Error::new("23502", text).about(self.about.clone()));
            left = left.slice(0, row);
        }
        for (name, condition) in &self.checks {
            if left.is_empty() {
                break;
            }
            let unmet = condition.first_unmet(&left, &self.env)?;
            let Some(row) = unmet else { continue };
            let text =
                format!("value for domain {} violates check constraint \"{name}\"", self.shown);
            let about = About { constraint: Some(name.clone()), ..self.about.clone() };
            failed = Some(Error::new("23514", text).about(about));
            left = left.slice(0, row);
        }
        self.env.batch_done()?;
        failed.map_or(Ok(()), Err)
    }
}
