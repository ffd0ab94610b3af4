//! Expressions as they were written.

use super::{ExprId, Name, Path, QueryId, Sort, Window};

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// A whole number of 32 bits.
    Int(i32),
    /// Any other number, with its sign.
    Number(Box<str>),
    /// A text, whose type is not known yet.
    Text(Box<str>),
    /// `B'…'`.
    Bits(Box<str>),
    /// `X'…'`.
    Hex(Box<str>),
}

/// An operator's name, with its schema where `OPERATOR(…)` was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpName {
    /// The schemas before it.
    pub schema: Path,
    /// The operator.
    pub name: Name,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `.name`
    Field(Name),
    /// `.*`
    Star,
    /// `[index]`
    Index(ExprId),
    /// `[from:to]`
    Slice(Option<ExprId>, Option<ExprId>),
}

/// A type's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// Its parts; types with a syntax of their own are in `pg_catalog`.
    pub name: Path,
    /// What was written in parentheses.
    pub modifiers: Box<[ExprId]>,
    /// The bounds of dimensions; -1 where none was written.
    pub bounds: Box<[i32]>,
    /// SETOF.
    pub set: bool,
    /// Where it stands.
    pub place: u32,
}

/// LIKE and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    /// LIKE
    Like,
    /// ILIKE
    Ilike,
    /// SIMILAR TO
    Similar,
}

/// What IS asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// NULL
    Null,
    /// TRUE
    True,
    /// FALSE
    False,
    /// UNKNOWN
    Unknown,
}

/// Values that SQL names by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// CURRENT_DATE
    CurrentDate,
    /// CURRENT_TIME
    CurrentTime,
    /// CURRENT_TIMESTAMP
    CurrentTimestamp,
    /// LOCALTIME
    LocalTime,
    /// LOCALTIMESTAMP
    LocalTimestamp,
    /// CURRENT_ROLE
    CurrentRole,
    /// CURRENT_USER
    CurrentUser,
    /// SESSION_USER
    SessionUser,
    /// USER
    User,
    /// CURRENT_CATALOG
    CurrentCatalog,
    /// CURRENT_SCHEMA
    CurrentSchema,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// The parameter, where it was named.
    pub name: Option<Name>,
    /// The value.
    pub value: ExprId,
    /// Where it begins.
    pub place: u32,
}

/// What a call is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// A window that was named, and where.
    Named(Name, u32),
    /// One that is written there.
    Window(Box<Window>),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub name: Path,
    /// The arguments.
    pub args: Vec<Arg>,
    /// VARIADIC before the last.
    pub variadic: bool,
    /// DISTINCT before the first.
    pub distinct: bool,
    /// `*` in their place.
    pub star: bool,
    /// ORDER BY, behind the arguments or WITHIN GROUP.
    pub order: Vec<Sort>,
    /// Whether that was WITHIN GROUP.
    pub within_group: bool,
    /// FILTER.
    pub filter: Option<ExprId>,
    /// OVER.
    pub over: Option<Over>,
    /// Whether it was written by a syntax of SQL's own, as `extract(year from t)`.
    pub sql_syntax: bool,
}

/// WHEN … THEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The condition, or what the operand is compared with.
    pub condition: ExprId,
    /// What CASE then is.
    pub result: ExprId,
    /// Where it stands.
    pub place: u32,
}

/// What an expression of XML does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlOp {
    /// XMLCONCAT
    Concat,
    /// XMLELEMENT
    Element,
    /// XMLFOREST
    Forest,
    /// XMLPARSE
    Parse,
    /// XMLPI
    Pi,
    /// XMLROOT
    Root,
    /// XMLSERIALIZE
    Serialize,
    /// IS DOCUMENT
    IsDocument,
}

