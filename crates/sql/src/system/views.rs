//! What do the catalogs' views say: pg_tables, pg_indexes, figures of use?

use super::classes::owner_of;
use super::model::{Model, Relation, What};
use super::rows::{Datum, Rows};
use super::sight::Sight;
use super::{figures, policies, rules, text};
use onlap_pg::print::Look;

use crate::catalog::oids;
use crate::catalog::storage::Storage;
use crate::error::Result;
use crate::formulas::Shown;
use crate::query::{Printed, Reader};
use crate::row;
use crate::view::View;

/// The rows of a table of this module.
///
/// # Errors
/// The transaction has ended; figures cannot be read.
pub fn rows(view: &View, table: &str) -> Result<Option<Rows>> {
    Ok(Some(match table {
        "pg_tables" => tables(view, &Model::of(view)?),
        "pg_views" => queries(view, &Model::of(view)?)?,
        "pg_matviews" => materialized(view, &Model::of(view)?)?,
        "pg_policies" => policies::listed(view, &Model::of(view)?),
        "pg_rules" => rules::rules(view, &Model::of(view)?),
        "pg_indexes" => indexes(view, &Model::of(view)?),
        "pg_sequences" => sequences(view, &Model::of(view)?),
        "pg_stat_user_tables" | "pg_stat_all_tables" => figures::relations::tables(view)?,
        "pg_stat_user_indexes" | "pg_stat_all_indexes" => figures::relations::indexes(view)?,
        "pg_stat_xact_user_tables" | "pg_stat_xact_all_tables" => {
            figures::relations::of_transaction(view)?
        }
        "pg_statio_user_tables" | "pg_statio_all_tables" => figures::relations::table_blocks(view)?,
        "pg_statio_user_sequences" | "pg_statio_all_sequences" => {
            sequence_blocks(&Model::of(view)?)
        }
        "pg_statio_user_indexes" | "pg_statio_all_indexes" => {
            figures::relations::index_blocks(view)?
        }
        _ => return Ok(None),
    }))
}

/// Sequences have no blocks.
fn sequence_blocks(model: &Model) -> Rows {
    let mut rows = Rows::of("relid schemaname relname blks_read blks_hit");
    for relation in model.relations.iter().filter(|relation| relation.kind() == "S") {
        rows.push(row![relation.oid, &relation.name.schema, &relation.name.name, 0, 0]);
    }
    rows
}

/// The name of a relation's owner.
pub fn owner_name(view: &View, model: &Model, relation: &Relation) -> String {
    let owner = owner_of(view, relation);
    model.roles.iter().find(|r| r.0 == owner).map_or_else(String::new, |r| r.1.clone())
}

fn tables(view: &View, model: &Model) -> Rows {
    let mut rows =
        Rows::of("schemaname tablename tableowner hasindexes hasrules hastriggers rowsecurity");
    for relation in model.relations.iter().filter(|r| matches!(r.kind(), "r" | "p")) {
        let indexed = relation.table().is_some_and(|t| !t.indexes.is_empty());
        let own = crate::catalog::triggers::has_any(&view.objects, relation.oid);
        let triggers = own || relation.table().is_some_and(|t| !t.foreign_keys.is_empty());
        let owner = owner_name(view, model, relation);
        let name = &relation.name;
        let rules = crate::catalog::rules::has_any(&view.objects, relation.oid);
        let secured = crate::catalog::policies::are_enabled(&view.objects, relation.oid);
        rows.push(row![&name.schema, &name.name, owner, indexed, rules, triggers, secured]);
    }
    rows
}

fn queries(view: &View, model: &Model) -> Result<Rows> {
    let mut rows = Rows::of("schemaname viewname viewowner definition");
    let printed = Printed::new(view, model);
    for relation in &model.relations {
        let What::View = relation.what else { continue };
        let owner = owner_name(view, model, relation);
        let definition = printed.listed(relation)?;
        rows.push(row![&relation.name.schema, &relation.name.name, owner, definition]);
    }
    Ok(rows)
}

fn materialized(view: &View, model: &Model) -> Result<Rows> {
    let mut rows = Rows::of(
        "schemaname matviewname matviewowner tablespace hasindexes ispopulated definition",
    );
    let printed = Printed::new(view, model);
    for relation in model.relations.iter().filter(|relation| relation.materialized) {
        let indexed = relation.table().is_some_and(|t| !t.indexes.is_empty());
        rows.push(row![
            &relation.name.schema,
            &relation.name.name,
            owner_name(view, model, relation),
            Datum::Null,
            indexed,
            view.judge.rights().materialized(relation.oid),
            printed.listed(relation)?,
        ]);
    }
    Ok(rows)
}

/// A table's whole name in SQL.
///
/// An index of a partitioned table is of the table alone: those of partitions are said by themselves.
pub fn qualified(model: &Model, table: onlap::TableId) -> String {
    let relation = model.relation(oids::of_table(table));
    relation.map_or_else(String::new, |r| {
        let quote = crate::catalog::names::quote;
        let only = if r.divided { "ONLY " } else { "" };
        format!("{only}{}.{}", quote(&r.name.schema), quote(&r.name.name))
    })
}

fn indexes(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("schemaname tablename indexname indexdef");
    let (catalog, reader) = (crate::formulas::catalog_of(view), Reader::new(view));
    let shown = Shown { catalog: &catalog, reader: Some(&reader) };
    for relation in &model.relations {
        let Some((table, index)) = relation.index() else { continue };
        let parent = model.relation(oids::of_table(table.id));
        rows.push(row![
            &relation.name.schema,
            parent.map(|p| p.name.name.clone()),
            &relation.name.name,
            text::index(
                table,
                index,
                &qualified(model, table.id),
                (Look::PLAIN, &Storage::of(&view.objects, relation.oid)),
                shown
            ),
        ]);
    }
    rows
}

fn sequences(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "schemaname sequencename sequenceowner data_type start_value min_value max_value \
         increment_by cycle cache_size last_value",
    );
    for relation in &model.relations {
        let What::Sequence(s) = &relation.what else { continue };
        let reads = Sight::of(view).reads_sequence(relation);
        let last = || view.scope.tx().ok().and_then(|tx| tx.sequence(&s.name).ok()?.current());
        let current = if reads { last() } else { None };
        rows.push(row![
            &relation.name.schema,
            &relation.name.name,
            owner_name(view, model, relation),
            super::classes::sequence_type(s.max),
            s.start,
            s.min,
            s.max,
            s.increment,
            s.cycle,
            s.cache.max(1),
            current,
        ]);
    }
    rows
}
