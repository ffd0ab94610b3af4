//! Domains: CREATE DOMAIN and what ALTER DOMAIN does.

use arrow_array::{Array, ArrayRef};
use onlap_pg::ast::{ColumnRule, Constraint, CreateDomain, Said, TableRule, TypeChange, TypeName};
use onlap_pg::catalog::Kind;
use onlap_pg::{TypeRef, bind};

use super::shape::must_fit;
use super::uses::columns_with;
use super::{check_free, not_a, put, shown};
use crate::catalog::made_types::{Check, Domain, Made, What};
use crate::catalog::names::quote;
use crate::catalog::{frozen, oids};
use crate::columns::ColumnType;
use crate::ddl::carried::domain_must_stay;
use crate::ddl::change::notice;
use crate::ddl::columns::{Default, collation, computed, kept, only_once};
use crate::ddl::naming;
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::query::{Bound, Names, domains, sql_error};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::types::PgType;
use crate::view::View;
use crate::wire::Client;

/// CREATE DOMAIN.
///
/// # Errors
/// `42710`: the name is taken; a base type, default or condition that is none.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateDomain,
) -> Result<&'static str> {
    let name = view.new_name(&strings(&create.name))?;
    check_free(view, &name)?;
    let ty = base_type(view, source, &create.ty)?;
    must_fit(session, view, 0, &[ty.pg])?;
    let mut domain = Domain::over(ty.pg);
    // It has the default of a domain below from the start.
    let below = view.objects.made_types().domain(ty.pg.oid);
    domain.default = below.and_then(|below| below.default.clone());
    let (mut defaults, mut nulls, mut collated) = (0, None, false);
    for rule in &create.rules {
        let refuse = |what: &str| {
            let text = format!("{what} constraints not possible for domains");
            Err(SqlError::new(state::SYNTAX, text))
        };
        match &rule.rule {
            ColumnRule::Default(said) => {
                defaults += 1;
                if defaults > 1 {
                    return Err(SqlError::new(state::SYNTAX, "multiple default expressions"));
                }
                domain.default = default(view, source, (&name.name, ty), said)?;
            }
            ColumnRule::Null | ColumnRule::NotNull => {
                let not = rule.rule == ColumnRule::NotNull;
                if nulls.replace(not).is_some_and(|before| before != not) {
                    let text = "conflicting NULL/NOT NULL constraints";
                    return Err(SqlError::new(state::SYNTAX, text));
                }
                domain.not_null = not;
            }
            ColumnRule::Check(_, true) => return Err(inherits()),
            ColumnRule::Check(_, false) => {}
            ColumnRule::Collate(name) => {
                only_once(source, rule.place, &mut collated)?;
                let catalog = view.objects.made_types().catalog();
                domain.collation = collation(catalog, name, ty.pg.oid)?;
            }
            ColumnRule::Unique(..) => return refuse("unique"),
            ColumnRule::Primary(_) => return refuse("primary key"),
            ColumnRule::References(_) => return refuse("foreign key"),
            ColumnRule::When(_) => {
                let text = "specifying constraint deferrability not supported for domains";
                return Err(SqlError::new(state::UNSUPPORTED, text));
            }
            ColumnRule::Identity(..) | ColumnRule::Generated(_) => {
                return Err(SqlError::unsupported("a generated domain"));
            }
        }
    }
    for rule in &create.rules {
        if let ColumnRule::Check(said, _) = &rule.rule {
            let named = rule.name.as_deref();
            let check = check(session, view, source, (&name.name, &domain), (named, said))?;
            domain.checks.push(check);
        }
    }
    let array = oids::of_object(session.instance.take_number());
    let (database, owner) = (view.database.clone(), view.role_named(&view.user)?);
    session.catalog_changed()?;
    let what = What::Domain(domain);
    put(session, &Made { oid: 0, array, database, name, owner, what })?;
    Ok("CREATE DOMAIN")
}

/// What a domain is over.
fn base_type(view: &View, source: Source<'_>, name: &TypeName) -> Result<ColumnType> {
    let names = Names::new(view);
    let found = bind::type_named(source.tree, name, &names, names.catalog());
    // PostgreSQL gives no place to what is wrong with a domain.
    let found = found.map_err(|e| sql_error(&e, source.text).nowhere())?;
    let shown = names.catalog().shown(found.oid);
    let kind = names.catalog().get_type(found.oid).map(|ty| ty.kind);
    if kind == Some(Kind::Pseudo) {
        let text = format!("\"{shown}\" is not a valid base type for a domain");
        return Err(SqlError::new("42804", text));
    }
    let pg = PgType { oid: found.oid, modifier: found.modifier };
    let kept = ColumnType::of(names.catalog(), pg);
    kept.ok_or_else(|| SqlError::unsupported(format!("a domain over {shown}")))
}

