//! What does the SQL standard's information_schema say?

use std::collections::HashSet;

use onlap::{Action, TableSchema, Time};
use onlap_pg::Oid;
use onlap_pg::bound::{DEFAULT_COLLATION, collation_name};
use onlap_pg::print::Look;

use super::classes::{
    collation_of, columns, identity, is_constraint, own_collations, owned_sequences, sequence_type,
};
use super::grants;
use super::made_types;
use super::model::{Model, Relation, What, index_name};
use super::rows::{Datum, Rows};
use super::sight::Sight;
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, extensions, oids};
use crate::error::Result;
use crate::query::Printed;
use crate::query::through::{Checked, is_changed, written_columns};
use crate::row;
use crate::types::{PgType, names, oid};
use crate::view::{PG_CATALOG, View};

/// The rows of a table of this module.
///
/// # Errors
/// The transaction has ended.
pub fn rows(view: &View, table: &str) -> Result<Option<Rows>> {
    let seen = || -> Result<Model> {
        let mut model = Model::of(view)?;
        if WITHOUT_OTHERS.contains(&table) {
            model.relations_of_others_go(view);
        }
        Ok(model)
    };
    let make = match table {
        "information_schema_catalog_name" => catalog_name,
        "tables" => tables,
        "columns" => all_columns,
        "schemata" => schemata,
        "sequences" => sequences,
        "table_constraints" => table_constraints,
        "key_column_usage" => key_columns,
        "constraint_column_usage" => constraint_columns,
        "constraint_table_usage" => constraint_tables,
        "referential_constraints" => references,
        "check_constraints" => checks,
        // They are printed, which may fail.
        "views" => return views(view, &seen()?).map(Some),
        "routines" => super::functions::routines,
        "parameters" => super::functions::parameters,
        "triggers" => super::triggers::standard,
        "domains" => made_types::standard,
        "domain_constraints" => made_types::standard_constraints,
        table => return Ok(grants::standard(view, &Model::of(view)?, table)),
    };
    Ok(Some(make(view, &seen()?)))
}

/// Where PostgreSQL leaves out the temporary relations of other sessions.
const WITHOUT_OTHERS: &[&str] =
    &["columns", "key_column_usage", "sequences", "table_constraints", "tables", "views"];

fn catalog_name(view: &View, _: &Model) -> Rows {
    let mut rows = Rows::of("catalog_name");
    rows.push(row![&view.database]);
    rows
}

fn yes(v: bool) -> &'static str {
    if v { "YES" } else { "NO" }
}

/// Tables and views.
fn relations(model: &Model) -> impl Iterator<Item = &Relation> {
    model.relations.iter().filter(|r| matches!(r.kind(), "r" | "p" | "v"))
}

fn tables(view: &View, model: &Model) -> Rows {
    let mut rows =
        Rows::of("table_catalog table_schema table_name table_type is_insertable_into is_typed");
    let sight = Sight::of(view);
    for relation in relations(model).filter(|r| sight.sees(r)) {
        let name = &relation.name;
        let kind = match relation.kind() {
            _ if name.is_temporary() => "LOCAL TEMPORARY",
            "v" => "VIEW",
            _ => "BASE TABLE",
        };
        let insertable = match &relation.what {
            What::View => is_changed(view, name),
            _ => relation.table().is_some(),
        };
        rows.push(row![&view.database, &name.schema, &name.name, kind, yes(insertable), "NO"]);
    }
    rows
}

