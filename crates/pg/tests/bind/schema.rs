//! The relations and types of a running PostgreSQL, as the binder asks for them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use onlap_pg::bind::{Column, Relation, Schema};
use onlap_pg::catalog::{Catalog, Kind, Type};
use onlap_pg::{Error, Oid, Result, TypeRef};
use onlap_testkit::postgres::Postgres;

/// What the statements are about.
const SETUP: &str = include_str!("schema.sql");

/// The server's relations by schema and name.
pub struct Mirror {
    relations: HashMap<(String, String), Arc<Relation>>,
    rows: HashMap<Oid, Arc<Relation>>,
    constraints: HashMap<(Oid, String), Oid>,
    pub catalog: Catalog,
}

impl Mirror {
    /// Makes the schema, and reads it.
    pub fn new(postgres: &Postgres) -> Mirror {
        lines(postgres, SETUP);
        let mut mirror = Mirror {
            relations: HashMap::new(),
            rows: HashMap::new(),
            constraints: HashMap::new(),
            catalog: Catalog::with(types(postgres)),
        };
        mirror.read(postgres);
        mirror
    }

    fn read(&mut self, postgres: &Postgres) {
        let mut columns: HashMap<Oid, Vec<Column>> = HashMap::new();
        let script = "select attrelid, attname, atttypid, atttypmod, attisdropped, attcollation from pg_attribute \
                      where attnum > 0 and attrelid >= 16384 order by attrelid, attnum";
        for line in lines(postgres, script) {
            let [relation, name, ty, modifier, dropped, collation] = cells(&line);
            columns.entry(number(relation)).or_default().push(Column {
                name: name.into(),
                ty: TypeRef { oid: number(ty), modifier: number(modifier) },
                collation: number(collation),
                dropped: dropped == "t",
            });
        }
        let script = "select conrelid, conname, oid from pg_constraint where conrelid >= 16384";
        for line in lines(postgres, script) {
            let [relation, name, oid] = cells(&line);
            self.constraints.insert((number(relation), name.to_string()), number(oid));
        }
        let script = "select c.oid, c.reltype, n.nspname, c.relname, c.relkind, \
             coalesce((select array_to_string(conkey, ',') from pg_constraint where conrelid = c.oid \
             and contype = 'p' and not condeferrable), '') from pg_class c join pg_namespace n on \
             n.oid = c.relnamespace where c.oid >= 16384";
        for line in lines(postgres, script) {
            let [oid, row, schema, name, kind, key] = cells(&line);
            let relation = Arc::new(Relation {
                oid: number(oid),
                row: number(row),
                name: name.into(),
                kind: kind.as_bytes()[0],
                columns: columns.remove(&number(oid)).unwrap_or_default(),
                key: key.split(',').filter(|n| !n.is_empty()).map(number).collect(),
            });
            self.rows.insert(relation.row, relation.clone());
            self.relations.insert((schema.to_string(), name.to_string()), relation);
        }
    }
}

impl Schema for Mirror {
    fn relation(&self, name: &[Box<str>]) -> Result<Option<Arc<Relation>>> {
        let (schema, relation) = match name {
            [relation] => ("public", relation),
            [schema, relation] => (&**schema, relation),
            [database, schema, relation] => {
                if !self.is_database(database) {
                    let text = "cross-database references are not implemented: ";
                    let text = format!("{text}\"{database}.{schema}.{relation}\"");
                    return Err(Error::new("0A000", text));
                }
                (&**schema, relation)
            }
            _ => return Ok(None),
        };
        Ok(self.relations.get(&(schema.to_string(), relation.to_string())).cloned())
    }

    fn composite(&self, row: Oid) -> Option<Arc<Relation>> {
        self.rows.get(&row).cloned()
    }

    fn constraint(&self, relation: Oid, name: &str) -> Option<Oid> {
        self.constraints.get(&(relation, name.to_string())).copied()
    }

    fn is_schema(&self, name: &str) -> bool {
        matches!(name, "public" | "s2" | "pg_catalog")
    }

    fn is_database(&self, name: &str) -> bool {
        name == "postgres"
    }
}

fn types(postgres: &Postgres) -> Vec<Type> {
    let script = "select t.oid, typname, format_type(t.oid, null), typtype, typcategory, \
         typispreferred, typsubscript = 'array_subscript_handler'::regproc, typelem, typarray, \
         typbasetype, typtypmod, typlen, typcollation from pg_type t where t.oid >= 16384";
    let mut types = Vec::new();
    for line in lines(postgres, script) {
        let [
            oid,
            name,
            shown,
            kind,
            category,
            preferred,
            array,
            element,
            of,
            base,
            modifier,
            length,
            collation,
        ] = cells(&line);
        let kind = match kind {
            "c" => Kind::Composite,
            "d" => Kind::Domain,
            "e" => Kind::Enum,
            "r" => Kind::Range,
            "m" => Kind::Multirange,
            "p" => Kind::Pseudo,
            _ => Kind::Base,
        };
        let mut made = Type::made(number(oid), name, kind, category.as_bytes()[0], number(of));
        made.shown = Cow::Owned(shown.to_string());
        made.preferred = preferred == "t";
        made.is_array = array == "t";
        made.element = number(element);
        made.base = number(base);
        made.base_modifier = number(modifier);
        made.length = number(length);
        made.collation = number(collation);
        types.push(made);
    }
    types
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text} is a number"))
}

fn cells<const N: usize>(line: &str) -> [&str; N] {
    let cells: Vec<&str> = line.split('|').collect();
    cells.try_into().unwrap_or_else(|_| panic!("{N} cells: {line}"))
}

/// What a script writes.
fn lines(postgres: &Postgres, script: &str) -> Vec<String> {
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", script]);
    let output = psql.output().expect("psql is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_string).collect()
}
