//! A statement as it was written.
//!
//! The nodes of a text's statements lie in the lists of a [`Tree`] and name each other by number: a tree is freed
//! without recursion, however deep it is, and takes few pieces of memory. What a node means is not known here.

mod define;
mod expr;
mod extension;
mod names;
mod object;
mod policy;
mod query;
mod routine;
mod statement;
mod utility;
mod walk;

pub use define::{
    AlterSequence, AlterTable, Checked, ColumnChange, ColumnRule, Constraint, CreateIndex,
    CreateSequence, CreateTable, CreateTableAs, CreateView, Detach, Exclusion, Judged, Kept,
    KeyAction, Lasting, Match, NamedRule, NewColumn, OnCommit, OptionValue, PartitionBound,
    PartitionBy, PartitionElement, References, RelationKind, RuleState, SequenceOption, Setting,
    TableChange, TableElement, TableKind, TableRule, When,
};
pub use expr::{
    Arg, Arm, Call, Expr, Is, Like, Literal, OpName, Over, SqlValue, Step, TypeName, Xml, XmlOp,
};
pub use extension::{AlterExtension, CreateExtension, DropExtension, ExtensionChange};
pub use names::Mention;
pub use object::{
    AlterRole, AlterType, Attribute, AttributeChange, CommentOn, CreateComposite, CreateDomain,
    CreateEnum, CreateRole, CreateRule, CreateSchema, Database, DefaultOn, DefaultPrivileges, Drop,
    DropKind, Grant, GrantOn, GrantRole, Object, ObjectChange, Privilege, RoleChange, RoleOption,
    RuleEvent, TypeChange,
};
pub use policy::{AlterPolicy, CreatePolicy, Policy, PolicyCommand, RowSecurity};
pub use query::{
    Alias, Body, ColumnDef, Cte, CteBody, Cycle, Distinct, Exclude, Frame, FrameEdge, FrameUnit,
    From, FunctionItem, GroupItem, Join, JoinKind, Lock, LockStrength, LockWait, On, Query,
    Relation, Sample, Search, Select, Set, SetKind, Sort, SortOrder, Target, Using, Window, With,
};
pub use routine::{
    AlterFunction, CreateAggregate, CreateFunction, CreateTrigger, DefinitionItem, DefinitionValue,
    DropFunction, FunctionChange, FunctionOption, Parameter, ParameterMode, RoutineKind, Signature,
    Transition, TriggerConstraint, TriggerEvent, TriggerTime,
};
pub use statement::{
    Assigned, Column, Conflict, ConflictAction, ConflictTarget, Delete, IndexElement, Insert, Into,
    Merge, MergeAction, MergeWhen, Overriding, Statement, Update, Written,
};
pub use utility::{
    Copy as CopyRows, CopyOf, CopyWith, Declare, Discard, Do, Execute, Explain, Fetch, Isolation,
    LockTable, Mode, Prepare, Reach, Reindex, Set as SetStatement, SetTo, Transaction, Utility,
    Vacuum, Way,
};
pub use walk::Part;

/// A name of one part, folded as PostgreSQL folds it.
pub type Name = Box<str>;

/// A name of several parts.
pub type Path = Box<[Name]>;

/// What stands between two places of a text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

impl Span {
    /// What stands there.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// An expression that is kept as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The expression.
    pub expr: ExprId,
    /// Its text.
    pub span: Span,
}

/// A role as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// By its name.
    Named(Name),
    /// CURRENT_USER, CURRENT_ROLE
    Current,
    /// SESSION_USER
    Session,
    /// PUBLIC
    Public,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);)*
    };
}

ids! {
    /// The number of an expression.
    ExprId,
    /// The number of a query.
    QueryId,
    /// The number of an item of FROM.
    FromId,
}

/// Statements and their nodes.
#[derive(Debug, Default)]
pub struct Tree {
    exprs: Vec<Expr>,
    /// Where each expression stands, in bytes of the text; [`NOWHERE`] for those that were not written.
    places: Vec<u32>,
    queries: Vec<Query>,
    froms: Vec<From>,
    /// The statements, in their order.
    pub statements: Vec<Written>,
    /// The call of a procedure that CALL is: the statement is a query of it.
    pub procedure: Option<ExprId>,
}

/// The place of what was not written.
pub const NOWHERE: u32 = u32::MAX;