/// What the standard says of a type: name, length, octets, precision, radix, scale, precision of times.
pub fn type_facts(view: &View, ty: PgType) -> Vec<Datum> {
    let ty = below(view, ty);
    let null = || Datum::Null;
    let length = match ty.oid {
        oid::VARCHAR | oid::BPCHAR if ty.modifier > 4 => Datum::from(ty.modifier - 4),
        oid::BIT | oid::VARBIT if ty.modifier > 0 => Datum::from(ty.modifier),
        _ => Datum::Null,
    };
    let octets = match (ty.oid, &length) {
        (oid::TEXT | oid::VARCHAR | oid::BPCHAR, Datum::Null) => Datum::Int(1 << 30),
        (oid::VARCHAR | oid::BPCHAR, Datum::Int(n)) => Datum::Int(4 * n),
        _ => Datum::Null,
    };
    let (precision, radix, scale) = match ty.oid {
        oid::INT2 => (Datum::Int(16), Datum::Int(2), Datum::Int(0)),
        oid::INT4 => (Datum::Int(32), Datum::Int(2), Datum::Int(0)),
        oid::INT8 => (Datum::Int(64), Datum::Int(2), Datum::Int(0)),
        oid::FLOAT4 => (Datum::Int(24), Datum::Int(2), null()),
        oid::FLOAT8 => (Datum::Int(53), Datum::Int(2), null()),
        oid::NUMERIC => match onlap_pg::value::numeric::precision_and_scale(ty.modifier) {
            Some((precision, scale)) => {
                (Datum::from(precision), Datum::Int(10), Datum::from(scale))
            }
            None => (null(), Datum::Int(10), null()),
        },
        _ => (null(), null(), null()),
    };
    let time = match ty.oid {
        oid::DATE => Datum::Int(0),
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => match ty.modifier {
            0..=6 => Datum::from(ty.modifier),
            _ => Datum::Int(6),
        },
        oid::INTERVAL => match ty.modifier & 0xffff {
            precision @ 0..=6 if ty.modifier >= 0 => Datum::from(precision),
            _ => Datum::Int(6),
        },
        _ => Datum::Null,
    };
    let made = view.objects.made_types().get(ty.oid);
    let name = match names::element_of(ty.oid) {
        None if made.is_some_and(|made| made.array == ty.oid) => "ARRAY".to_string(),
        None if ty.oid >= crate::catalog::oids::FIRST_OWN => "USER-DEFINED".to_string(),
        Some(_) => "ARRAY".to_string(),
        // The standard's name of bpchar goes without its length.
        None if ty.oid == oid::BPCHAR => "character".to_string(),
        None if ty.oid == oid::BIT => "bit".to_string(),
        None => names::format_type(PgType::new(ty.oid)),
    };
    vec![name.into(), length, octets, precision, radix, scale, time]
}

/// What the standard says of a collation: its database, schema and name. It knows nothing of the default one.
pub fn collation_facts(view: &View, collation: Oid) -> Vec<Datum> {
    match collation {
        0 | DEFAULT_COLLATION => vec![Datum::Null, Datum::Null, Datum::Null],
        own => row![&view.database, PG_CATALOG, collation_name(own)],
    }
}

/// A type below domains.
fn below(view: &View, ty: PgType) -> PgType {
    let (oid, modifier) = view.objects.made_types().catalog().base(ty.oid, ty.modifier);
    PgType { oid, modifier }
}

/// The schema of a type below domains.
pub fn udt_schema(view: &View, ty: PgType) -> String {
    let oid = below(view, ty).oid;
    let made = view.objects.made_types().get(oid).map(|made| made.name.schema.clone());
    let made = made.or_else(|| extensions::of_type(view, oid).map(|created| created.schema));
    made.unwrap_or_else(|| PG_CATALOG.to_string())
}

/// The name of a type below domains.
pub fn udt_name(view: &View, ty: PgType) -> String {
    let ty = below(view, ty);
    if let Some(made) = view.objects.made_types().get(ty.oid) {
        let array = if made.array == ty.oid { "_" } else { "" };
        return format!("{array}{}", made.name.name);
    }
    names::internal(ty.oid)
}

