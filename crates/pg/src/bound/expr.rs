//! Expressions that are bound.

use super::{ExprId, QueryId, SortItem, Target};
use crate::Oid;
use crate::ast::{Exclude, FrameUnit, Is, Name, SqlValue, XmlOp};
use crate::catalog::ProcKind;

/// A value that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// An int4.
    Int(i32),
    /// An int8.
    Int8(i64),
    /// A numeric's digits.
    Numeric(Box<str>),
    /// A text that the input function of the expression's type reads.
    Text(Box<str>),
    /// The digits of a bit string; hexadecimal ones where the flag is set.
    Bits(Box<str>, bool),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its row of pg_proc.
    pub proc: Oid,
    /// The arguments.
    pub args: Vec<Arg>,
    /// Whether it gives a set.
    pub set: bool,
    /// Whether the last argument is the array of a variadic parameter's elements.
    pub variadic: bool,
}

/// An argument, and the parameter that it was given to by name or out of order.
pub type Arg = (Option<usize>, ExprId);

/// A call of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Its row of pg_operator.
    pub operator: Oid,
    /// Its function.
    pub proc: Oid,
    /// One or two operands.
    pub args: Vec<ExprId>,
    /// Whether it gives a set.
    pub set: bool,
}

/// A call of an aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its row of pg_proc.
    pub proc: Oid,
    /// What kind of aggregate it is (aggkind).
    pub kind: u8,
    /// The types of all arguments.
    pub types: Vec<Oid>,
    /// Arguments that are calculated once per group.
    pub direct: Vec<ExprId>,
    /// Arguments of each row, and what they are ordered by.
    pub args: Vec<Target>,
    /// In which order rows come.
    pub order: Vec<SortItem>,
    /// Of what rows are distinct.
    pub distinct: Vec<SortItem>,
    /// FILTER.
    pub filter: Option<ExprId>,
    /// `(*)`
    pub star: bool,
    /// Whether the last argument is the array of a variadic parameter's elements.
    pub variadic: bool,
    /// How many levels up the query is that it belongs to.
    pub up: u32,
}

/// A call over a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowCall {
    /// Its row of pg_proc.
    pub proc: Oid,
    /// What kind it is: a window function or an aggregate.
    pub kind: ProcKind,
    /// The arguments.
    pub args: Vec<ExprId>,
    /// FILTER.
    pub filter: Option<ExprId>,
    /// The number of the window in the query, from 1.
    pub window: usize,
    /// `(*)`
    pub star: bool,
}

/// An end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEdge {
    /// UNBOUNDED PRECEDING
    First,
    /// n PRECEDING
    Before(ExprId),
    /// CURRENT ROW
    Current,
    /// n FOLLOWING
    After(ExprId),
    /// UNBOUNDED FOLLOWING
    Last,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether it was written.
    pub written: bool,
    /// Whether BETWEEN was.
    pub between: bool,
    /// What it counts.
    pub unit: FrameUnit,
    /// From here.
    pub from: FrameEdge,
    /// To here.
    pub to: FrameEdge,
    /// What it leaves out.
    pub exclude: Option<Exclude>,
    /// What finds the ends of RANGE with a distance: functions of start and end, or 0.
    pub in_range: [Oid; 2],
    /// For those, whether the order goes up, and NULLs come first.
    pub ascending: bool,
    /// NULLs come first in the order.
    pub nulls_first: bool,
}

/// A window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its name in WINDOW.
    pub name: Option<Name>,
    /// The window that it begins with.
    pub base: Option<Name>,
    /// PARTITION BY.
    pub partition: Vec<SortItem>,
    /// ORDER BY.
    pub order: Vec<SortItem>,
    /// The frame.
    pub frame: Frame,
    /// Whether the order is that of another window.
    pub copied_order: bool,
}

/// What a query within an expression is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubKind {
    /// EXISTS
    Exists,
    /// Its one value.
    Value,
    /// Its rows as an array.
    Array,
    /// Several values, for columns of UPDATE.
    Several(usize),
    /// `test op ANY`, by this operator's name.
    Any(Name),
    /// `test op ALL`
    All(Name),
    /// A row compared with the one that it gives.
    Row(Name),
}

/// A query within an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubQuery {
    /// What it is asked.
    pub kind: SubKind,
    /// The comparison of each row, in which [`Expr::SubColumn`] stands for its columns.
    pub test: Option<ExprId>,
    /// The query.
    pub query: QueryId,
}

/// Parts of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscript {
    /// The container.
    pub container: ExprId,
    /// The container's type, below domains.
    pub container_type: Oid,
    /// The type of its elements.
    pub element: Oid,
    /// Upper bounds, or indexes.
    pub upper: Vec<Option<ExprId>>,
    /// Lower bounds; none where no part is a range.
    pub lower: Vec<Option<ExprId>>,
    /// What the part becomes, where it is written to.
    pub assigned: Option<ExprId>,
}

