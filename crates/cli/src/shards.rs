//! `onlap shards`: how is a table divided over several servers?
//!
//! Writes SQL for PostgreSQL's partitions and postgres_fdw (`docs/scale-out.md`). Asks no server and runs nothing.

use onlap_base::{Error, ErrorKind, Result};
use onlap_process::exit::Outcome;
use onlap_sql::shards::{Asked, Plan, plan};
use serde_json::{Value as Json, json};

/// What `onlap shards` can do.
#[derive(clap::Subcommand)]
pub enum Shards {
    /// Write what to run on each shard and on the coordinator, a PostgreSQL 15
    Plan(PlanArgs),
}

/// Flags of `onlap shards plan`.
#[derive(clap::Args)]
pub struct PlanArgs {
    /// The shards, separated by commas
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST:PORT[/DATABASE]")]
    nodes: Vec<String>,
    /// The table as in CREATE TABLE: its name and, in parentheses, its columns
    #[arg(long, value_name = "NAME (COLUMNS)")]
    table: String,
    /// The columns by which rows are divided, separated by commas: they are the primary key on each shard
    #[arg(long, required = true, value_delimiter = ',', value_name = "COLUMN")]
    key: Vec<String>,
    /// Several rows may have the same key: shards have no primary key
    #[arg(long)]
    not_unique: bool,
    /// The database on the shards that name none
    #[arg(long, default_value = "postgres", value_name = "NAME")]
    database: String,
    /// The role on the shards
    #[arg(long, default_value = "postgres", value_name = "ROLE")]
    user: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Runs `onlap shards`.
///
/// # Errors
/// Shards, or a table, of which no plan can be made.
pub fn run(asked: &Shards) -> Result<Outcome> {
    let Shards::Plan(args) = asked;
    let made = plan(&Asked {
        nodes: &args.nodes,
        table: &args.table,
        key: &args.key,
        repeats: args.not_unique,
        database: &args.database,
        user: &args.user,
    });
    let made = made.map_err(|e| {
        let hint = e.fields().into_iter().find(|(field, _)| *field == b'H');
        let hint = hint.map_or(String::new(), |(_, hint)| format!(" ({hint})"));
        Error::new(ErrorKind::InvalidInput, format!("{}{hint}", e.message()))
    })?;
    match args.json {
        true => println!("{:#}", as_json(&made)),
        false => print!("{}", as_text(&made)),
    }
    Ok(Outcome::Good)
}

fn as_json(made: &Plan) -> Json {
    let shards = made
        .shards
        .iter()
        .map(|of| json!({ "node": of.node, "database": of.database, "sql": of.sql }));
    json!({ "shards": shards.collect::<Vec<_>>(), "coordinator": made.coordinator })
}

fn as_text(made: &Plan) -> String {
    let mut text = String::new();
    let mut add = |head: &str, sql: &[String]| {
        text.push_str(head);
        sql.iter().for_each(|one| {
            text.push_str(one);
            text.push_str(";\n");
        });
        text.push('\n');
    };
    for shard in &made.shards {
        // A name in a comment stays in its line.
        add(&format!("-- On shard {}, database {:?}:\n", shard.node, shard.database), &shard.sql);
    }
    add(
        "-- On the coordinator, a PostgreSQL 15 with a database of locale C. Where the shards ask for a password, the user mappings need it: \
         ALTER USER MAPPING FOR CURRENT_USER SERVER … OPTIONS (ADD password '…').\n",
        &made.coordinator,
    );
    text.push_str("-- What this does not promise: docs/scale-out.md.\n");
    text
}
