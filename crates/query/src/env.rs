//! What does a plan know of the statement, of the session and of what there is to read?

use std::sync::{Arc, OnceLock};

use arrow_array::{Array as _, ArrayRef};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::gin::{Class, Tree};
use onlap_kernels::{Cx, Datum, Session};
use onlap_pg::ast::{LockStrength, LockWait};
use onlap_pg::bound::{Bound, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::{Oid, Result};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::compile::unsupported;

/// What all expressions of a plan share.
pub struct Env {
    /// Types, functions.
    pub catalog: Arc<Catalog>,
    /// How values are read and written.
    pub settings: Settings,
    /// The session.
    pub session: Arc<dyn Session>,
    /// The values of parameters, from `$1` on, in the representations of their types.
    pub params: Vec<Datum<'static>>,
    /// Where subqueries run.
    pub handle: Handle,
    /// What they run with; set before the plan is run.
    pub context: Mutex<Option<Arc<TaskContext>>>,
    /// Whether the statement may change settings; known from when its plan is made on.
    pub sets: OnceLock<bool>,
}

/// Columns that take less are made without asking.
pub const COLUMN_BYTES: usize = 256 << 10;

/// What the values of a column take; all there is, where they do not fit a column's limits.
pub fn bytes_of(column: &ArrayRef) -> usize {
    column.to_data().get_slice_memory_size().unwrap_or(usize::MAX)
}

impl Env {
    /// A step that calculates expressions itself is done with a batch: what its functions took is given back.
    ///
    /// # Errors
    /// `53200`.
    pub fn batch_done(&self) -> Result<()> {
        self.session.calculated(std::ptr::from_ref(self).addr(), 0)
    }

    /// Asks before a column of this number of bytes is made. Small ones are part of the batch, which its step has asked for.
    ///
    /// # Errors
    /// `53200`.
    pub fn room(&self, bytes: usize) -> Result<()> {
        if bytes < COLUMN_BYTES { Ok(()) } else { self.session.room(bytes) }
    }

    /// What kernels are called with.
    pub fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &*self.session }
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}

/// A view's query.
pub type View = Arc<(Bound, QueryId)>;

/// Values that are known when a step starts: constants, parameters, outer queries', those that another query gives.
pub type Values = Arc<dyn Fn() -> Result<Vec<Datum<'static>>> + Send + Sync>;

/// How a column is restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestrictionKind {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// IN, `= ANY`
    OneOf,
}

/// A condition on a column that every wanted row meets. Rows that do not may come all the same: a filter stands above.
#[derive(Clone)]
pub struct Restriction {
    /// The column, from 1, or [`CTID`].
    pub column: i32,
    /// How it is compared, by the order of its type.
    pub kind: RestrictionKind,
    /// With which values of the column's type or, of an integer, of another width: one, except for [`RestrictionKind::OneOf`].
    /// NULL is none that a row has. Where they are those of a query it is run by the first who asks.
    pub values: Values,
    /// Whether they are those of a query.
    pub runs: bool,
    /// Whether they are known when the plan is made.
    pub is_constant: bool,
}

/// What a condition needs of keys: of values that are known when the scan starts.
pub type Trees = Arc<dyn Fn() -> Result<Tree> + Send + Sync>;

/// What conditions say of the keys that indexes have of rows. Rows of which it is not so may come all the same.
#[derive(Clone)]
pub enum Keyed {
    /// The keys of a row meet a tree.
    Keys {
        /// The derived column, by number, that is the list of keys.
        column: i32,
        /// What they meet.
        tree: Trees,
    },
    /// A column is restricted with which an index begins.
    Column(Restriction),
    /// All of these.
    All(Vec<Keyed>),
    /// Any of these.
    Any(Vec<Keyed>),
}

impl Keyed {
    /// Whether it says something of keys in lists.
    pub fn has_keys(&self) -> bool {
        match self {
            Keyed::Keys { .. } => true,
            Keyed::Column(_) => false,
            Keyed::All(parts) | Keyed::Any(parts) => parts.iter().any(Keyed::has_keys),
        }
    }
}

impl std::fmt::Debug for Keyed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Keyed::Keys { column, .. } => write!(f, "Keys({column})"),
            Keyed::Column(of) => write!(f, "Column({})", of.column),
            Keyed::All(parts) => f.debug_tuple("All").field(parts).finish(),
            Keyed::Any(parts) => f.debug_tuple("Any").field(parts).finish(),
        }
    }
}

