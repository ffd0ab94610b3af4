//! Which statements divide a table over several servers?
//!
//! PostgreSQL divides rows among partitions by a hash of their key, and postgres_fdw keeps a partition on another server: [`plan`]
//! writes what both need, for tables of this server on each shard and a partitioned one on the PostgreSQL that coordinates
//! them (`docs/scale-out.md`). Nothing is run, and no server is asked.
//!
//! Thread safety: pure.

use std::collections::HashSet;

use onlap_base::limits::NAME_BYTES;
use onlap_pg::ast::{
    ColumnRule, CreateTable, Lasting, NewColumn, Statement, TableElement, TableKind,
};
use onlap_pg::grammar::{Kind, Tokens};
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::names::quote;
use crate::error::{Result, SqlError, state};
use crate::parse;

/// Rows that postgres_fdw fetches at once: it keeps them in the coordinator's memory.
const FETCH_SIZE: u32 = 10_000;
/// Rows that it inserts by one statement.
const BATCH_SIZE: u32 = 1000;
/// Most shards: a query without the key asks all of them.
const NODES_MAX: usize = 1000;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The shards, as `host:port` or `host:port/database`.
    pub nodes: &'a [String],
    /// The table, as in CREATE TABLE: its name, and its columns in parentheses.
    pub table: &'a str,
    /// The columns by which rows are divided.
    pub key: &'a [String],
    /// Whether several rows may have the same key.
    pub repeats: bool,
    /// The database on the shards that name none.
    pub database: &'a str,
    /// The role on the shards.
    pub user: &'a str,
}

/// What to run where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The shards.
    pub shards: Vec<Shard>,
    /// The statements for the coordinator.
    pub coordinator: Vec<String>,
}

/// What to run on a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its address, as `host:port`.
    pub node: String,
    /// Its database.
    pub database: String,
    /// The statements.
    pub sql: Vec<String>,
}

/// The shards compare texts by their bytes, fold the case of ASCII alone, and know no other letters: postgres_fdw pushes such comparisons
/// down and believes the shards' order, so that answers would be wrong without an error.
const COLLATION: &str = "DO $$ BEGIN IF NOT (SELECT datlocprovider = 'c' AND datcollate IN ('C', 'POSIX') AND datctype IN ('C', 'POSIX') \
     FROM pg_database WHERE datname = current_database()) THEN RAISE EXCEPTION USING ERRCODE = '0A000', \
     MESSAGE = 'the coordinator''s database must have the locale C, as its shards do', \
     HINT = 'CREATE DATABASE name TEMPLATE template0 LOCALE ''C'' makes one.'; END IF; END $$";

/// The statements that divide a table.
///
/// # Errors
/// `22023`: nodes or a key that cannot be; `42601` and `0A000`: a table that cannot be divided.
pub fn plan(asked: &Asked<'_>) -> Result<Plan> {
    let nodes = nodes(asked)?;
    let text = format!("CREATE TABLE {}", asked.table);
    let mut all = parse::statements(&text)?;
    let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
        return Err(SqlError::new(state::SYNTAX, "a plan is for one table"));
    };
    let Statement::CreateTable(table) = parsed.statement() else {
        return Err(SqlError::new(
            state::SYNTAX,
            "a plan is for a name and columns in parentheses",
        ));
    };
    let columns = columns(table, &text)?;
    let key = key(table, asked.key)?;
    let path: Vec<&str> = table.name.iter().map(|part| &**part).collect();
    let (schema, name) = match path[..] {
        [name] => (None, name),
        [schema, name] => (Some(schema), name),
        _ => return Err(wrong("a table has a name, or a schema and a name".to_string())),
    };
    // Roles of shards may look for names in other schemas first.
    let schema = schema.unwrap_or("public");
    if schema.starts_with("pg_") || schema == "information_schema" {
        return Err(wrong(format!("schema \"{schema}\" is the system's")));
    }
    let within = quote(schema);
    let whole = format!("{within}.{}", quote(name));
    let unique = if asked.repeats { String::new() } else { format!(", PRIMARY KEY ({key})") };
    // A comment may stand at the end of the columns.
    let shard = format!("CREATE TABLE {whole} ({columns}\n{unique})");
    let divided = format!("CREATE TABLE {whole} ({columns}\n) PARTITION BY HASH ({key})");
    let made = (schema != "public").then(|| format!("CREATE SCHEMA IF NOT EXISTS {within}"));
    let mut on_shard: Vec<String> = made.clone().into_iter().collect();
    on_shard.push(shard);
    let shards = nodes.iter().map(|node| Shard {
        node: node.said.clone(),
        database: node.database.clone(),
        sql: on_shard.clone(),
    });
    let shards = shards.collect();
    // psql goes on past an error: of a transaction nothing stays.
    let mut coordinator = vec!["BEGIN".to_string(), COLLATION.to_string()];
    coordinator.push("CREATE EXTENSION IF NOT EXISTS postgres_fdw".to_string());
    nodes.iter().for_each(|node| coordinator.extend(node.server(asked.user)));
    coordinator.extend(made);
    coordinator.push(divided);
    for (at, node) in nodes.iter().enumerate() {
        let part = format!("{name}_{at}");
        if part.len() > NAME_BYTES {
            return Err(wrong(format!("the name of partition \"{part}\" is too long")));
        }
        coordinator.push(format!(
            "CREATE FOREIGN TABLE {within}.{} PARTITION OF {whole} FOR VALUES WITH (MODULUS {}, REMAINDER {at}) {}",
            quote(&part),
            nodes.len(),
            node.partition(asked.user, (schema, name)),
        ));
    }
    coordinator.push("COMMIT".to_string());
    Ok(Plan { shards, coordinator })
}