/// IS NULL and its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NullTest {
    /// The value.
    pub value: ExprId,
    /// IS NOT NULL.
    pub not: bool,
    /// Whether the value is a row, whose fields are asked.
    pub row: bool,
}

/// How rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// `<`
    Less = 1,
    /// `<=`
    LessEqual = 2,
    /// `>=`
    GreaterEqual = 4,
    /// `>`
    Greater = 5,
}

/// An expression of XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xml {
    /// What it does.
    pub op: XmlOp,
    /// The name of an element or instruction, as XML has it.
    pub name: Option<Name>,
    /// The names of the first arguments, likewise: attributes, or elements of a forest.
    pub names: Vec<Name>,
    /// The arguments.
    pub args: Vec<ExprId>,
    /// DOCUMENT, of XMLPARSE and XMLSERIALIZE.
    pub document: bool,
}

/// WHEN … THEN.
pub type Arm = (ExprId, ExprId);

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A column of an entry, from 1; 0 is the whole row.
    Var {
        /// The entry's number in its query, from 1.
        entry: usize,
        /// The column, from 1; below 0 the system's.
        column: i32,
        /// How many queries up.
        up: u32,
    },
    /// A literal.
    Literal(Literal),
    /// `$n`
    Param(i32),
    /// A column of the query within the expression, from 1.
    SubColumn(usize),
    /// A value of a row that a query gives to several columns of UPDATE: the query's number, the column, both from 1.
    RowColumn(usize, usize),
    /// A function.
    Call(Call),
    /// An operator.
    Op(Op),
    /// IS DISTINCT FROM.
    Distinct(Op),
    /// NULLIF.
    NullIf(Op),
    /// `op ANY (array)`; ALL where the flag is set.
    ArrayOp(Op, bool),
    /// AND.
    And(Vec<ExprId>),
    /// OR.
    Or(Vec<ExprId>),
    /// NOT.
    Not(ExprId),
    /// An aggregate.
    Aggregate(Box<Aggregate>),
    /// A call over a window.
    WindowCall(Box<WindowCall>),
    /// GROUPING: its arguments, their numbers among what is grouped by, levels up.
    Grouping(Vec<ExprId>, Vec<u32>, u32),
    /// A query.
    SubQuery(Box<SubQuery>),
    /// A field of a row, from 1.
    Field(ExprId, i32),
    /// Fields of a row that are written to: the row, values, numbers.
    StoreFields(ExprId, Vec<ExprId>, Vec<i32>),
    /// The same bits of another type.
    Relabel(ExprId),
    /// By the value's text.
    ViaText(ExprId),
    /// Each element of an array is converted: the array, and how, with [`Expr::Placeholder`] for an element.
    Elements(ExprId, ExprId),
    /// A row of one type becomes one of another.
    ConvertRow(ExprId),
    /// What a conversion of elements or CASE works on.
    Placeholder,
    /// CASE: its operand, arms, ELSE.
    Case(Option<ExprId>, Vec<Arm>, ExprId),
    /// ARRAY[…]; of arrays where the flag is set.
    Array(Vec<ExprId>, bool),
    /// ROW(…), and the names of its fields.
    Row(Vec<ExprId>, Vec<Name>),
    /// Rows in their order: operators by column, left, right.
    RowCompare(RowOrder, Vec<Oid>, Vec<ExprId>, Vec<ExprId>),
    /// COALESCE.
    Coalesce(Vec<ExprId>),
    /// GREATEST; LEAST where the flag is set.
    Greatest(Vec<ExprId>, bool),
    /// A value that has a word, and its precision.
    SqlValue(SqlValue, Option<i32>),
    /// IS NULL.
    NullTest(NullTest),
    /// IS TRUE and its like; IS NOT where the flag is set.
    BoolTest(ExprId, Is, bool),
    /// An expression of XML.
    Xml(Box<Xml>),
    /// A value that keeps to a domain's conditions.
    Domain(ExprId),
    /// COLLATE.
    Collate(ExprId, Name),
    /// Parts of a container.
    Subscript(Box<Subscript>),
    /// DEFAULT.
    Default,
    /// CURRENT OF a cursor: the entry, the cursor.
    CurrentOf(usize, Name),
}

impl Expr {
    /// A call of a function with these arguments in order.
    pub(crate) fn call(proc: Oid, args: Vec<ExprId>) -> Expr {
        let args = args.into_iter().map(|arg| (None, arg)).collect();
        Expr::Call(Call { proc, args, set: false, variadic: false })
    }
}