/// How rows are ordered by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column, from 1.
    pub column: i32,
    /// From the greatest to the least.
    pub descending: bool,
    /// Whether NULLs come first.
    pub nulls_first: bool,
}

/// What is done with the rows of a scan.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The order that they are needed in; none if that does not matter.
    pub order: Vec<Order>,
    /// How many are needed of the first ones in that order.
    pub first: usize,
    /// Whether rows are left out after the scan, so that more are read than are needed.
    pub filtered: bool,
    /// Derived columns, by number, that are true in all rows that are needed.
    pub implied: Vec<i32>,
    /// What is so of the keys of all rows that are needed.
    pub keyed: Vec<Keyed>,
}

/// A step that reads a relation.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The step.
    pub plan: Arc<dyn ExecutionPlan>,
    /// Whether rows come in the order that was wanted.
    pub ordered: bool,
}

/// What is known of a relation. It is asked for each condition of a statement: a clone copies no list.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// How many rows it has, about.
    pub rows: f64,
    /// Columns, by number, each of which is a unique key.
    pub unique: Arc<[i32]>,
    /// Columns, by number, with which an index begins.
    pub indexed: Arc<[i32]>,
    /// Whether its rows are those of several relations, which say of each row whose it is ([`TABLE_OID`]).
    pub several: bool,
    /// What indexes calculate of its rows.
    pub derived: Arc<[Derived]>,
    /// Whether its rows have no versions of their own ([`VERSION`]).
    pub frozen: bool,
}

/// What an index calculates of a relation's rows: it counts as a column, which no row has.
#[derive(Clone)]
pub struct Derived {
    /// Its number, above those of columns.
    pub column: i32,
    /// The query whose only target it is, over one entry.
    pub made: View,
    /// The columns of the relation, by number, that those of the entry are.
    pub reads: Vec<i32>,
    /// Whether it says which rows a partial index has.
    pub is_filter: bool,
    /// How keys are made of it, where it is what an index of gin has the keys of.
    pub class: Option<Class>,
}

impl std::fmt::Debug for Derived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Derived({})", self.column)
    }
}

/// Locks rows by their ids, without waiting; says of each whether it is locked, and is not to be left out.
pub type Locker =
    Arc<dyn Fn(&TaskContext, &[i64]) -> datafusion_common::Result<Vec<bool>> + Send + Sync>;

/// The number of the column that has a row's id, a bigint, as [`Tables::scan`] is asked for it.
pub const ROW_ID: i32 = i32::MIN;

/// The number of the system's column that says where a row lies.
pub const CTID: i32 = -1;

/// The number of the system's column that tells a row's versions apart, an xid.
pub const VERSION: i32 = -2;

/// The number of the system's column that says which transaction has ended or locked a row, an xid: none has, of rows that are there.
pub const ENDED: i32 = -4;

/// The numbers of the system's columns that count the commands of a transaction, which are not told apart here.
pub const COMMANDS: [i32; 2] = [-3, -5];

/// The number of the system's column that says which relation a row is of.
pub const TABLE_OID: i32 = -6;

/// The version that all rows have of a relation whose rows have none of their own: PostgreSQL's number of what every
/// transaction sees.
pub const FROZEN: u32 = 2;

/// A relation that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its OID.
    pub relation: Oid,
    /// Whether rows of relations below it are read, too.
    pub inherited: bool,
}

/// What a plan reads.
pub trait Tables {
    /// What is known of a relation.
    fn facts(&self, of: Read) -> Facts;

    /// A step that reads columns of a relation, by their numbers from 1, then [`TABLE_OID`] where its rows are those of several,
    /// then [`VERSION`], [`CTID`] and [`ROW_ID`], in the representations of their types. Rows come in the order that is wanted, if there is an index that has it and nothing better to go by.
    ///
    /// # Errors
    /// There is no such relation any more.
    fn scan(
        &self,
        of: Read,
        columns: &[i32],
        restrictions: Vec<Restriction>,
        wanted: &Wanted,
    ) -> Result<Scanned>;

    /// What locks rows of a relation.
    ///
    /// # Errors
    /// `0A000`: they have no locks.
    fn locker(&self, _of: Read, _strength: LockStrength, _wait: LockWait) -> Result<Locker> {
        Err(unsupported("locking rows of this relation"))
    }

    /// The query of a view; `None` if the relation is none.
    ///
    /// # Errors
    /// Its text cannot be bound any more.
    fn view(&self, relation: Oid) -> Result<Option<View>>;
}