/// A shard.
struct Node {
    said: String,
    host: String,
    port: u16,
    database: String,
}

impl Node {
    fn of(said: &str, database: &str) -> Result<Node> {
        let no = || {
            wrong(format!(
                "\"{said}\" is not the address of a shard: host:port or host:port/database is"
            ))
        };
        let (host, port) = said.rsplit_once(':').ok_or_else(no)?;
        let (port, database) = port.split_once('/').unwrap_or((port, database));
        let database = name(database, "a database")?;
        let port = port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(no)?;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_bare = inner.is_none() && host.contains(':');
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | ',');
        if host.is_empty() || is_bare || inner.unwrap_or(host).is_empty() {
            return Err(no());
        }
        if inner.unwrap_or(host).contains(is_odd) {
            return Err(no());
        }
        // A folder of sockets is no name of a machine, in which upper case means nothing.
        let is_path = host.starts_with('/');
        let known = if is_path { host.to_string() } else { host.to_ascii_lowercase() };
        let said = format!("{known}:{port}");
        let host = inner.map_or(known, str::to_ascii_lowercase);
        Ok(Node { said, host, port, database })
    }

    /// The server's name on the coordinator: it says all that a server and its user mapping are made of, so that plans of several tables
    /// share it, and none takes another database or role for its own.
    fn name(&self, user: &str) -> String {
        let whole = format!("{user}@{}/{}", self.said, self.database);
        if whole.len() <= NAME_BYTES {
            return whole;
        }
        let print = format!("~{:016x}", xxh3_64(whole.as_bytes()));
        let mut kept = NAME_BYTES - print.len();
        while !whole.is_char_boundary(kept) {
            kept -= 1;
        }
        format!("{}{print}", &whole[..kept])
    }

    /// Where a partition lies.
    fn partition(&self, user: &str, (schema, table): (&str, &str)) -> String {
        let server = quote(&self.name(user));
        let (schema, table) = (literal(schema), literal(table));
        format!("SERVER {server} OPTIONS (schema_name {schema}, table_name {table})")
    }

    /// What the coordinator needs to know of it.
    fn server(&self, user: &str) -> [String; 2] {
        let name = quote(&self.name(user));
        let options = format!(
            "host {}, port '{}', dbname {}, async_capable 'true', fetch_size '{FETCH_SIZE}', batch_size '{BATCH_SIZE}'",
            literal(&self.host),
            self.port,
            literal(&self.database),
        );
        [
            format!(
                "CREATE SERVER IF NOT EXISTS {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({options})"
            ),
            format!(
                "CREATE USER MAPPING IF NOT EXISTS FOR CURRENT_USER SERVER {name} OPTIONS (user {})",
                literal(user)
            ),
        ]
    }
}

/// A name that a database or role of a shard can have.
fn name(said: &str, what: &str) -> Result<String> {
    match said.is_empty() || said.len() > NAME_BYTES || said.contains(char::is_control) {
        true => Err(wrong(format!("{said:?} is not the name of {what}"))),
        false => Ok(said.to_string()),
    }
}

fn nodes(asked: &Asked<'_>) -> Result<Vec<Node>> {
    name(asked.user, "a role")?;
    name(asked.database, "a database")?;
    let nodes = asked.nodes.iter().map(|node| Node::of(node, asked.database));
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    if !(2..=NODES_MAX).contains(&nodes.len()) {
        return Err(wrong(format!(
            "a plan is for 2 to {NODES_MAX} shards, not for {}",
            nodes.len()
        )));
    }
    let mut known = HashSet::new();
    for node in &nodes {
        if !known.insert((&node.host, node.port, &node.database)) {
            let (said, database) = (&node.said, &node.database);
            return Err(wrong(format!("database \"{database}\" of shard {said} is named twice")));
        }
    }
    Ok(nodes)
}

