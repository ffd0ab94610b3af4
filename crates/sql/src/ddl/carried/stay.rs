//! What may not change as long as a kept expression carries it?
//!
//! What an index or a column has is what its expression gave when it was written. So neither a function's body changes below it,
//! nor what a name within a body means, nor the conditions of a domain whose values it makes. Who makes something with them
//! shares their names, and who changes them holds these, so that one waits for the other. Thread safety: pure, except for the
//! statement's view.

use onlap::{Expr as Condition, TableSchema};

use crate::catalog::Name;
use crate::catalog::functions::Function;
use crate::catalog::made_types::Made;
use crate::ddl::index_parts::failed;
use crate::error::{Result, SqlError};
use crate::formulas;
use crate::view::View;

const HINT: &str = "Drop what is made with it first, and make it again afterwards.";

/// Fails where an expression that is kept carries a function that is about to give something else: what indexes have is what it
/// gave.
///
/// # Errors
/// `0A000`
pub fn must_stay(view: &View, known: &Function, now: &Function) -> Result<()> {
    let said = |of: &Function| {
        (of.language.clone(), of.source.clone(), of.strict, of.definer, of.settings.clone())
    };
    if said(known) == said(now) {
        return Ok(());
    }
    view.scope.tx()?.hold_name(&known.key())?;
    let carries = |program: &str| -> Result<bool> {
        let program = formulas::program(program);
        Ok(program.is_ok_and(|of| of.carried.functions.iter().any(|of| of.oid == known.oid)))
    };
    must_be_free(view, &format!("function {}", known.shown(view)), &carries)
}

/// Fails where a function that an expression carries names another that is about to have another name: the name may then mean
/// another function, or none.
///
/// # Errors
/// `0A000`
pub fn must_keep_name(view: &View, known: &Function) -> Result<()> {
    let named = format!("\"{}\"", known.oid);
    let carries = |program: &str| -> Result<bool> {
        let program = formulas::program(program);
        Ok(program.is_ok_and(|of| of.carried.functions.iter().any(|of| of.sql.contains(&named))))
    };
    must_be_free(view, &format!("the name of function {}", known.shown(view)), &carries)
}

/// Fails where an expression that is kept makes values of a domain, or of one over it, which is about to get a condition: nothing
/// would ask for it.
///
/// # Errors
/// `0A000`; `XX001`: a program that no release wrote.
pub fn domain_must_stay(view: &View, made: &Made) -> Result<()> {
    let types = view.objects.made_types();
    let is_over = |oid: u32| {
        let below = |oid: &u32| types.domain(*oid).map(|domain| domain.base.oid);
        std::iter::successors(Some(oid), below).any(|oid| oid == made.oid)
    };
    let makes = |program: &str| -> Result<bool> {
        let unasked = formulas::unasked(program).map_err(failed)?;
        Ok(unasked.into_iter().any(is_over))
    };
    must_be_free(view, &format!("the conditions of domain {}", made.name.name), &makes)
}

/// Fails where what a table keeps uses something.
fn must_be_free(view: &View, what: &str, uses: &dyn Fn(&str) -> Result<bool>) -> Result<()> {
    for (_, table) in view.tables()? {
        let schema = table.schema();
        for program in programs(&schema) {
            if uses(program)? {
                let text = format!(
                    "changing {what} that an index, a check or a generated column of table {} is made with",
                    Name::of_engine(&schema.name).1.name
                );
                return Err(SqlError::unsupported(text).hint(HINT));
            }
        }
    }
    Ok(())
}

/// What is calculated of a table's rows.
fn programs(schema: &TableSchema) -> impl Iterator<Item = &str> {
    let derived = schema.derived.iter().map(|of| &of.program);
    let generated = schema.generated.iter().map(|of| &of.program);
    let checks = schema.checks.iter().filter_map(|check| match &check.expr {
        Condition::Formula(program, _) => Some(program),
        _ => None,
    });
    derived.chain(generated).chain(checks).map(|program| &**program)
}