impl Tree {
    /// All calls, with their places.
    pub fn calls(&self) -> impl Iterator<Item = (&Call, u32)> {
        let all = self.exprs.iter().zip(&self.places);
        all.filter_map(|(expr, place)| match expr {
            Expr::Call(call) if *place != NOWHERE => Some((&**call, *place)),
            _ => None,
        })
    }

    /// An expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// Where an expression stands, if it was written: the byte of the text that PostgreSQL's errors point to.
    pub fn place(&self, id: ExprId) -> Option<u32> {
        Some(self.places[id.0 as usize]).filter(|place| *place != NOWHERE)
    }

    /// A query.
    pub fn query(&self, id: QueryId) -> &Query {
        &self.queries[id.0 as usize]
    }

    /// The table that a query makes: INTO stands in the first SELECT of its set operations.
    pub fn into_of(&self, mut id: QueryId) -> Option<&Into> {
        loop {
            match &self.query(id).body {
                Body::Set(set) => id = set.left,
                Body::Select(select) => return select.into.as_ref(),
                Body::Values(_) => return None,
            }
        }
    }

    /// What a text selects that is one SELECT of one expression.
    pub fn only_target(&self) -> Option<ExprId> {
        let [Written { statement: Statement::Query(query), .. }] = &self.statements[..] else {
            return None;
        };
        let Body::Select(select) = &self.query(*query).body else { return None };
        match &select.targets[..] {
            [one] => Some(one.value),
            _ => None,
        }
    }

    /// Whether a statement of a query's WITH changes rows.
    pub fn changes_within(&self, id: QueryId) -> bool {
        let with = self.query(id).with.as_ref();
        let mut all = with.into_iter().flat_map(|with| &with.ctes);
        all.any(|cte| matches!(cte.body, CteBody::Statement(_)))
    }

    /// An item of FROM.
    pub fn from(&self, id: FromId) -> &From {
        &self.froms[id.0 as usize]
    }

    /// The types that values are cast to, in no order.
    pub fn casts(&self) -> impl Iterator<Item = &TypeName> {
        self.exprs.iter().filter_map(|expr| match expr {
            Expr::Cast(_, ty) => Some(&**ty),
            _ => None,
        })
    }

    /// Whether its first statement is a query that makes a table.
    pub fn into_of_first(&self) -> bool {
        match self.statements.first().map(|one| &one.statement) {
            Some(Statement::Query(query)) => self.into_of(*query).is_some(),
            _ => false,
        }
    }

    /// How many queries there are, within others too.
    pub fn queries(&self) -> usize {
        self.queries.len()
    }

    /// How many expressions there are.
    pub fn exprs(&self) -> usize {
        self.exprs.len()
    }

    pub(crate) fn add(&mut self, expr: Expr, place: u32) -> ExprId {
        self.exprs.push(expr);
        self.places.push(place);
        ExprId(self.exprs.len() as u32 - 1)
    }

    pub(crate) fn add_query(&mut self, query: Query) -> QueryId {
        self.queries.push(query);
        QueryId(self.queries.len() as u32 - 1)
    }

    pub(crate) fn add_from(&mut self, from: From) -> FromId {
        self.froms.push(from);
        FromId(self.froms.len() as u32 - 1)
    }

    /// Has parameters be columns of these names; one without a name stays a parameter.
    pub fn call_parameters(&mut self, name: &dyn Fn(i32) -> Option<Name>) {
        for expr in &mut self.exprs {
            if let Expr::Param(number) = expr
                && let Some(name) = name(*number)
            {
                *expr = Expr::Column([name].into());
            }
        }
    }

    pub(crate) fn expr_mut(&mut self, id: ExprId) -> &mut Expr {
        &mut self.exprs[id.0 as usize]
    }

    pub(crate) fn query_mut(&mut self, id: QueryId) -> &mut Query {
        &mut self.queries[id.0 as usize]
    }

    pub(crate) fn item_mut(&mut self, id: FromId) -> &mut From {
        &mut self.froms[id.0 as usize]
    }

    pub(crate) fn raw_place(&self, id: ExprId) -> u32 {
        self.places[id.0 as usize]
    }

    pub(crate) fn set_place(&mut self, id: ExprId, place: u32) {
        self.places[id.0 as usize] = place;
    }
}
