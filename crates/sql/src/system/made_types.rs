//! What do the catalogs say of types that databases made?
//!
//! Enums, domains and composite types in pg_type; the conditions of domains in pg_constraint; what the standard says of
//! domains. Composite types are relations of the [`Model`], too.

use onlap_pg::catalog::extensions::{Part, all_rows};
use onlap_pg::catalog::{self, Table};
use onlap_pg::print::Look;

use super::classes::collation_of;
use super::model::Model;
use super::rows::{Datum, Rows};
use super::standard::{collation_facts, type_facts, udt_name, udt_schema};
use crate::catalog::made_types::{Check, Domain, Made, What};
use crate::catalog::{called, extensions};
use crate::query::Printed;
use crate::row;
use crate::types::PgType;
use crate::view::View;

/// The row of pg_type of a type.
pub fn row(view: &View, made: &Made, schema: i64) -> Vec<Datum> {
    let head = |length: i64, by_value: bool| {
        row![made.oid, &made.name.name, schema, made.owner, length, by_value]
    };
    let null = || Datum::Null;
    match &made.what {
        What::Enum(_) => {
            // enum_in and its like.
            let mut own = head(4, true);
            own.extend(row!["e", "E", false, true, ",", 0, 0, 0, made.array]);
            own.extend(row![3506, 3507, 3532, 3533, 0, 0, 0]);
            own.extend(row!["i", "p", false, 0, -1, 0, 0, null(), null(), null()]);
            own
        }
        What::Composite(of) => {
            // record_in and its like.
            let mut own = head(-1, false);
            own.extend(row!["c", "C", false, true, ",", of.relation, 0, 0, made.array]);
            own.extend(row![2290, 2291, 2402, 2403, 0, 0, 0]);
            own.extend(row!["d", "x", false, 0, -1, 0, 0, null(), null(), null()]);
            own
        }
        What::Domain(domain) => domain_row(view, made, domain, &head),
    }
}

/// What pg_type says of the type that a domain is over.
struct Below {
    length: i64,
    by_value: bool,
    delimiter: &'static str,
    output: i64,
    send: i64,
    align: &'static str,
    storage: &'static str,
}

fn below(view: &View, base: u32) -> Below {
    let facts = catalog::rows(Table::Type).chain(all_rows(Part::Type));
    let facts = facts.into_iter().find(|row| row.number::<u32>(0) == base);
    if let Some(row) = facts {
        return Below {
            length: row.number(2),
            by_value: row.flag(3),
            delimiter: row.text(8),
            output: row.number(14),
            send: row.number(16),
            align: row.text(20),
            storage: row.text(21),
        };
    }
    let made = view.objects.made_types().get(base);
    let (length, by_value, output, send, align, storage) = match made.map(|made| &made.what) {
        Some(What::Enum(_)) if made.is_some_and(|made| made.oid == base) => {
            (4, true, 3507, 3533, "i", "p")
        }
        Some(What::Composite(_)) if made.is_some_and(|made| made.oid == base) => {
            (-1, false, 2291, 2403, "d", "x")
        }
        // Arrays.
        _ => (-1, false, 751, 2401, "i", "x"),
    };
    Below { length, by_value, delimiter: ",", output, send, align, storage }
}

fn domain_row(
    view: &View,
    made: &Made,
    domain: &Domain,
    head: &dyn Fn(i64, bool) -> Vec<Datum>,
) -> Vec<Datum> {
    let types = view.objects.made_types().catalog();
    let base = types.base_type(domain.base.oid);
    let of = below(view, base);
    let mut own = head(of.length, of.by_value);
    let category = char::from(domain.category).to_string();
    own.extend(row!["d", category, false, true, of.delimiter, 0, 0, 0, made.array]);
    // domain_in and domain_recv.
    own.extend(row![2597, of.output, 2598, of.send, 0, 0, 0]);
    let dimensions = i64::from(types.element(domain.base.oid).is_some());
    let (not_null, modifier) = (domain.not_null, domain.base.modifier);
    own.extend(row![of.align, of.storage, not_null, domain.base.oid, modifier, dimensions]);
    let default = domain.default.as_deref().map(|sql| shown_default(view, domain.base, sql));
    own.extend(row![
        collation_of(view, PgType::new(made.oid)),
        default.clone(),
        default,
        Datum::Null
    ]);
    own
}

