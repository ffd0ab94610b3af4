//! What does pg_depend say?
//!
//! What pg_dump needs to know which objects come first, and what tools ask for: sequences of columns, expressions, views,
//! triggers, the types of functions, members of extensions. Thread safety: pure.

use super::classes::{
    PG_ATTRDEF, PG_CLASS, PG_CONSTRAINT, PG_REWRITE, number, owned_sequences, rule_of, tables,
};
use super::model::{Model, What};
use super::rows::Rows;
use super::{extensions, functions, row_types, text, triggers};
use crate::catalog::{Kind, bound, oids};
use crate::ddl::named_by;
use crate::formulas::carried::is_made;
use crate::row;
use crate::view::View;

/// pg_type
const PG_TYPE: u32 = 1247;

/// pg_depend.
pub fn rows(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("classid objid objsubid refclassid refobjid refobjsubid deptype");
    for (sequence, table, column, identity) in owned_sequences(view, model) {
        let kind = if identity { "i" } else { "a" };
        rows.push(row![PG_CLASS, sequence, 0, PG_CLASS, table, column, kind]);
    }
    for (relation, table) in tables(model) {
        for of in &table.generated {
            let Some(at) = table.position(of.column) else { continue };
            let oid = oids::of_part(table.id, "default", &table.columns[at].name);
            let mut on = |column, kind| {
                let column = number(table, column);
                rows.push(row![PG_ATTRDEF, oid, 0, PG_CLASS, relation.oid, column, kind]);
            };
            on(of.column, "i");
            of.reads.iter().for_each(|column| on(*column, "n"));
        }
    }
    for relation in &model.relations {
        if let Some((table, index)) = relation.index() {
            for part in &index.key {
                let (table_oid, column) = (oids::of_table(table.id), number(table, part.column));
                rows.push(row![PG_CLASS, relation.oid, 0, PG_CLASS, table_oid, column, "a"]);
            }
        }
    }
    let all = crate::catalog::triggers::all(&view.objects);
    for trigger in all.filter(|trigger| model.relation(trigger.relation).is_some()) {
        let (own, table) = (triggers::PG_TRIGGER, trigger.relation);
        rows.push(row![own, trigger.oid, 0, functions::PG_PROC, trigger.function, 0, "n"]);
        rows.push(row![own, trigger.oid, 0, PG_CLASS, table, 0, "a"]);
    }
    defaults_depend(view, model, &mut rows);
    expressions_depend(view, model, &mut rows);
    views_depend(view, model, &mut rows);
    functions_depend(view, model, &mut rows);
    extensions::members(view, &mut rows);
    rows
}

/// What defaults of columns hang on: their columns, and sequences.
fn defaults_depend(view: &View, model: &Model, rows: &mut Rows) {
    let sequences = model.relations.iter().filter(|r| matches!(r.what, What::Sequence(_)));
    let calls = |sequence| format!("nextval('{}'::regclass)", model.display(sequence));
    let sequences: Vec<_> = sequences.map(|sequence| (sequence.oid, calls(sequence))).collect();
    for (relation, table) in tables(model) {
        for column in table.columns.iter().filter(|c| table.generated(c.id).is_none()) {
            let Some(default) = text::default(view, model, table, column) else { continue };
            let oid = oids::of_part(table.id, "default", &column.name);
            let column = number(table, column.id);
            rows.push(row![PG_ATTRDEF, oid, 0, PG_CLASS, relation.oid, column, "a"]);
            if !default.contains("nextval('") {
                continue;
            }
            for (sequence, _) in sequences.iter().filter(|(_, call)| default.contains(call)) {
                rows.push(row![PG_ATTRDEF, oid, 0, PG_CLASS, *sequence, 0, "n"]);
            }
        }
    }
}

/// What indexes, checks and generated columns name of what the database made.
fn expressions_depend(view: &View, model: &Model, rows: &mut Rows) {
    let mut add = |class: u32, oid: u32, program: &str| {
        for named in named_by(program) {
            let of = match view.objects.functions().by_oid(named) {
                Some(_) => functions::PG_PROC,
                None => PG_TYPE,
            };
            rows.push(row![class, oid, 0, of, named, 0, "n"]);
        }
    };
    for (_, table) in tables(model) {
        for index in &table.indexes {
            let ids = index.key.iter().map(|part| part.column).chain(index.filter);
            for derived in ids.filter_map(|id| table.derived(id)) {
                add(PG_CLASS, oids::of_index(index.id), &derived.program);
            }
        }
        for check in &table.checks {
            if let onlap::Expr::Formula(program, _) = &check.expr {
                add(PG_CONSTRAINT, oids::of_part(table.id, "check", &check.name), program);
            }
        }
        for of in &table.generated {
            let Some(at) = table.position(of.column) else { continue };
            let oid = oids::of_part(table.id, "default", &table.columns[at].name);
            add(PG_ATTRDEF, oid, &of.program);
        }
    }
}

/// What the queries of views read.
fn views_depend(view: &View, model: &Model, rows: &mut Rows) {
    for relation in model.relations.iter().filter(|r| matches!(r.kind(), "v" | "m")) {
        let rule = rule_of(relation);
        rows.push(row![PG_REWRITE, rule, 0, PG_CLASS, relation.oid, 0, "i"]);
        rows.push(row![PG_REWRITE, rule, 0, PG_CLASS, relation.oid, 0, "n"]);
        let object = match relation.table() {
            Some(table) => crate::ddl::materialized::object(view, table.id),
            None => view.objects.get(Kind::View, &relation.name.engine(&view.database)),
        };
        for used in object.iter().flat_map(|object| bound::uses(&object.body)) {
            let whole = used.reads.is_empty().then_some(0);
            for column in used.reads.iter().copied().chain(whole) {
                rows.push(row![PG_REWRITE, rule, 0, PG_CLASS, used.oid, column, "n"]);
            }
        }
    }
}

/// The types that functions take and give, and the relations of whose rows types are.
fn functions_depend(view: &View, model: &Model, rows: &mut Rows) {
    for relation in model.relations.iter().filter(|of| !matches!(of.what, What::Composite(..))) {
        let row = row_types::shown_of(relation);
        if row != 0 {
            rows.push(row![PG_TYPE, row, 0, PG_CLASS, relation.oid, 0, "i"]);
            rows.push(row![PG_TYPE, row + 1, 0, PG_TYPE, row, 0, "i"]);
        }
    }
    for made in view.objects.made_types().of_database(&view.database) {
        rows.push(row![PG_TYPE, made.array, 0, PG_TYPE, made.oid, 0, "i"]);
    }
    for function in view.objects.functions().of_database(&view.database) {
        let mut types: Vec<u32> = function.parameters.iter().map(|of| of.ty).collect();
        types.push(function.result);
        if let Some(aggregate) = &function.aggregate {
            types.push(aggregate.made.state);
            let is_own = |oid: &u32| view.objects.functions().by_oid(*oid).is_some();
            for part in aggregate.functions().filter(is_own) {
                rows.push(row![
                    functions::PG_PROC,
                    function.oid,
                    0,
                    functions::PG_PROC,
                    part,
                    0,
                    "n"
                ]);
            }
        }
        types.sort_unstable();
        types.dedup();
        for ty in types.into_iter().filter(|ty| is_made(*ty)) {
            rows.push(row![functions::PG_PROC, function.oid, 0, PG_TYPE, ty, 0, "n"]);
        }
    }
}