/// The sequence of an identity column.
fn counter_of<'m>(
    model: &'m Model,
    owned: &[(u32, u32, i64, bool)],
    (relation, number): (u32, u32),
) -> Option<&'m onlap::SequenceSchema> {
    let is_its =
        |of: &&(u32, u32, i64, bool)| of.3 && of.1 == relation && of.2 == i64::from(number);
    let of = owned.iter().find(is_its)?;
    match &model.relation(of.0)?.what {
        What::Sequence(sequence) => Some(sequence),
        _ => None,
    }
}

fn all_columns(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "data_type character_maximum_length character_octet_length numeric_precision \
         numeric_precision_radix numeric_scale datetime_precision collation_catalog \
         collation_schema collation_name table_catalog table_schema \
         table_name column_name ordinal_position column_default is_nullable domain_catalog domain_schema domain_name udt_catalog udt_schema \
         udt_name dtd_identifier is_self_referencing is_identity identity_generation \
         identity_start identity_increment identity_maximum identity_minimum identity_cycle is_generated generation_expression is_updatable interval_type",
    );
    let (sight, printed) = (Sight::of(view), Printed::new(view, model));
    let owned = owned_sequences(view, model);
    for relation in relations(model) {
        let written = match &relation.what {
            What::View => written_columns(view, &relation.name).unwrap_or_default(),
            _ => Vec::new(),
        };
        let collations = own_collations(view, relation);
        for (i, (name, ty)) in columns(view, relation).into_iter().enumerate() {
            let table = relation.table();
            let column = table.map(|t| &t.columns[i]);
            let default = table.zip(column).and_then(|(t, c)| printed.default(t, c));
            let generated = table.zip(column).is_some_and(|(t, c)| t.generated(c.id).is_some());
            let (default, generation) = if generated { (None, default) } else { (default, None) };
            let known = table.zip(column).and_then(|(t, c)| identity(view, t, c));
            let identity = known.map(|always| if always { "ALWAYS" } else { "BY DEFAULT" });
            let number = column.map_or(i as u32 + 1, |c| c.id.0 + 1);
            if !sight.sees_column(relation, number) {
                continue;
            }
            let counter = counter_of(model, &owned, (relation.oid, number));
            let mut row = type_facts(view, ty);
            row.extend(collation_facts(view, collations[i].unwrap_or(collation_of(view, ty))));
            let types = view.objects.made_types();
            let domain = types.get(ty.oid).filter(|made| made.oid == ty.oid);
            let domain = domain.filter(|made| made.domain().is_some());
            row.extend(row![
                &view.database,
                &relation.name.schema,
                &relation.name.name,
                name,
                number,
                default,
                yes(column.is_none_or(|c| c.nullable)
                    && !domain.and_then(|made| made.domain()).is_some_and(|of| of.not_null)),
                domain.map(|_| view.database.clone()),
                domain.map(|made| made.name.schema.clone()),
                domain.map(|made| made.name.name.clone()),
                &view.database,
                udt_schema(view, ty),
                udt_name(view, ty),
                number.to_string(),
                "NO",
                yes(identity.is_some()),
                identity,
                counter.map(|s| s.start.to_string()),
                counter.map(|s| s.increment.to_string()),
                counter.map(|s| s.max.to_string()),
                counter.map(|s| s.min.to_string()),
                yes(counter.is_some_and(|s| s.cycle)),
                if generated { "ALWAYS" } else { "NEVER" },
                generation,
                yes(column.is_some() || written.get(i).is_some_and(|is| *is)),
                interval_type(ty),
            ]);
            rows.push(row);
        }
    }
    rows
}

/// The fields that an interval keeps, where its type says so: what stands behind its precision.
fn interval_type(ty: PgType) -> Option<String> {
    let shown = names::format_type(ty);
    let rest = shown
        .strip_prefix("interval")?
        .trim_start_matches(|c: char| matches!(c, '(' | ')' | '0'..='9'));
    rest.strip_prefix(' ').map(str::to_uppercase)
}

