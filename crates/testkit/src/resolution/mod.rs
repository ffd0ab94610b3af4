//! What does PostgreSQL choose for every operator, function and cast over all types?
//!
//! Lists cases ([`Case`]) in an order that never depends on anything but names, asks a PostgreSQL for each
//! ([`Judge`]), and keeps the answers in a compact text ([`table`]): the result's type and the tree with the chosen
//! OIDs and every conversion, or the SQLSTATE. A resolver is right when it gives the same answers.

mod cases;
pub mod facts;
mod judge;
pub mod table;
pub mod tree;

pub use cases::{casts, common, functions, named, operands, operators, parameters};
pub use judge::Judge;

/// Types made for the comparison: name, OID under which answers know it, and what makes it.
pub const MADE: [(&str, u32, &str); 9] = [
    ("hue", 90_001, "create type hue as enum ('red', 'green')"),
    ("mood", 90_003, "create type mood as enum ('ok')"),
    ("d_int", 90_005, "create domain d_int as int4"),
    ("d_small", 90_007, "create domain d_small as d_int check (value < 9)"),
    ("d_text", 90_009, "create domain d_text as varchar(5)"),
    ("d_ints", 90_011, "create domain d_ints as int4[]"),
    ("pair", 90_013, "create type pair as (a int4, b text)"),
    ("two", 90_015, "create type two as (a int8, b varchar(3))"),
    ("d_hue", 90_017, "create domain d_hue as hue"),
];

/// Types of columns, as SQL writes them.
pub const TYPES: [&str; 108] = [
    "bool",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "numeric",
    "numeric(10,2)",
    "money",
    "text",
    "varchar",
    "varchar(5)",
    "bpchar",
    "char(3)",
    "\"char\"",
    "name",
    "bytea",
    "uuid",
    "date",
    "time",
    "time(2)",
    "timetz",
    "timestamp",
    "timestamp(3)",
    "timestamptz",
    "interval",
    "interval(2)",
    "json",
    "jsonb",
    "jsonpath",
    "xml",
    "oid",
    "regclass",
    "regtype",
    "regproc",
    "regprocedure",
    "regoper",
    "regoperator",
    "regrole",
    "regnamespace",
    "regconfig",
    "regdictionary",
    "regcollation",
    "xid",
    "xid8",
    "cid",
    "tid",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "bit",
    "bit(3)",
    "varbit",
    "pg_lsn",
    "point",
    "box",
    "circle",
    "line",
    "lseg",
    "path",
    "polygon",
    "tsvector",
    "tsquery",
    "int4range",
    "int8range",
    "numrange",
    "daterange",
    "tsrange",
    "tstzrange",
    "int4multirange",
    "int8multirange",
    "nummultirange",
    "datemultirange",
    "tsmultirange",
    "tstzmultirange",
    "refcursor",
    "txid_snapshot",
    "pg_snapshot",
    "aclitem",
    "int2vector",
    "oidvector",
    "bool[]",
    "int2[]",
    "int4[]",
    "int8[]",
    "float8[]",
    "numeric[]",
    "numeric(10,2)[]",
    "text[]",
    "varchar[]",
    "\"char\"[]",
    "name[]",
    "uuid[]",
    "timestamp[]",
    "jsonb[]",
    "int4range[]",
    "hue",
    "hue[]",
    "mood",
    "d_int",
    "d_small",
    "d_text",
    "d_ints",
    "d_int[]",
    "pair",
    "pair[]",
    "two",
];

/// Types of columns in cases of many types at once.
pub const FEW: [&str; 39] = [
    "bool",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "numeric",
    "money",
    "text",
    "varchar",
    "bpchar",
    "\"char\"",
    "name",
    "bytea",
    "uuid",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "json",
    "jsonb",
    "oid",
    "regtype",
    "regclass",
    "inet",
    "bit",
    "int4range",
    "int4multirange",
    "point",
    "int4[]",
    "int8[]",
    "text[]",
    "numeric[]",
    "hue",
    "hue[]",
    "d_int",
    "pair",
];

/// Types of columns in triples.
pub const FEWEST: [&str; 19] = [
    "bool",
    "int2",
    "int4",
    "int8",
    "float8",
    "numeric",
    "text",
    "varchar(5)",
    "bpchar",
    "name",
    "date",
    "timestamp",
    "timestamptz",
    "interval",
    "jsonb",
    "int4[]",
    "text[]",
    "d_int",
    "hue",
];

/// An operand: a column of a type, or NULL that has none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A column of a type that [`TYPES`] names.
    Column(&'static str),
    /// The literal NULL.
    Unknown,
    /// A column of type record.
    Record,
    /// The parameter $1, of which no type is given.
    Parameter,
}