/// A default that is cast to a type of the database, with the name that the type has in the search path.
fn shown_default(view: &View, ty: PgType, sql: &str) -> String {
    let sql = &*called::shown(sql);
    match sql.strip_suffix(&format!("::{}", extensions::written(view, ty))) {
        Some(value) => format!("{value}::{}", extensions::shown_type(view, ty.oid)),
        None => sql.to_string(),
    }
}

/// All domains of the database, with the OID of their schemas.
fn domains<'a>(
    view: &'a View,
    model: &'a Model,
) -> impl Iterator<Item = (&'a Made, &'a Domain, i64)> {
    let made = view.objects.made_types().of_database(&view.database);
    made.filter_map(|made| {
        Some((made, made.domain()?, i64::from(model.schema_oid(&made.name.schema))))
    })
}

/// The condition of an OID, and its domain.
pub fn check_of(view: &View, oid: u32) -> Option<(&Domain, &Check)> {
    let made = view.objects.made_types().of_database(&view.database);
    let mut checks = made
        .filter_map(Made::domain)
        .flat_map(|domain| domain.checks.iter().map(move |check| (domain, check)));
    checks.find(|(_, check)| check.oid == oid)
}

/// A condition as pg_get_constraintdef writes it; with fewer parentheses where it is to be pretty.
pub fn check(printed: &Printed<'_>, (domain, check): (&Domain, &Check), pretty: bool) -> String {
    let look = if pretty { Look::PRETTY } else { Look::PLAIN };
    let sql = printed.domain_condition(domain.base, &check.sql, look);
    format!("CHECK ({sql}){}", if check.valid { "" } else { " NOT VALID" })
}

/// Conditions of domains, in pg_constraint.
pub fn constraints(view: &View, model: &Model, rows: &mut Rows) {
    let printed = Printed::new(view, model);
    for (made, domain, schema) in domains(view, model) {
        for check in &domain.checks {
            let sql = printed.domain_condition(domain.base, &check.sql, Look::PLAIN);
            let mut row = row![check.oid, &check.name, schema, "c", false, false, check.valid];
            row.extend(row![0, made.oid, 0, 0, 0, " ", " ", " ", true, 0, false]);
            row.extend(row![Datum::Null, Datum::Null, Datum::Null, Datum::Null, sql]);
            rows.push(row);
        }
    }
}

/// Conditions of the role's domains, in information_schema.check_constraints: schemas, names, and what CHECK says.
pub fn standard_checks(view: &View, model: &Model) -> Vec<(String, String, String)> {
    let printed = Printed::new(view, model);
    let mut found = Vec::new();
    for (made, domain, _) in domains(view, model) {
        if !view.judge.is_superuser() && !view.judge.has_rights_of(made.owner) {
            continue;
        }
        for own in &domain.checks {
            let sql = check(&printed, (domain, own), false);
            let clause = sql.strip_prefix("CHECK ").unwrap_or(&sql).to_string();
            found.push((made.name.schema.clone(), own.name.clone(), clause));
        }
    }
    found
}

/// information_schema.domains
pub fn standard(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "data_type character_maximum_length character_octet_length numeric_precision \
         numeric_precision_radix numeric_scale datetime_precision collation_catalog \
         collation_schema collation_name domain_catalog domain_schema \
         domain_name domain_default udt_catalog udt_schema udt_name dtd_identifier",
    );
    for (made, domain, _) in domains(view, model) {
        if !view.judge.is_superuser() && !view.judge.has_rights_of(made.owner) {
            continue;
        }
        let mut row = type_facts(view, domain.base);
        row.extend(collation_facts(view, collation_of(view, PgType::new(made.oid))));
        let default = domain.default.as_deref().map(|sql| shown_default(view, domain.base, sql));
        row.extend(row![&view.database, &made.name.schema, &made.name.name, default]);
        row.extend(row![&view.database, udt_schema(view, domain.base)]);
        row.extend(row![udt_name(view, domain.base), "1"]);
        rows.push(row);
    }
    rows
}

/// information_schema.domain_constraints
pub fn standard_constraints(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "constraint_catalog constraint_schema constraint_name domain_catalog domain_schema \
         domain_name is_deferrable initially_deferred",
    );
    for (made, domain, _) in domains(view, model) {
        if !view.judge.is_superuser() && !view.judge.has_rights_of(made.owner) {
            continue;
        }
        for check in &domain.checks {
            let (schema, name) = (&made.name.schema, &made.name.name);
            let mut row = row![&view.database, schema, &check.name];
            row.extend(row![&view.database, schema, name, "NO", "NO"]);
            rows.push(row);
        }
    }
    rows
}