fn schemata(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("catalog_name schema_name schema_owner");
    let sight = Sight::of(view);
    for (_, name, _) in &model.schemas {
        let Some(key) = view.schema_key(name).filter(|key| sight.sees_schema(*key)) else {
            continue;
        };
        let rights = view.judge.rights();
        rows.push(row![&view.database, name, rights.name_of(rights.owner(key))]);
    }
    rows
}

fn sequences(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "sequence_catalog sequence_schema sequence_name data_type numeric_precision \
         numeric_precision_radix numeric_scale start_value minimum_value maximum_value increment \
         cycle_option",
    );
    let (sight, owned) = (Sight::of(view), owned_sequences(view, model));
    // Those of identity columns are parts of their tables.
    let is_own = |oid: u32| !owned.iter().any(|(of, .., identity)| *of == oid && *identity);
    for relation in model.relations.iter().filter(|r| sight.sees_sequence(r) && is_own(r.oid)) {
        let What::Sequence(s) = &relation.what else { continue };
        let ty = sequence_type(s.max);
        let bits = match ty {
            oid::INT2 => 16,
            oid::INT4 => 32,
            _ => 64,
        };
        rows.push(row![
            &view.database,
            &relation.name.schema,
            &relation.name.name,
            names::format_type(PgType::new(ty)),
            bits,
            2,
            0,
            s.start.to_string(),
            s.min.to_string(),
            s.max.to_string(),
            s.increment.to_string(),
            yes(s.cycle),
        ]);
    }
    rows
}

fn views(view: &View, model: &Model) -> Result<Rows> {
    let mut rows = Rows::of(
        "table_catalog table_schema table_name view_definition check_option is_updatable \
         is_insertable_into is_trigger_updatable is_trigger_deletable \
         is_trigger_insertable_into",
    );
    let sight = Sight::of(view);
    let printed = Printed::new(view, model);
    for relation in model.relations.iter().filter(|r| sight.sees(r)) {
        let What::View = relation.what else { continue };
        let name = &relation.name;
        let definition = match sight.owns(relation) {
            true => printed.listed(relation)?,
            false => None,
        };
        let object = view.objects.get(Kind::View, &name.engine(&view.database));
        let checked = match object.and_then(|object| Checked::of(&object.body)) {
            None => "NONE",
            Some(Checked::Local) => "LOCAL",
            Some(Checked::Cascaded) => "CASCADED",
        };
        let changed = yes(is_changed(view, name));
        let triggers = triggers::of_relation(&view.objects, relation.oid);
        let fires = |is: fn(&Trigger) -> bool| {
            yes(triggers.iter().any(|trigger| trigger.time == 'I' && is(trigger)))
        };
        rows.push(row![
            &view.database,
            &name.schema,
            &name.name,
            definition,
            checked,
            changed,
            changed,
            fires(|trigger| trigger.update),
            fires(|trigger| trigger.delete),
            fires(|trigger| trigger.insert),
        ]);
    }
    Ok(rows)
}

/// A constraint: its table, name, kind, and columns by name.
struct Constraint<'a> {
    relation: &'a Relation,
    name: String,
    kind: &'static str,
    columns: Vec<String>,
    /// Of a foreign key.
    key: Option<&'a onlap::ForeignKeySchema>,
    /// When it is judged.
    time: Time,
    /// NULLS NOT DISTINCT.
    nulls_equal: bool,
}

fn names_of(table: &TableSchema, ids: impl Iterator<Item = onlap::ColumnId>) -> Vec<String> {
    let positions = ids.filter_map(|id| table.position(id));
    positions.map(|at| table.columns[at].name.clone()).collect()
}

