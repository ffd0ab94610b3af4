//! Which OID does an object have?
//!
//! OIDs follow from ids of the engine, so they stay the same for as long as an object lives:
//!
//! | from | what |
//! |---|---|
//! | 1 | what PostgreSQL has from the start |
//! | 16384 + 2 x id | tables |
//! | 16385 + 2 x id | indexes |
//! | 1,000,000,000 + id | sequences |
//! | 1,090,000,000 | what extensions have |
//! | 1,100,000,000 + id | objects that the engine does not know: views, roles, schemas, databases |
//! | 1,200,000,000 + 2 x id | constraints of primary keys and unique indexes, by index |
//! | 1,200,000,001 + 2 x id | rules, by their number among objects |
//! | 1,300,000,000 + hash | other constraints, defaults |
//! | 2,000,000,000 + 2 x id | types of the rows of tables, with those of their arrays |
//! | 2,100,000,000 + 2 x id | those of views |
//! | 2,140,000,000 + 2 x OID | those of the system's tables and views |
//! | 2,141,000,000 + 2 x n | those of views of extensions |
//! | 2,147,000,000 | tables of changed rows, which triggers name |
//!
//! All are below 2^31: some clients keep OIDs in signed numbers.

use onlap::{IndexId, TableId};

/// Schema pg_catalog.
pub const PG_CATALOG: u32 = 11;
/// Schema public.
pub const PUBLIC: u32 = 2200;
/// Schema information_schema.
pub const INFORMATION_SCHEMA: u32 = 13_183;
/// Schema onlap_stat; its views have the OIDs from 16,210 on, which PostgreSQL gives to nothing.
pub const ONLAP_STAT: u32 = 16_200;
/// Schema onlap.
pub const ONLAP: u32 = 16_201;
/// Role postgres.
pub const POSTGRES: u32 = 10;
/// Database postgres.
pub const DATABASE: u32 = 5;
/// The first OID that is not PostgreSQL's own.
pub const FIRST_OWN: u32 = 16_384;
/// Role that the owner of each database is in.
pub const PG_DATABASE_OWNER: u32 = 6171;
/// Role that reads all rows.
pub const PG_READ_ALL_DATA: u32 = 6181;
/// Role that writes all rows.
pub const PG_WRITE_ALL_DATA: u32 = 6182;
/// Role that watches the server.
pub const PG_MONITOR: u32 = 3373;
/// Role that sees all settings.
pub const PG_READ_ALL_SETTINGS: u32 = 3374;
/// Role that sees what all sessions do.
pub const PG_READ_ALL_STATS: u32 = 3375;
/// Role that may look at tables for statistics.
pub const PG_STAT_SCAN_TABLES: u32 = 3377;
/// Role that ends statements and sessions of others.
pub const PG_SIGNAL_BACKEND: u32 = 4200;
/// Role that may ask for a checkpoint.
pub const PG_CHECKPOINT: u32 = 4544;

/// Tables and views of the system that PostgreSQL shows superusers alone: passwords, statistics of values,
/// files and memory of the server, subscriptions.
pub const PRIVATE: &[u32] = &[
    1260, 1418, 2613, 2619, 3429, 6100, 12_005, 12_110, 12_114, 12_118, 12_130, 12_134, 12_138,
    12_332,
];

/// pg_subscription, of which all may read all columns but the one that says how to connect.
pub const SUBSCRIPTIONS: u32 = 6100;
/// The number of that column.
pub const SUBSCRIPTION_PASSWORD: u32 = 11;

/// What a trigger calls the table of the rows that were there before, and that of those that came.
pub const TRANSITIONS: [u32; 2] = [2_147_000_000, 2_147_000_002];

/// A table's.
pub fn of_table(id: TableId) -> u32 {
    16_384 + 2 * id.0
}
/// An index's.
pub fn of_index(id: IndexId) -> u32 {
    16_385 + 2 * id.0
}
/// A sequence's.
pub fn of_sequence(id: u32) -> u32 {
    1_000_000_000 + id
}
/// The first of those that extensions have, up to [`OF_OBJECTS`].
pub const OF_EXTENSIONS: u32 = 1_090_000_000;
/// The first of objects of the SQL layer.
const OF_OBJECTS: u32 = 1_100_000_000;
/// pg_stat_statements_reset(), which is for superusers unless it is granted.
pub const RESET_STATEMENTS: u32 = 1_090_005_000;
/// How many objects of the SQL layer have an OID of their own: those of constraints come behind.
pub const OBJECTS: u32 = 100_000_000;

/// That of an object of the SQL layer.
pub fn of_object(number: u32) -> u32 {
    OF_OBJECTS + number
}
/// That of the constraint that an index stands for.
pub fn of_index_constraint(id: IndexId) -> u32 {
    1_200_000_000 + 2 * id.0
}
/// A rule's.
pub fn of_rule(number: u32) -> u32 {
    1_200_000_001_u32.wrapping_add(number.wrapping_mul(2))
}
/// That of a named part of a table: a check, a foreign key, a default.
pub fn of_part(table: TableId, kind: &str, name: &str) -> u32 {
    // FNV-1a: the same in every release.
    let mut hash: u32 = 0x811c_9dc5;
    for b in kind.bytes().chain([0]).chain(name.bytes()).chain(table.0.to_le_bytes()) {
        hash = (hash ^ u32::from(b)).wrapping_mul(0x0100_0193);
    }
    1_300_000_000 + hash % 700_000_000
}
/// The first of those that the types of relations' rows have.
const OF_ROWS: u32 = 2_000_000_000;

/// Whether it may be that of the type of a relation's rows, or of arrays of them.
pub fn is_of_rows(oid: u32) -> bool {
    oid >= OF_ROWS
}

/// That of the rows of which a type is the array, if it is one of arrays of a relation's rows.
pub fn element_of_rows(array: u32) -> Option<u32> {
    (is_of_rows(array) && array % 2 == 1).then(|| array - 1)
}
/// That of the type of a table's or view's rows; the next is its array's.
pub fn of_row(relation: u32) -> u32 {
    match relation {
        0..FIRST_OWN => 2_140_000_000 + 2 * relation,
        OF_EXTENSIONS..OF_OBJECTS => 2_141_000_000 + 2 * (relation - OF_EXTENSIONS).min(1_000_000),
        FIRST_OWN..1_000_000_000 => OF_ROWS + (relation - FIRST_OWN),
        _ => 2_100_000_000_u32.wrapping_add(2 * relation.saturating_sub(1_100_000_000)),
    }
}