/// The text of a default; `None` of NULL.
fn default(
    view: &View,
    source: Source<'_>,
    (name, ty): (&str, ColumnType),
    said: &Said,
) -> Result<Option<String>> {
    let names = Names::new(view);
    let wanted = TypeRef { oid: ty.base.oid, modifier: ty.base.modifier };
    let bound = bind::default(source.tree, said.expr, (name, wanted), &names, names.catalog());
    let (bound, _) = bound.map_err(|e| sql_error(&e, source.text).nowhere())?;
    let text = || kept(view, source, said.span, frozen::literals(view, &bound, source.text));
    Ok(match computed(view, source, said, ty, text).map_err(SqlError::nowhere)? {
        Default::Computed(sql) => Some(sql),
        _ => None,
    })
}

/// A condition, with the name that it has or gets.
fn check(
    session: &Session,
    view: &View,
    source: Source<'_>,
    (name, domain): (&str, &Domain),
    (named, said): (Option<&str>, &Said),
) -> Result<Check> {
    let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let own = match named {
        Some(own) if is_taken(own) => {
            let text = format!("constraint \"{own}\" for domain \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
        }
        Some(own) => own.to_string(),
        None => naming::choose(name, "", "check", &is_taken),
    };
    let names = Names::new(view);
    let bound =
        bind::check(source.tree, said.expr, below(view, domain.base), &names, names.catalog());
    let (bound, _) = bound.map_err(|e| sql_error(&e, source.text).nowhere())?;
    let edits = frozen::literals(view, &bound, source.text);
    let sql = domains::upper_value(kept(view, source, said.span, edits));
    let oid = oids::of_object(session.instance.take_number());
    let check = Check { name: own, sql, oid, valid: true };
    // What has no kernel is refused now.
    condition(view, domain, &check)?;
    Ok(check)
}

/// A type below domains.
fn below(view: &View, ty: PgType) -> TypeRef {
    let (oid, modifier) = view.objects.made_types().catalog().base(ty.oid, ty.modifier);
    TypeRef { oid, modifier }
}

type Judged = (onlap_query::Condition, std::sync::Arc<onlap_query::Env>);

fn condition(view: &View, domain: &Domain, check: &Check) -> Result<Judged> {
    let (env, _) = domains::env(view, 1);
    let made = domains::condition(view, &check.sql, below(view, domain.base), &env);
    Ok((made.map_err(|e| sql_error(&e, ""))?, env))
}

/// What ALTER DOMAIN does that only domains have; `None` where nothing changes.
///
/// # Errors
/// It is no domain; a condition that is there, or is not; values that do not meet it.
pub fn change(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    (made, change): (&Made, &TypeChange),
    client: &mut dyn Client,
) -> Result<Option<Made>> {
    let mut domain = made.domain().ok_or_else(|| not_a(view, made, "domain"))?.clone();
    match change {
        TypeChange::Default(said) => {
            let ty = ColumnType::of(view.objects.made_types().catalog(), domain.base);
            let ty = ty.ok_or_else(|| SqlError::unsupported("a default of this domain"))?;
            domain.default = match said {
                Some(said) => default(view, source, (&made.name.name, ty), said)?,
                None => None,
            };
        }
        TypeChange::NotNull(not) => {
            if *not == domain.not_null {
                return Ok(None);
            }
            if *not {
                let null = |values: &ArrayRef| Ok(values.null_count() > 0);
                judge_kept(view, made, &null, ("23502", "contains null values"))?;
                domain_must_stay(view, made)?;
            }
            domain.not_null = *not;
        }
        TypeChange::AddConstraint(constraint) => {
            let check = added(session, view, source, (made, &domain), constraint)?;
            domain_must_stay(view, made)?;
            domain.checks.push(check);
        }
        TypeChange::DropConstraint { skip, name } => {
            let before = domain.checks.len();
            domain.checks.retain(|check| *check.name != **name);
            if domain.checks.len() == before {
                let text = missing(made, name);
                if !skip {
                    return Err(SqlError::new(state::NO_OBJECT, text));
                }
                notice(client, "00000", format!("{text}, skipping"));
                return Ok(None);
            }
        }
        TypeChange::RenameConstraint(from, to) => rename(view, made, &mut domain, (from, to))?,
        TypeChange::Validate(name) => {
            let at = domain.checks.iter().position(|check| *check.name == **name);
            let none = || SqlError::new(state::NO_OBJECT, missing(made, name));
            let at = at.ok_or_else(none)?;
            if domain.checks[at].valid {
                return Ok(None);
            }
            validate(view, made, &domain, &domain.checks[at])?;
            domain.checks[at].valid = true;
        }
        _ => return Err(SqlError::unsupported("this change of a domain")),
    }
    Ok(Some(Made { what: What::Domain(domain), ..made.clone() }))
}

fn missing(made: &Made, name: &str) -> String {
    format!("constraint \"{name}\" of domain \"{}\" does not exist", made.name.name)
}

fn rename(view: &View, made: &Made, domain: &mut Domain, (from, to): (&str, &str)) -> Result<()> {
    let shown = shown(view, made);
    let at = domain.checks.iter().position(|check| check.name == from);
    let none = || {
        let text = format!("constraint \"{from}\" for domain {shown} does not exist");
        SqlError::new(state::NO_OBJECT, text)
    };
    let at = at.ok_or_else(none)?;
    if domain.checks.iter().any(|check| check.name == to) {
        let text = format!("constraint \"{to}\" for domain {shown} already exists");
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    domain.checks[at].name = to.to_string();
    Ok(())
}

fn added(
    session: &Session,
    view: &View,
    source: Source<'_>,
    (made, domain): (&Made, &Domain),
    constraint: &Constraint,
) -> Result<Check> {
    let refuse = |what: &str| {
        let text = format!("{what} constraints not possible for domains");
        Err(SqlError::new(state::SYNTAX, text))
    };
    let said = match &constraint.rule {
        TableRule::Check(said) => said,
        TableRule::Unique(..) | TableRule::UniqueIndex(_) => return refuse("unique"),
        TableRule::Primary(..) | TableRule::PrimaryIndex(_) => return refuse("primary key"),
        TableRule::Exclude(_) => return refuse("exclusion"),
        TableRule::Foreign(..) => return refuse("foreign key"),
    };
    if constraint.judged.no_inherit {
        return Err(inherits());
    }
    let named = constraint.name.as_deref();
    let check = check(session, view, source, (&made.name.name, domain), (named, said))?;
    if constraint.judged.not_valid {
        return Ok(Check { valid: false, ..check });
    }
    validate(view, made, domain, &check)?;
    Ok(check)
}

fn inherits() -> SqlError {
    SqlError::new("42P17", "check constraints for domains cannot be marked NO INHERIT")
}

/// Fails where a value that is kept does not meet a condition.
fn validate(view: &View, made: &Made, domain: &Domain, check: &Check) -> Result<()> {
    let (condition, env) = condition(view, domain, check)?;
    let fails = |values: &ArrayRef| {
        let unmet = condition.first_unmet(values, &env).map_err(|e| sql_error(&e, ""))?;
        Ok(unmet.is_some())
    };
    let text = "contains values that violate the new constraint";
    judge_kept(view, made, &fails, ("23514", text))
}

/// Looks at all values of a domain that are kept.
fn judge_kept(
    view: &View,
    made: &Made,
    fails: &dyn Fn(&ArrayRef) -> Result<bool>,
    (code, what): (&'static str, &str),
) -> Result<()> {
    for (table, column, direct) in columns_with(view, made)? {
        if !direct {
            let text = format!(
                "cannot alter type \"{}\" because column \"{}.{column}\" uses it",
                made.name.name, table.name
            );
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        let (schema, name) = (quote(&table.schema), quote(&table.name));
        let text = format!("SELECT {} FROM {schema}.{name}", quote(&column));
        let bound = Bound::must(view, &text, parse::depth_of(&text), &[])?;
        let mut batches = bound.batches(view, &text)?;
        while let Some(batch) = batches.next()? {
            if fails(batch.column(0))? {
                let text = format!("column \"{column}\" of table \"{}\" {what}", table.name);
                let error = SqlError::new(code, text);
                return Err(error.about_column(&table.schema, &table.name, &column));
            }
        }
    }
    Ok(())
}