fn constraints<'a>(view: &View, model: &'a Model) -> Vec<Constraint<'a>> {
    let mut found = Vec::new();
    for relation in &model.relations {
        let Some(table) = relation.table() else { continue };
        // The standard knows no exclusion constraints.
        let keys = table.indexes.iter().filter(|index| index.excludes().is_none());
        for index in keys.filter(|index| is_constraint(view, index)) {
            let kind = if index.is_primary() { "PRIMARY KEY" } else { "UNIQUE" };
            let columns = names_of(table, index.key.iter().map(|k| k.column));
            let name = index_name(table, index);
            let (time, nulls_equal) = (index.time(), index.nulls_equal());
            found.push(Constraint { relation, name, kind, columns, key: None, time, nulls_equal });
        }
        for key in &table.foreign_keys {
            let columns = names_of(table, key.columns.iter().copied());
            let (name, kind) = (key.name.clone(), "FOREIGN KEY");
            let (time, nulls_equal) = (key.time, false);
            let key = Some(key);
            found.push(Constraint { relation, name, kind, columns, key, time, nulls_equal });
        }
        for check in &table.checks {
            let (name, columns) =
                (check.name.clone(), names_of(table, check.expr.columns().into_iter()));
            let (kind, time, nulls_equal) = ("CHECK", Time::Statement, false);
            found.push(Constraint { relation, name, kind, columns, key: None, time, nulls_equal });
        }
    }
    found
}

fn table_constraints(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema \
         table_name constraint_type is_deferrable initially_deferred enforced nulls_distinct",
    );
    let yes = |is: bool| if is { "YES" } else { "NO" };
    let mut push = |schema: &str, name: &str, table: &str, kind: &str, time: Time, equal: bool| {
        let distinct = (kind == "UNIQUE").then_some(yes(!equal));
        rows.push(row![
            &view.database,
            schema,
            name,
            &view.database,
            schema,
            table,
            kind,
            yes(time != Time::Statement),
            yes(time == Time::Deferred),
            "YES",
            distinct
        ]);
    };
    let sight = Sight::of(view);
    for c in constraints(view, model).iter().filter(|c| sight.sees_constraints(c.relation)) {
        let (schema, table) = (&c.relation.name.schema, &c.relation.name.name);
        push(schema, &c.name, table, c.kind, c.time, c.nulls_equal);
    }
    // PostgreSQL counts NOT NULL among the checks.
    for relation in model.relations.iter().filter(|r| sight.sees_constraints(r)) {
        let Some(table) = relation.table() else { continue };
        let name = &relation.name;
        let schema = model.schema_oid(&name.schema);
        for (i, _) in table.columns.iter().enumerate().filter(|(_, c)| !c.nullable) {
            let constraint = format!("{schema}_{}_{}_not_null", relation.oid, i + 1);
            push(&name.schema, &constraint, &name.name, "CHECK", Time::Statement, false);
        }
    }
    rows
}

/// Names of the columns of the key that a foreign key refers to, with their table.
fn parent_of<'a>(
    model: &'a Model,
    key: &onlap::ForeignKeySchema,
) -> Option<(&'a Relation, String, Vec<String>)> {
    let relation = model.relation(oids::of_table(key.parent))?;
    let table = relation.table()?;
    let index = table.indexes.iter().find(|i| i.id == key.parent_index)?;
    let columns = names_of(table, index.key.iter().map(|k| k.column));
    Some((relation, index_name(table, index), columns))
}

fn key_columns(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema \
         table_name column_name ordinal_position position_in_unique_constraint",
    );
    let sight = Sight::of(view);
    for c in constraints(view, model).into_iter().filter(|c| c.kind != "CHECK") {
        let name = &c.relation.name;
        let numbered = Sight::numbered(view, c.relation);
        let seen = |column: &String| {
            let number = numbered.iter().find(|n| n.1 == *column).map_or(0, |n| n.0);
            sight.sees_column(c.relation, number)
        };
        for (i, column) in c.columns.iter().enumerate().filter(|(_, c)| seen(c)) {
            let position = c.key.is_some().then_some(i + 1);
            rows.push(row![
                &view.database,
                &name.schema,
                &c.name,
                &view.database,
                &name.schema,
                &name.name,
                column,
                i + 1,
                position,
            ]);
        }
    }
    rows
}