/// Constructs whose branches get one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    /// UNION ALL
    Union,
    /// CASE … ELSE
    Case,
    /// COALESCE
    Coalesce,
    /// GREATEST
    Greatest,
    /// ARRAY[…]
    Array,
    /// VALUES
    Values,
}

/// All constructs.
pub const CONSTRUCTS: [Construct; 6] = [
    Construct::Union,
    Construct::Case,
    Construct::Coalesce,
    Construct::Greatest,
    Construct::Array,
    Construct::Values,
];

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Case {
    /// An operator between operands, or before one.
    Operator(String, Vec<Operand>),
    /// An operator and ANY of an array.
    AnyOf(String, Operand, Operand),
    /// A function, with OVER where the last says so.
    Function(String, Vec<Operand>),
    /// A function whose last arguments are named.
    Named(String, Vec<String>, Vec<Operand>),
    /// A function whose last argument is given as VARIADIC.
    Variadic(String, Vec<Operand>),
    /// A cast to a type.
    Explicit(Operand, &'static str),
    /// An INSERT into a column of a type.
    Assignment(Operand, &'static str),
    /// A common type.
    Common(Construct, Vec<Operand>),
    /// IN of a list, a column's type standing for NULL of that type.
    In(Operand, Vec<Operand>),
}

impl Operand {
    fn sql(self) -> String {
        match self {
            Operand::Column(of) => column(of),
            Operand::Unknown => "null".into(),
            Operand::Record => "rec.r".into(),
            Operand::Parameter => "$1".into(),
        }
    }

    fn several(operands: &[Operand]) -> String {
        operands.iter().map(|o| o.sql()).collect::<Vec<_>>().join(",")
    }
}

/// The column of a type.
fn column(of: &str) -> String {
    format!("t.c{}", TYPES.iter().position(|t| *t == of).expect("a listed type"))
}

const FROM: &str = "from t, (select row(1) r) rec";

impl Case {
    /// The statement that asks it.
    pub fn sql(&self) -> String {
        match self {
            Case::Operator(name, of) if of.len() == 1 => {
                format!("select OPERATOR({name}) {} {FROM}", of[0].sql())
            }
            Case::Operator(name, of) => {
                format!("select {} OPERATOR({name}) {} {FROM}", of[0].sql(), of[1].sql())
            }
            Case::AnyOf(name, left, right) => {
                format!("select {} OPERATOR({name}) ANY ({}) {FROM}", left.sql(), right.sql())
            }
            Case::Function(name, of) => {
                format!("select \"{name}\"({}) {FROM}", Operand::several(of))
            }
            Case::Named(name, names, of) => {
                let first = of.len() - names.len();
                let given = |(at, o): (usize, &Operand)| match at.checked_sub(first) {
                    Some(at) => format!("{} => {}", names[at], o.sql()),
                    None => o.sql(),
                };
                let list: Vec<_> = of.iter().enumerate().map(given).collect();
                format!("select \"{name}\"({}) {FROM}", list.join(","))
            }
            Case::Variadic(name, of) => {
                let (last, first) = of.split_last().expect("an operand");
                let first: String = first.iter().map(|o| o.sql() + ",").collect();
                format!("select \"{name}\"({first}VARIADIC {}) {FROM}", last.sql())
            }
            Case::Explicit(of, to) => format!("select ({})::{to} {FROM}", of.sql()),
            Case::Assignment(of, to) => {
                format!("insert into a ({}) select {} {FROM}", &column(to)[2..], of.sql())
            }
            Case::Common(construct, of) => construct.sql(of),
            Case::In(left, list) => {
                let item = |o: &Operand| match o {
                    Operand::Column(of) => format!("null::{of}"),
                    other => other.sql(),
                };
                let list: Vec<_> = list.iter().map(item).collect();
                format!("select {} in ({}) {FROM}", left.sql(), list.join(","))
            }
        }
    }
}

impl Construct {
    fn sql(self, of: &[Operand]) -> String {
        let list = Operand::several(of);
        match self {
            Construct::Union => {
                let arms: Vec<_> =
                    of.iter().map(|o| format!("select {} {FROM}", o.sql())).collect();
                arms.join(" union all ")
            }
            Construct::Case => {
                let (last, first) = of.split_last().expect("there are operands");
                let when: Vec<_> =
                    first.iter().map(|o| format!("when true then {}", o.sql())).collect();
                format!("select case {} else {} end {FROM}", when.join(" "), last.sql())
            }
            Construct::Coalesce => format!("select coalesce({list}) {FROM}"),
            Construct::Greatest => format!("select greatest({list}) {FROM}"),
            Construct::Array => format!("select array[{list}] {FROM}"),
            Construct::Values => {
                let rows: Vec<_> = of.iter().map(|o| format!("({})", o.sql())).collect();
                format!("select v.column1 {FROM}, lateral (values {}) v", rows.join(","))
            }
        }
    }
}