impl XmlOp {
    /// Its word, as SQL has it.
    pub fn word(self) -> &'static str {
        match self {
            XmlOp::Concat => "XMLCONCAT",
            XmlOp::Element => "XMLELEMENT",
            XmlOp::Forest => "XMLFOREST",
            XmlOp::Parse => "XMLPARSE",
            XmlOp::Pi => "XMLPI",
            XmlOp::Root => "XMLROOT",
            XmlOp::Serialize => "XMLSERIALIZE",
            XmlOp::IsDocument => "IS DOCUMENT",
        }
    }
}

/// An expression of XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xml {
    /// What it does.
    pub op: XmlOp,
    /// The name of an element or instruction.
    pub name: Option<Name>,
    /// Attributes of XMLELEMENT, elements of XMLFOREST.
    pub named: Vec<Arg>,
    /// The values: of XMLPARSE with PRESERVE WHITESPACE as a boolean, of XMLROOT with the version and a number for STANDALONE.
    pub args: Vec<ExprId>,
    /// DOCUMENT, of XMLPARSE and XMLSERIALIZE.
    pub document: bool,
    /// The type of XMLSERIALIZE.
    pub ty: Option<Box<TypeName>>,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A literal.
    Literal(Literal),
    /// `$n`
    Param(i32),
    /// A column, with what it belongs to before it.
    Column(Path),
    /// `*` behind what it belongs to.
    Star(Path),
    /// Steps into a value.
    Steps(ExprId, Box<[Step]>),
    /// A cast.
    Cast(ExprId, Box<TypeName>),
    /// COLLATE.
    Collate(ExprId, Path),
    /// An operator; one operand where the first is none.
    Op(Box<OpName>, Option<ExprId>, ExprId),
    /// `left op ANY (array)`; ALL where the last is true.
    OpArray(Box<OpName>, ExprId, ExprId, bool),
    /// `left op ANY (query)`; ALL where the last is true.
    OpQuery(Box<OpName>, ExprId, QueryId, bool),
    /// IN a list; NOT IN where the last is true.
    In(ExprId, Box<[ExprId]>, bool),
    /// IN a query; NOT IN is NOT of it.
    InQuery(ExprId, QueryId),
    /// LIKE: NOT, the value, the pattern, ESCAPE.
    Like(Like, bool, ExprId, ExprId, Option<ExprId>),
    /// BETWEEN.
    Between {
        /// NOT
        not: bool,
        /// SYMMETRIC
        symmetric: bool,
        /// The value.
        value: ExprId,
        /// From here.
        low: ExprId,
        /// To here.
        high: ExprId,
    },
    /// IS DISTINCT FROM; IS NOT DISTINCT FROM where the last is true.
    Distinct(ExprId, ExprId, bool),
    /// IS; IS NOT where the last is true.
    Is(ExprId, Is, bool),
    /// All of these.
    And(Vec<ExprId>),
    /// One of these.
    Or(Vec<ExprId>),
    /// NOT.
    Not(ExprId),
    /// NULLIF.
    NullIf(ExprId, ExprId),
    /// CASE: its operand, arms, ELSE.
    Case(Option<ExprId>, Box<[Arm]>, Option<ExprId>),
    /// COALESCE.
    Coalesce(Box<[ExprId]>),
    /// GREATEST.
    Greatest(Box<[ExprId]>),
    /// LEAST.
    Least(Box<[ExprId]>),
    /// A row; whether ROW was written.
    Row(Box<[ExprId]>, bool),
    /// ARRAY[…]
    Array(Box<[ExprId]>),
    /// ARRAY(query)
    ArrayQuery(QueryId),
    /// EXISTS
    Exists(QueryId),
    /// A query's value.
    Query(QueryId),
    /// A call.
    Call(Box<Call>),
    /// A value that has a word, and its precision.
    SqlValue(SqlValue, Option<i32>),
    /// GROUPING
    Grouping(Box<[ExprId]>),
    /// An expression of XML.
    Xml(Box<Xml>),
    /// CURRENT OF a cursor.
    CurrentOf(Name),
    /// DEFAULT
    Default,
}