fn constraint_columns(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "table_catalog table_schema table_name column_name constraint_catalog constraint_schema \
         constraint_name",
    );
    for c in constraints(view, model) {
        let (relation, columns) = match c.key.and_then(|key| parent_of(model, key)) {
            Some((relation, _, columns)) => (relation, columns),
            None => (c.relation, c.columns.clone()),
        };
        if !Sight::of(view).owns(relation) {
            continue;
        }
        for column in columns {
            rows.push(row![
                &view.database,
                &relation.name.schema,
                &relation.name.name,
                column,
                &view.database,
                &c.relation.name.schema,
                &c.name,
            ]);
        }
    }
    rows
}

fn constraint_tables(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "table_catalog table_schema table_name constraint_catalog constraint_schema \
         constraint_name",
    );
    for c in constraints(view, model).into_iter().filter(|c| c.kind != "CHECK") {
        let parent = c.key.and_then(|key| parent_of(model, key)).map(|p| p.0);
        let table = parent.unwrap_or(c.relation);
        if !Sight::of(view).owns(table) {
            continue;
        }
        let table = &table.name;
        let schema = &c.relation.name.schema;
        rows.push(row![
            &view.database,
            &table.schema,
            &table.name,
            &view.database,
            schema,
            &c.name
        ]);
    }
    rows
}

fn rule(action: Action) -> &'static str {
    match action {
        Action::NoAction => "NO ACTION",
        Action::Restrict => "RESTRICT",
        Action::Cascade => "CASCADE",
        Action::SetNull => "SET NULL",
        Action::SetDefault => "SET DEFAULT",
    }
}

fn references(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "constraint_catalog constraint_schema constraint_name unique_constraint_catalog \
         unique_constraint_schema unique_constraint_name match_option update_rule delete_rule",
    );
    let sight = Sight::of(view);
    for c in constraints(view, model).iter().filter(|c| sight.sees_constraints(c.relation)) {
        let Some(key) = c.key else { continue };
        let parent = parent_of(model, key);
        rows.push(row![
            &view.database,
            &c.relation.name.schema,
            &c.name,
            &view.database,
            parent.as_ref().map(|p| p.0.name.schema.clone()),
            parent.as_ref().map(|p| p.1.clone()),
            if key.full { "FULL" } else { "NONE" },
            rule(key.on_update),
            rule(key.on_delete),
        ]);
    }
    rows
}

fn checks(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("constraint_catalog constraint_schema constraint_name check_clause");
    let (sight, printed) = (Sight::of(view), Printed::new(view, model));
    // Those that tables have from above are the same row, as the standard names no table.
    let mut told = HashSet::new();
    for relation in model.relations.iter().filter(|r| sight.owns(r)) {
        let Some(table) = relation.table() else { continue };
        let schema = &relation.name.schema;
        for check in &table.checks {
            let clause = printed.condition(table, &check.expr, Look::PLAIN);
            let own = if check.own { " NO INHERIT" } else { "" };
            let unproven = if check.unproven { " NOT VALID" } else { "" };
            let clause = format!("({clause}){own}{unproven}");
            if told.insert((schema, &check.name, clause.clone())) {
                rows.push(row![&view.database, schema, &check.name, clause]);
            }
        }
        for (i, column) in table.columns.iter().enumerate().filter(|(_, c)| !c.nullable) {
            let oid = model.schema_oid(schema);
            let name = format!("{oid}_{}_{}_not_null", relation.oid, i + 1);
            let clause = format!("{} IS NOT NULL", column.name);
            rows.push(row![&view.database, schema, name, clause]);
        }
    }
    for (schema, name, clause) in made_types::standard_checks(view, model) {
        rows.push(row![&view.database, schema, name, clause]);
    }
    rows
}
