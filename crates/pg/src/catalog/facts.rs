//! Where do the facts come from, and what is in each column?
//!
//! `cargo run -p xtask -- catalog` takes them from a PostgreSQL 15; a test compares them with one. Lines are rows,
//! values are separated by tabs, `\N` is NULL. Texts stay where the program has them.

/// A table of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typrelid,
    /// typsubscript, typelem, typarray, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze,
    /// typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation
    Type,
    /// rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical, rngsubdiff
    Range,
    /// oid, oprname, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate, oprcode,
    /// oprrest, oprjoin
    Operator,
    /// oid, proname, prolang, procost, prorows, provariadic, prosupport, prokind, prosecdef, proleakproof,
    /// proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype, proargtypes,
    /// proallargtypes, proargmodes, proargnames, expressions of proargdefaults, prosrc of what is not SQL,
    /// proacl
    Proc,
    /// castsource, casttarget, castfunc, castcontext, castmethod, oid
    Cast,
    /// aggfnoid, aggkind, aggnumdirectargs, and all other columns of pg_aggregate in order
    Aggregate,
}

/// A row's values.
#[derive(Clone, Debug)]
pub struct Row(Vec<&'static str>);

impl Row {
    /// Of a line.
    pub(super) fn of(line: &'static str) -> Row {
        Row(line.split('\t').collect())
    }

    /// All values.
    pub fn texts(&self) -> &[&'static str] {
        &self.0
    }

    /// The text of a column; `\N` for NULL.
    pub fn text(&self, column: usize) -> &'static str {
        self.0[column]
    }

    /// The number in a column.
    pub fn number<T: std::str::FromStr>(&self, column: usize) -> T {
        let text = self.0[column];
        text.parse().ok().unwrap_or_else(|| panic!("the catalog's files have a number, not {text}"))
    }

    /// Whether a column is true.
    pub fn flag(&self, column: usize) -> bool {
        self.0[column] == "t"
    }

    /// The one character of a column.
    pub fn letter(&self, column: usize) -> u8 {
        self.0[column].as_bytes()[0]
    }
}

/// The rows of a table.
pub fn rows(table: Table) -> impl Iterator<Item = Row> {
    let text = match table {
        Table::Type => include_str!("data/pg_type.tsv"),
        Table::Range => include_str!("data/pg_range.tsv"),
        Table::Operator => include_str!("data/pg_operator.tsv"),
        Table::Proc => include_str!("data/pg_proc.tsv"),
        Table::Cast => include_str!("data/pg_cast.tsv"),
        Table::Aggregate => include_str!("data/pg_aggregate.tsv"),
    };
    text.lines().map(Row::of)
}
