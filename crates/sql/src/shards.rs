//! Which statements divide a table over several servers?
//!
//! PostgreSQL divides rows among partitions by a hash of their key, and postgres_fdw keeps a partition on another server: [`plan`]
//! writes what both need, for tables of this server on each shard and a partitioned one on the PostgreSQL that coordinates
//! them (`docs/scale-out.md`). Nothing is run, and no server is asked.
//!
//! Thread safety: pure.

use onlap_base::limits::NAME_BYTES;
use onlap_pg::ast::{ColumnRule, CreateTable, Lasting, Statement, TableElement, TableKind};

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
    /// The shards, as `host:port`.
    pub nodes: &'a [String],
    /// The table, as in CREATE TABLE: its name, and its columns in parentheses.
    pub table: &'a str,
    /// The columns by which rows are divided.
    pub key: &'a [String],
    /// Whether several rows may have the same key.
    pub repeats: bool,
    /// The database on the shards.
    pub database: &'a str,
    /// The role on the shards.
    pub user: &'a str,
}

/// What to run where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Each shard, and the statements for it.
    pub shards: Vec<(String, Vec<String>)>,
    /// The statements for the coordinator.
    pub coordinator: Vec<String>,
}

/// The statements that divide a table.
///
/// # Errors
/// `22023`: nodes or a key that cannot be; `42601` and `0A000`: a table that cannot be divided.
pub fn plan(asked: &Asked<'_>) -> Result<Plan> {
    let nodes = nodes(asked.nodes)?;
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
    let within = schema.map_or(String::new(), |schema| format!("{}.", quote(schema)));
    let whole = format!("{within}{}", quote(name));
    let unique = if asked.repeats { String::new() } else { format!(", PRIMARY KEY ({key})") };
    let shard = format!("CREATE TABLE {whole} ({columns}{unique})");
    let divided = format!("CREATE TABLE {whole} ({columns}) PARTITION BY HASH ({key})");
    must_have(&shard, table.elements.len() + usize::from(!asked.repeats), false)?;
    must_have(&divided, table.elements.len(), true)?;
    let made = schema.filter(|schema| *schema != "public");
    let made = made.map(|schema| format!("CREATE SCHEMA IF NOT EXISTS {}", quote(schema)));
    let mut on_shard: Vec<String> = made.clone().into_iter().collect();
    on_shard.push(shard);
    let shards = nodes.iter().map(|node| (node.said.clone(), on_shard.clone())).collect();
    let mut coordinator = vec!["CREATE EXTENSION IF NOT EXISTS postgres_fdw".to_string()];
    nodes.iter().for_each(|node| coordinator.extend(node.server(asked)));
    coordinator.extend(made);
    coordinator.push(divided);
    for (at, node) in nodes.iter().enumerate() {
        let part = format!("{name}_{at}");
        if part.len() > NAME_BYTES {
            return Err(wrong(format!("the name of partition \"{part}\" is too long")));
        }
        coordinator.push(format!(
            "CREATE FOREIGN TABLE {within}{} PARTITION OF {whole} FOR VALUES WITH (MODULUS {}, REMAINDER {at}) \
             SERVER {} OPTIONS (schema_name {}, table_name {})",
            quote(&part),
            nodes.len(),
            quote(&node.said),
            literal(schema.unwrap_or("public")),
            literal(name),
        ));
    }
    Ok(Plan { shards, coordinator })
}

/// A shard.
struct Node {
    said: String,
    host: String,
    port: u16,
}

impl Node {
    fn of(said: &str) -> Result<Node> {
        let no = || wrong(format!("\"{said}\" is not the address of a shard: host:port is"));
        let (host, port) = said.rsplit_once(':').ok_or_else(no)?;
        let port = port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(no)?;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_bare = inner.is_none() && host.contains(':');
        let host = inner.unwrap_or(host);
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | ',');
        if host.is_empty() || is_bare || said.len() > NAME_BYTES || host.contains(is_odd) {
            return Err(no());
        }
        Ok(Node { said: said.to_string(), host: host.to_string(), port })
    }

    /// What the coordinator needs to know of it. The server has the node's address as its name, so that plans of several tables
    /// share it.
    fn server(&self, asked: &Asked<'_>) -> [String; 2] {
        let name = quote(&self.said);
        let options = format!(
            "host {}, port '{}', dbname {}, async_capable 'true', fetch_size '{FETCH_SIZE}', batch_size '{BATCH_SIZE}'",
            literal(&self.host),
            self.port,
            literal(asked.database),
        );
        [
            format!(
                "CREATE SERVER IF NOT EXISTS {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({options})"
            ),
            format!(
                "CREATE USER MAPPING IF NOT EXISTS FOR CURRENT_USER SERVER {name} OPTIONS (user {})",
                literal(asked.user)
            ),
        ]
    }
}

fn nodes(said: &[String]) -> Result<Vec<Node>> {
    let nodes = said.iter().map(|node| Node::of(node)).collect::<Result<Vec<_>>>()?;
    if !(2..=NODES_MAX).contains(&nodes.len()) {
        return Err(wrong(format!(
            "a plan is for 2 to {NODES_MAX} shards, not for {}",
            nodes.len()
        )));
    }
    for (at, node) in nodes.iter().enumerate() {
        let before = &nodes[..at];
        if before.iter().any(|other| (&other.host, other.port) == (&node.host, node.port)) {
            return Err(wrong(format!("shard {} is named twice", node.said)));
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
    let ends = text.rfind(')').filter(|end| *end > first);
    ends.and_then(|end| text.get(first..end))
        .map(str::trim)
        .ok_or_else(|| SqlError::defect("columns stand in parentheses"))
}

/// Fails unless a text makes a table of this number of elements that is divided, or is not: a comment at the end of the columns
/// would hide what stands behind it.
fn must_have(text: &str, elements: usize, divided: bool) -> Result<()> {
    let no = || cannot("columns with a comment at their end are not for a plan");
    match &parse::statements(text).map_err(|_| no())?[..] {
        [one] => match one.statement() {
            Statement::CreateTable(table)
                if table.elements.len() == elements && table.partition_by.is_some() == divided =>
            {
                Ok(())
            }
            _ => Err(no()),
        },
        _ => Err(no()),
    }
}

/// The key as SQL.
fn key(table: &CreateTable, said: &[String]) -> Result<String> {
    if said.is_empty() {
        return Err(wrong("a key has a column or several".to_string()));
    }
    let is_column = |name: &String| {
        table.elements.iter().any(|element| match element {
            TableElement::Column(column) => *column.name == **name,
            _ => false,
        })
    };
    for (at, name) in said.iter().enumerate() {
        if !is_column(name) {
            return Err(SqlError::new(
                state::NO_COLUMN,
                format!("column \"{name}\" of the key is no column of the table"),
            ));
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
    SqlError::unsupported(text)
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
