//! The tables, with their rows in memory.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::{Cx, Datum, input, repr};
use onlap_pg::bind::{Column, Relation, Schema};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::{Oid, Result, TypeRef};
use onlap_query::{Facts, Read, Restriction, Scanned, Step, Tables, View, Wanted, stream_of};
use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;

use crate::ours::Quiet;

const SETUP: &str = include_str!("setup.sql");

/// Relations, and the columns of their rows.
pub struct Data {
    relations: HashMap<String, Arc<Relation>>,
    rows: HashMap<Oid, Vec<ArrayRef>>,
}

impl Data {
    /// Makes the tables, and reads them.
    pub fn new(postgres: &Postgres) -> Data {
        let mut client =
            SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
        let mut ask = |sql: &str| {
            let outcome = client.run(sql).expect("it answers");
            assert_eq!(outcome.error, None, "{sql}");
            outcome.rows.into_iter().map(|row| row.into_iter().collect()).collect::<Vec<Vec<_>>>()
        };
        ask(SETUP);
        ask("set timezone = 'UTC'");
        let mut data = Data { relations: HashMap::new(), rows: HashMap::new() };
        let tables =
            ask("select oid, relname, reltype from pg_class where relkind = 'r' and oid >= 16384");
        for table in tables {
            let cell = |n: usize| table[n].clone().expect("it is not NULL");
            let oid: Oid = cell(0).parse().expect("a number");
            let columns = ask(&format!(
                "select attname, atttypid, atttypmod, attcollation from pg_attribute where attrelid = {oid} and attnum > 0 order by attnum"
            ));
            let key = ask(&format!(
                "select unnest(conkey) from pg_constraint where conrelid = {oid} and contype = 'p'"
            ));
            let number = |cell: &Option<String>| -> i32 {
                cell.as_deref().and_then(|text| text.parse().ok()).expect("a number")
            };
            let columns: Vec<Column> = columns
                .iter()
                .map(|row| Column {
                    name: row[0].clone().expect("a name").into(),
                    ty: TypeRef { oid: number(&row[1]) as u32, modifier: number(&row[2]) },
                    collation: number(&row[3]) as u32,
                    dropped: false,
                })
                .collect();
            let rows = ask(&format!("select * from \"{}\"", cell(1)));
            data.rows.insert(oid, arrays(&columns, &rows));
            let relation = Relation {
                oid,
                row: cell(2).parse().expect("a number"),
                name: cell(1).into(),
                kind: b'r',
                columns,
                key: key.iter().map(|row| number(&row[0])).collect(),
            };
            data.relations.insert(cell(1), Arc::new(relation));
        }
        data
    }
}

fn arrays(columns: &[Column], rows: &[Vec<Option<String>>]) -> Vec<ArrayRef> {
    let (catalog, settings) = (Catalog::new(), Settings::default());
    let mut cx = Cx { catalog: &catalog, settings: &settings, session: &Quiet };
    let mut made = Vec::new();
    for (n, column) in columns.iter().enumerate() {
        let mut value = |row: &Vec<Option<String>>| match &row[n] {
            Some(text) => input(&mut cx, column.ty, text).expect("a value of the type"),
            None => Datum::Null,
        };
        let values: Vec<Datum<'_>> = rows.iter().map(&mut value).collect();
        let repr = repr(&catalog, column.ty.oid).expect("its values are served");
        made.push(Datum::column(repr, values.iter()).expect("they fit"));
    }
    made
}

impl Schema for Data {
    fn relation(&self, name: &[Box<str>]) -> Result<Option<Arc<Relation>>> {
        Ok(name.last().and_then(|name| self.relations.get(&**name)).cloned())
    }

    fn composite(&self, row: Oid) -> Option<Arc<Relation>> {
        self.relations.values().find(|relation| relation.row == row).cloned()
    }

    fn constraint(&self, _: Oid, _: &str) -> Option<Oid> {
        None
    }

    fn is_schema(&self, name: &str) -> bool {
        matches!(name, "public" | "pg_catalog")
    }

    fn is_database(&self, name: &str) -> bool {
        name == "postgres"
    }
}

impl Tables for Data {
    fn facts(&self, of: Read) -> Facts {
        let rows = self.rows[&of.relation].first().map_or(0, |column| column.len());
        Facts { rows: rows as f64, ..Facts::default() }
    }

    fn scan(&self, of: Read, columns: &[i32], _: Vec<Restriction>, _: &Wanted) -> Result<Scanned> {
        let all = &self.rows[&of.relation];
        let wanted = columns.iter().map(|n| Arc::clone(&all[*n as usize - 1]));
        let mut wanted: Vec<ArrayRef> = wanted.collect();
        if wanted.is_empty() {
            let there = vec![true; all.first().map_or(0, |column| column.len())];
            wanted.push(Arc::new(arrow_array::BooleanArray::from(there)));
        }
        let fields: Vec<(String, ArrayRef)> =
            wanted.into_iter().enumerate().map(|(n, column)| (format!("c{n}"), column)).collect();
        let batch = RecordBatch::try_from_iter_with_nullable(
            fields.into_iter().map(|(name, column)| (name, column, true)),
        );
        let batch = batch.expect("columns of one length");
        let schema = batch.schema();
        let run = move |_: Vec<Arc<dyn ExecutionPlan>>, _: Arc<_>| {
            let batch = batch.clone();
            let schema = batch.schema();
            Ok(stream_of(schema, futures::stream::once(async move { Ok(batch) })))
        };
        let plan = Step::make("Seq Scan", "", Vec::new(), schema, Arc::new(run));
        Ok(Scanned { plan, ordered: false })
    }

    fn view(&self, _: Oid) -> Result<Option<View>> {
        Ok(None)
    }
}