/// The text of a table's columns, if they may be those of one that is divided.
fn columns<'t>(table: &CreateTable, text: &'t str) -> Result<&'t str> {
    let is_plain = table.lasting == Lasting::Permanent
        && table.kind == TableKind::Plain
        && table.inherits.is_empty()
        && table.partition_by.is_none()
        && table.kept.method.is_none()
        && table.kept.settings.is_empty()
        && table.kept.on_commit.is_none()
        && table.kept.tablespace.is_none();
    if !is_plain || table.skip {
        return Err(cannot("a plan is for a name and columns in parentheses"));
    }
    for element in &table.elements {
        let rules = match element {
            TableElement::Column(column) => &column.rules,
            TableElement::Constraint(of) => match &of.rule {
                onlap_pg::ast::TableRule::Check(_) => continue,
                _ => return Err(of_key()),
            },
            TableElement::Like(..) => return Err(cannot("LIKE is not for a plan")),
        };
        for rule in rules {
            match rule.rule {
                ColumnRule::Primary(_) | ColumnRule::Unique(..) | ColumnRule::References(_) => {
                    return Err(of_key());
                }
                ColumnRule::Identity(..) => return Err(of_numbers()),
                _ => {}
            }
        }
    }
    let named = table.elements.iter().filter_map(|element| match element {
        TableElement::Column(column) => Some(column),
        _ => None,
    });
    for column in named {
        let ty = column.ty.as_ref().and_then(|ty| ty.name.last());
        let serial = ["serial", "bigserial", "smallserial", "serial2", "serial4", "serial8"];
        if ty.is_some_and(|ty| serial.contains(&&**ty)) {
            return Err(of_numbers());
        }
    }
    let first = table.elements.first().map(|element| match element {
        TableElement::Column(column) => column.place,
        TableElement::Constraint(of) => of.place,
        TableElement::Like(..) => 0,
    });
    let first = first.ok_or_else(|| cannot("a table without columns cannot be divided"))? as usize;
    let tokens = Tokens::of(text);
    let last = tokens.all.iter().rfind(|token| token.kind != Kind::End);
    let Some(last) = last.filter(|last| last.kind == Kind::Char(')')) else {
        return Err(cannot(
            "a plan is for a name and columns in parentheses, and nothing behind them",
        ));
    };
    if !text[last.end as usize..].trim().is_empty() {
        return Err(cannot("comments behind the columns are not for a plan"));
    }
    let columns = text.get(first..last.start as usize).map(str::trim);
    columns.ok_or_else(|| SqlError::defect("columns stand in parentheses"))
}

/// The key as SQL.
fn key(table: &CreateTable, said: &[String]) -> Result<String> {
    if said.is_empty() {
        return Err(wrong("a key has a column or several".to_string()));
    }
    let column = |name: &String| {
        let mut columns = table.elements.iter().filter_map(|element| match element {
            TableElement::Column(column) => Some(column),
            _ => None,
        });
        columns.find(|column| *column.name == **name)
    };
    let is_generated = |column: &NewColumn| {
        column.rules.iter().any(|rule| matches!(rule.rule, ColumnRule::Generated(_)))
    };
    for (at, name) in said.iter().enumerate() {
        let Some(column) = column(name) else {
            return Err(SqlError::new(
                state::NO_COLUMN,
                format!("column \"{name}\" of the key is no column of the table"),
            ));
        };
        if is_generated(column) {
            let text = "cannot use generated column in partition key";
            let detail = format!("Column \"{name}\" is a generated column.");
            return Err(SqlError::new("42P17", text).detail(detail));
        }
        if said[..at].contains(name) {
            return Err(wrong(format!("column \"{name}\" of the key is named twice")));
        }
    }
    Ok(said.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", "))
}

fn literal(text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    if text.contains('\\') { format!("E{quoted}") } else { quoted }
}

fn wrong(text: String) -> SqlError {
    SqlError::new("22023", text)
}

fn cannot(text: &str) -> SqlError {
    SqlError::new(state::UNSUPPORTED, text)
}

fn of_key() -> SqlError {
    cannot("PRIMARY KEY, UNIQUE, EXCLUDE and REFERENCES cannot be kept over shards")
        .hint("The key by which rows are divided is unique on each shard, and so over all.")
}

fn of_numbers() -> SqlError {
    cannot("each shard would count by itself").hint(
        "Make a sequence on the coordinator, and DEFAULT nextval of it there once the table is made.",
    )
}
