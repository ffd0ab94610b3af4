//! How do steps read a table of the engine?
//!
//! A scan is opened in the statement's transaction when the plan is run. Which index it goes by is chosen when the plan is
//! made, from the columns that are restricted; the values may be those of a row of an outer query, so the range is made
//! when the scan is opened.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Int64Array, PrimitiveArray,
    RecordBatch, StringArray, UInt32Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use onlap::{
    BytesVec, Column, DataType, KeyRange, Predicate, RowBatch, RowSet, Rows, Scan, TableId,
    TableSchema, Transaction, Value, Vector, convert,
};
use onlap_kernels::{Repr, arrow_type};
use onlap_pg::ast::{LockStrength, LockWait};
use onlap_pg::value::numeric::{Numeric, Small};
use onlap_pg::{Oid, Result};
use onlap_query::{
    CTID, Derived, Detail, Facts, Locker, ROW_ID, Read, Restriction, Scanned, Sifted, Step,
    TABLE_OID, VERSION, Wanted, field, stream_of,
};

use super::family::{self, Family, Member};
use super::keyed::{self, ByKeys};
use super::{append, ctids, locking, ranges, versions};
use crate::plan::TableHandle;
use crate::plan::access::Access;
use crate::plan::scan::{external, scope_of};
use crate::scope::Scope;
use crate::types::{Cell, PgType, Style, oid};

/// The tables of a statement, by OID.
#[derive(Default)]
pub struct Known(HashMap<Oid, Table>, OnceLock<Arc<[TableId]>>);

struct Table {
    handle: TableHandle,
    family: Option<Arc<Family>>,
    /// What its schema says of it, once it was asked for; the number of rows is asked for each time.
    facts: OnceLock<Facts>,
}

impl Known {
    /// Adds a table, with those below it if there are any.
    pub fn add(&mut self, oid: Oid, handle: TableHandle, family: Option<Family>) {
        let family = family.map(Arc::new);
        self.0.insert(oid, Table { handle, family, facts: OnceLock::new() });
    }

    /// A table with those below it.
    pub fn family(&self, oid: Oid) -> Option<&Arc<Family>> {
        self.0.get(&oid)?.family.as_ref()
    }

    /// A table.
    pub fn handle(&self, oid: Oid) -> Option<&TableHandle> {
        self.0.get(&oid).map(|table| &table.handle)
    }

    /// The ids of all tables.
    pub fn ids(&self) -> Arc<[TableId]> {
        let all = || self.all().iter().map(|table| table.schema().id).collect();
        Arc::clone(self.1.get_or_init(all))
    }

    /// All tables, each once.
    pub fn all(&self) -> Vec<onlap::Table> {
        let mut all: Vec<onlap::Table> = Vec::new();
        let mut add = |table: &onlap::Table| {
            if all.iter().all(|known| known.schema().id != table.schema().id) {
                all.push(table.clone());
            }
        };
        for table in self.0.values() {
            add(&table.handle.table);
            let below = table.family.iter().flat_map(|family| &family.members);
            below.for_each(|member| add(&member.table.table));
        }
        all.sort_by_key(|table| table.schema().id);
        all
    }

    /// Whether all tables have the form that they had.
    pub fn is_current(&self) -> bool {
        let same = |of: &TableHandle| of.table.schema().version == of.schema.version;
        let same = |table: &Table| {
            same(&table.handle) && table.family.iter().all(|family| family.is_current())
        };
        self.0.values().all(same)
    }

    /// A table's columns and indexes.
    pub fn schema(&self, oid: Oid) -> Option<&TableSchema> {
        self.0.get(&oid).map(|table| &*table.handle.schema)
    }
}

impl Known {
    /// What is known of a table.
    pub fn facts(&self, of: Read) -> Facts {
        let Some(table) = self.0.get(&of.relation) else { return Facts::default() };
        let known = table.facts.get_or_init(|| table.facts());
        if let Some(family) = table.family.as_ref().filter(|_| of.inherited) {
            let indexed = family.indexed(known.indexed.to_vec()).into();
            return Facts { rows: family.rows(), indexed, several: true, ..Facts::default() };
        }
        let rows = table.handle.table.approximate_rows().max(1) as f64;
        Facts { rows, ..known.clone() }
    }

    /// A step that reads columns of a table, as [`onlap_query::Tables::scan`] says.
    ///
    /// # Errors
    /// Those of constants that say which partitions are read; `54001`: they are too many.
    pub fn scan(
        &self,
        of: Read,
        columns: &[i32],
        restrictions: Vec<Restriction>,
        wanted: &Wanted,
    ) -> Result<Scanned> {
        let found = self.0.get(&of.relation).expect("the binder has found it");
        let table = &found.handle;
        let schema = schema_of(table, columns);
        let asked = Asked { columns, restrictions: &restrictions, wanted, schema: &schema };
        let family = found.family.as_ref().filter(|_| of.inherited);
        if let Some(noted) = &table.noted {
            let opener = family.is_none().then(|| asked.opener(table.clone(), None));
            let index = opener.and_then(|opener| opener.many_by());
            noted.note(table, &restrictions, columns, index);
        }
        match family {
            Some(family) => append::scan(family, &asked),
            None => Ok(asked.of_table(table.clone(), None)),
        }
    }
}

impl Table {
    /// What its schema says, of its own rows alone.
    fn facts(&self) -> Facts {
        let schema = &self.handle.schema;
        let plain = |index: &&onlap::IndexSchema| index.filter.is_none() && !index.multi_entry;
        let whole = || schema.indexes.iter().filter(plain);
        let number = |column| schema.position(column).map(|at| at as i32 + 1);
        let ready = whole().filter(|index| index.ready);
        let indexed = ready.filter_map(|index| number(index.key[0].column)).collect();
        let unique = whole().filter(|index| index.unique && index.key.len() == 1);
        let unique = unique.filter_map(|index| number(index.key[0].column)).collect();
        let derived = schema.derived.iter().enumerate().filter_map(|(at, derived)| {
            let reads = derived.reads.iter().map(|id| number(*id)).collect::<Option<_>>()?;
            let is_filter = schema.indexes.iter().any(|i| i.filter == Some(derived.column.id));
            let made = crate::formulas::made(&derived.program).ok().filter(|made| !made.spans)?;
            let column = (schema.columns.len() + at) as i32 + 1;
            let tree = made.tree_now(self.handle.types.catalog()).ok()?;
            let class = made.class;
            Some(Derived { column, made: tree, reads, is_filter, class })
        });
        let derived = derived.collect();
        Facts { rows: 0.0, unique, indexed, several: false, derived, frozen: false }
    }
}

/// The columns that a scan gives.
fn schema_of(table: &TableHandle, columns: &[i32]) -> SchemaRef {
    let repr = |number: &i32| match *number {
        CTID => Repr::Bytes,
        ROW_ID => Repr::Int8,
        TABLE_OID | VERSION => Repr::Oid,
        number => table.types.repr(number as usize - 1),
    };
    let fields = columns.iter().map(repr).enumerate();
    let fields: Vec<FieldRef> = fields.map(|(n, repr)| field(n, &arrow_type(repr))).collect();
    Arc::new(match fields.is_empty() {
        true => Schema::new(vec![field(0, &arrow_type(Repr::Bool))]),
        false => Schema::new(fields),
    })
}

/// What a scan is to give.
pub(super) struct Asked<'a> {
    pub columns: &'a [i32],
    pub restrictions: &'a [Restriction],
    pub wanted: &'a Wanted,
    pub schema: &'a SchemaRef,
}

impl Asked<'_> {
    /// The step of one table; as a member of a family, which has its number, whose columns are where it says.
    pub fn of_table(&self, table: TableHandle, member: Option<(usize, &Member)>) -> Scanned {
        let schema = Arc::clone(self.schema);
        let opener = Arc::new(self.opener(table, member));
        let ordered = opener.way.ordered;
        let shown = Arc::clone(&opener);
        let (name, detail) = (opener.name(), Detail::Later(Arc::new(move || shown.detail())));
        let run = move |_: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
            let scope = scope_of(&context)?;
            let reader = Reader::new(&opener, scope).map_err(external)?;
            let stream = futures::stream::try_unfold(reader, |mut reader| async move {
                Ok(reader.next()?.map(|batch| (batch, reader)))
            });
            Ok(stream_of(Arc::clone(&opener.schema), stream))
        };
        let plan = Step::make(name, detail, Vec::new(), schema, Arc::new(run));
        Scanned { plan, ordered }
    }

    /// What opens the scan of one table.
    fn opener(&self, table: TableHandle, member: Option<(usize, &Member)>) -> Opener {
        let place = |number: i32| {
            let at = number as usize - 1;
            member.map_or(at, |(_, member)| member.places[at])
        };
        let has_row_id = self.columns.contains(&ROW_ID);
        let has_oid = self.columns.contains(&TABLE_OID);
        let has_ctid = self.columns.contains(&CTID);
        let has_version = self.columns.contains(&VERSION);
        let own = self.columns.iter().filter(|number| **number > 0);
        let mut positions: Vec<usize> = own.map(|number| place(*number)).collect();
        let given = positions.len();
        if has_version {
            let others = (0..table.schema.columns.len()).filter(|at| !positions.contains(at));
            positions.extend(others.collect::<Vec<_>>());
        }
        let moved = |restriction: &Restriction| Restriction {
            column: place(restriction.column) as i32 + 1,
            ..restriction.clone()
        };
        let (places, others): (Vec<&Restriction>, Vec<&Restriction>) =
            self.restrictions.iter().partition(|of| of.column == CTID);
        let places: Vec<Restriction> = places.into_iter().cloned().collect();
        // Where rows lie says most.
        let others = others.into_iter().filter(|_| places.is_empty());
        let restrictions: Vec<Restriction> = others.map(moved).collect();
        let order = |order: &onlap_query::Order| onlap_query::Order {
            column: place(order.column) as i32 + 1,
            ..*order
        };
        let order = self.wanted.order.iter().filter(|_| places.is_empty()).map(order);
        let order: Vec<onlap_query::Order> = order.collect();
        let mut way = ranges::way(&table.schema, &restrictions, &order, &self.wanted.implied);
        // What keys are about is a condition on few rows, more often than an order is worth.
        let keyed = match way.one_row || !places.is_empty() {
            true => None,
            false => keyed::by_keys(&table.schema, &self.wanted.keyed, &way.implied),
        };
        if keyed.is_some() && way.ordered {
            way = ranges::way(&table.schema, &restrictions, &[], &self.wanted.implied);
        }
        Opener {
            oid: has_oid.then(|| crate::catalog::oids::of_table(table.schema.id)),
            table,
            positions,
            given,
            restrictions,
            places,
            has_version,
            has_ctid,
            has_row_id,
            member: member.map(|(number, _)| number),
            limit: (way.ordered && !self.wanted.filtered).then_some(self.wanted.first),
            way,
            keyed,
            schema: Arc::clone(self.schema),
        }
    }
}

impl Known {
    /// What locks rows of a table, as [`onlap_query::Tables::locker`] says.
    pub fn locker(&self, of: Read, strength: LockStrength, wait: LockWait) -> Locker {
        let found = self.0.get(&of.relation).expect("the binder has found it");
        if let Some(family) = found.family.as_ref().filter(|_| of.inherited) {
            let family = Arc::clone(family);
            return Arc::new(move |context, ids| {
                let scope = scope_of(context)?;
                append::lock(&scope, &family, ids, strength, wait).map_err(external)
            });
        }
        let table = found.handle.table.clone();
        Arc::new(move |context, ids| {
            let scope = scope_of(context)?;
            locking::lock(&scope, &table, ids, strength, wait).map_err(external)
        })
    }
}

/// What opens a scan.
struct Opener {
    table: TableHandle,
    /// The columns that are read, by position.
    positions: Vec<usize>,
    /// How many of them are columns of the step; a row's version is made of all.
    given: usize,
    restrictions: Vec<Restriction>,
    /// Those on [`CTID`].
    places: Vec<Restriction>,
    /// Whether rows' versions are a column before that.
    has_version: bool,
    /// Whether that is a column before rows' ids.
    has_ctid: bool,
    /// Whether rows' ids come last.
    has_row_id: bool,
    /// The table's OID, if that is a column before them.
    oid: Option<Oid>,
    /// The table's number in its family, where ids say it.
    member: Option<usize>,
    way: ranges::Way,
    /// What says more than that of which rows are read.
    keyed: Option<ByKeys>,
    /// At most this number of rows are needed.
    limit: Option<usize>,
    schema: SchemaRef,
}

impl Opener {
    /// The kind of scan that it is.
    fn name(&self) -> &'static str {
        match &self.way.index {
            _ if self.keyed.is_some() => "Bitmap Heap Scan",
            None if !self.places.is_empty() => "Tid Range Scan",
            None => "Seq Scan",
            Some(_) if self.way.reverse => "Index Scan Backward",
            Some(_) => "Index Scan",
        }
    }

    /// The index whose entries lead to the rows, where they may be many.
    fn many_by(&self) -> Option<String> {
        let plain = self.keyed.is_none() && !self.way.one_row;
        self.way.index.clone().filter(|_| plain)
    }

    /// What it reads, as plans show it.
    fn detail(&self) -> String {
        let shown = crate::rights::ask::shown(&self.table.schema);
        match (&self.keyed, &self.way.index) {
            (Some(keyed), _) => format!(" on {shown} using {}", keyed.indexes.join(", ")),
            (None, Some(index)) => format!(" using {index} on {shown}"),
            (None, None) => format!(" on {shown}"),
        }
    }

    /// The parts of the table that have all wanted rows, to be read one after the other.
    fn parts(&self) -> crate::error::Result<Vec<Access>> {
        let parts = match self.places.is_empty() {
            true => ranges::parts(&self.table, &self.restrictions, &self.way),
            false => ctids::ranges(&self.places)
                .map(|ranges| ranges.into_iter().map(Access::Rows).collect()),
        };
        parts.map_err(|e| super::sql_error(&e, ""))
    }

    /// The rows with the keys that conditions need; `None` where keys say nothing.
    fn by_keys_of_lists(&self, scope: &Scope) -> crate::error::Result<Option<Rows>> {
        let Some(rows) = self.found_by_keys(scope)? else { return Ok(None) };
        self.scan_of(scope, rows).map(Some)
    }

    /// The same as a set.
    fn found_by_keys(&self, scope: &Scope) -> crate::error::Result<Option<RowSet>> {
        let Some(keyed) = &self.keyed else { return Ok(None) };
        let failed = |e| super::sql_error(&e, "");
        let Some(predicate) = keyed.predicate(&self.table).map_err(failed)? else {
            return Ok(None);
        };
        let table = &self.table.table;
        let found = |predicate: &Predicate| match scope.past() {
            None => self.seen(scope, |tx| tx.rows_near(table, predicate)),
            Some(past) => past.rows_near(table, predicate).map_err(crate::SqlError::from),
        };
        let mut rows = found(&predicate)?;
        if rows.len() > keyed::MANY_ROWS && self.way.index.is_some() {
            let others = keyed::of_parts(self.parts()?);
            if let Some(others) = others {
                rows = rows.and(found(&others)?);
            }
        }
        Ok(Some(rows))
    }

    fn scan_of(&self, scope: &Scope, rows: RowSet) -> crate::error::Result<Rows> {
        let (table, scan) = (&self.table.table, self.columns());
        Ok(match scope.past() {
            None => self.seen(scope, |tx| tx.set_scan(table, rows, scan))?,
            Some(past) => past.set_scan(table, rows, scan)?,
        })
    }

    fn columns(&self) -> Scan {
        let schema = &self.table.schema;
        Scan::all().columns(self.positions.iter().map(|at| schema.columns[*at].name.clone()))
    }

    /// Reads what the statement saw when it began; of rows that it changes or locks, which are known by their ids, the newest.
    fn seen<T>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&mut Transaction) -> onlap::Result<T>,
    ) -> crate::error::Result<T> {
        let mut tx = scope.tx()?;
        let found = if self.has_row_id { read(&mut tx) } else { tx.as_first_seen(read) };
        found.map_err(crate::SqlError::from)
    }

    fn open(&self, scope: &Scope, part: Access) -> crate::error::Result<Rows> {
        let mut scan = self.columns();
        if let Some(limit) = self.limit {
            scan = scan.limit(limit);
        }
        if matches!(part, Access::Index { reverse: true, .. }) {
            scan = scan.reverse();
        }
        let table = &self.table.table;
        let past = scope.past();
        Ok(match (part, past) {
            (Access::Table, None) => self.seen(scope, |tx| tx.scan(table, scan))?,
            (Access::Table, Some(past)) => past.scan(table, scan)?,
            (Access::Rows(ids), None) => {
                self.seen(scope, |tx| tx.scan(table, scan.row_ids(ids)))?
            }
            (Access::Rows(ids), Some(past)) => past.scan(table, scan.row_ids(ids))?,
            (Access::Index { name, range, .. }, None) => {
                self.seen(scope, |tx| tx.index_scan(table, &name, range, scan))?
            }
            (Access::Index { name, range, .. }, Some(past)) => {
                past.index_scan(table, &name, range, scan)?
            }
        })
    }

    /// All rows of several parts, where each is a whole key of one unique index.
    fn by_keys(&self, scope: &Scope, parts: &[Access]) -> crate::error::Result<Option<RowBatch>> {
        let [Access::Index { name, reverse: false, .. }, _, ..] = parts else { return Ok(None) };
        if scope.past().is_some() {
            return Ok(None);
        }
        let key = |part: &Access| match part {
            Access::Index { name: of, range, reverse: false } if of == name => Some(range.clone()),
            _ => None,
        };
        let Some(keys) = parts.iter().map(key).collect::<Option<Vec<KeyRange>>>() else {
            return Ok(None);
        };
        let schema = &self.table.schema;
        let names: Vec<&str> =
            self.positions.iter().map(|at| schema.columns[*at].name.as_str()).collect();
        let table = &self.table.table;
        self.seen(scope, |tx| tx.rows_with_keys(table, name, &keys, Some(&names)))
    }

    /// Rows in the representation of their types.
    fn decoded(&self, batch: &RowBatch) -> std::result::Result<RecordBatch, DataFusionError> {
        let read = self.positions[..self.given].iter().zip(&batch.columns.columns);
        let read = read.map(|(at, column)| self.table.types.decode(*at, column));
        let mut columns: Vec<ArrayRef> =
            read.collect::<crate::error::Result<_>>().map_err(external)?;
        if let Some(oid) = self.oid {
            columns.push(Arc::new(UInt32Array::from_value(oid, batch.len())));
        }
        if self.has_version {
            let read = self.positions.iter().copied().zip(&batch.columns.columns);
            let versions = versions::of_rows(&self.table.schema, read, batch.len());
            columns.push(Arc::new(UInt32Array::from(versions)));
        }
        if self.has_ctid {
            let places = batch.row_ids.iter().map(|id| ctids::of_row(*id));
            let places = places.collect::<crate::error::Result<Vec<_>>>().map_err(external)?;
            columns.push(Arc::new(BinaryArray::from_iter_values(places)));
        }
        if self.has_row_id {
            let ids = batch.row_ids.iter().map(|id| match self.member {
                None => Ok(*id as i64),
                Some(member) => family::packed(member, *id).map(|id| id as i64),
            });
            let ids = ids.collect::<crate::error::Result<Vec<i64>>>().map_err(external)?;
            columns.push(Arc::new(Int64Array::from(ids)));
        }
        if columns.is_empty() {
            columns.push(Arc::new(BooleanArray::from(vec![true; batch.len()])));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// Whether its values are not known before another query has run.
    fn waits(&self) -> bool {
        self.restrictions.iter().any(|restriction| restriction.runs)
    }
}

/// The most rows that keys lead to, of those that are read without steps. A query has to take its turn for more; to look the
/// keys up once more takes little of that time.
const FEW: u64 = 1024;

impl Known {
    /// What reads the columns of a query of one table without steps. `None` where keys say nothing, where a row is found
    /// otherwise, or where many rows are to be read.
    ///
    /// # Errors
    /// Those of the values that are looked up, and of opening the scan.
    pub(super) fn sifted(
        &self,
        sifted: &Sifted,
        scope: &Arc<Scope>,
    ) -> crate::error::Result<Option<Reader>> {
        let Some(found) = self.0.get(&sifted.table.relation) else { return Ok(None) };
        let is_plain = found.family.is_none() && found.handle.materialized != Some(false);
        if !is_plain || found.handle.noted.is_some() {
            return Ok(None);
        }
        let table = &found.handle;
        let schema = schema_of(table, &sifted.columns);
        let (implied, keyed) = (sifted.implied.clone(), sifted.keyed.clone());
        let wanted = Wanted { implied, keyed, ..Wanted::default() };
        let (columns, restrictions) = (&sifted.columns[..], &sifted.restrictions[..]);
        let asked = Asked { columns, restrictions, wanted: &wanted, schema: &schema };
        let opener = asked.opener(table.clone(), None);
        let rows = match opener.found_by_keys(scope)? {
            Some(rows) if rows.len() <= FEW => opener.scan_of(scope, rows)?,
            _ => return Ok(None),
        };
        let mut reader = Reader::closed(&Arc::new(opener), Arc::clone(scope));
        (reader.is_open, reader.rows) = (true, Some(rows));
        Ok(Some(reader))
    }
}

/// A scan at work.
pub(super) struct Reader {
    opener: Arc<Opener>,
    scope: Arc<Scope>,
    /// Whether it knows what it reads.
    is_open: bool,
    /// What is still to be read: parts that were opened together see the same, whatever the statement does meanwhile.
    opened: VecDeque<Opened>,
    parts: VecDeque<Access>,
    rows: Option<Rows>,
    /// What several parts have, if it was not given yet.
    ready: Option<RowBatch>,
    batch: Option<RowBatch>,
    /// How many rows are given together, where there are several parts.
    together: usize,
}

/// A part, or all that several parts have.
enum Opened {
    Rows(Rows),
    Batch(RowBatch),
}

/// Parts that are opened together.
const OPENED: usize = 64;
/// Rows of several parts that are given together, at most.
const TOGETHER: usize = 1024;

impl Reader {
    fn new(opener: &Arc<Opener>, scope: Arc<Scope>) -> crate::error::Result<Reader> {
        let of = &opener.table;
        if of.materialized == Some(false) {
            let name = crate::rights::ask::shown(&of.schema);
            let text = format!("materialized view \"{name}\" has not been populated");
            return Err(crate::error::SqlError::new("55000", text)
                .hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        let mut reader = Reader::closed(opener, scope);
        if !opener.waits() {
            reader.open()?;
        }
        Ok(reader)
    }

    fn closed(opener: &Arc<Opener>, scope: Arc<Scope>) -> Reader {
        Reader {
            opener: Arc::clone(opener),
            scope,
            is_open: false,
            opened: VecDeque::new(),
            parts: VecDeque::new(),
            rows: None,
            ready: None,
            batch: None,
            together: 1,
        }
    }

    fn open(&mut self) -> crate::error::Result<()> {
        self.is_open = true;
        if let Some(rows) = self.opener.by_keys_of_lists(&self.scope)? {
            self.opened.push_back(Opened::Rows(rows));
            return Ok(());
        }
        self.parts = self.opener.parts()?.into();
        self.open_some()
    }

    fn open_some(&mut self) -> crate::error::Result<()> {
        let parts: Vec<Access> = self.parts.drain(..self.parts.len().min(OPENED)).collect();
        if let Some(batch) = self.opener.by_keys(&self.scope, &parts)? {
            self.opened.push_back(Opened::Batch(batch));
            return Ok(());
        }
        for part in parts {
            self.opened.push_back(Opened::Rows(self.opener.open(&self.scope, part)?));
        }
        Ok(())
    }

    /// Rows that are there together: a batch, or those of several parts.
    pub(super) fn next(&mut self) -> std::result::Result<Option<RecordBatch>, DataFusionError> {
        self.scope.plan_goes_on().map_err(external)?;
        if !self.is_open {
            self.open().map_err(external)?;
        }
        let (mut made, mut count) = (Vec::new(), 0);
        while count < self.together {
            match self.batch_of_part()? {
                Some(batch) => {
                    count += batch.num_rows();
                    made.push(batch);
                }
                None if self.next_part()? => {}
                None => break,
            }
        }
        if !self.opened.is_empty() {
            self.together = (self.together * 2).min(TOGETHER);
        }
        match made.len() {
            0 => Ok(None),
            1 => Ok(made.pop()),
            _ => Ok(Some(concat_batches(&self.opener.schema, &made)?)),
        }
    }

    fn next_part(&mut self) -> std::result::Result<bool, DataFusionError> {
        if self.opened.is_empty() {
            self.open_some().map_err(external)?;
        }
        (self.rows, self.batch, self.ready) = (None, None, None);
        match self.opened.pop_front() {
            Some(Opened::Rows(rows)) => self.rows = Some(rows),
            Some(Opened::Batch(batch)) => self.ready = Some(batch),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn batch_of_part(&mut self) -> std::result::Result<Option<RecordBatch>, DataFusionError> {
        if let Some(batch) = self.ready.take() {
            return self.opener.decoded(&batch).map(Some);
        }
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let engine = |e: onlap::Error| external(e.into());
        let batch = match self.batch.take() {
            Some(mut batch) => match rows.next_into(&mut batch).map_err(engine)? {
                true => batch,
                false => return Ok(None),
            },
            None => match rows.next() {
                Some(batch) => batch.map_err(engine)?,
                None => return Ok(None),
            },
        };
        let made = self.opener.decoded(&batch)?;
        self.batch = Some(batch);
        Ok(Some(made))
    }
}

/// A column of the engine in the representation of its type.
pub fn to_arrow(ty: DataType, column: &Column) -> ArrayRef {
    let n = column.len();
    match (&column.data, ty) {
        (Vector::Int(v), DataType::Bool) => {
            let values = BooleanBuffer::collect_bool(n, |i| v[i] != 0);
            Arc::new(BooleanArray::new(values, nulls(column)))
        }
        (Vector::Int(v), DataType::Int2) => present::<Int16Type>(column, v, |v| v as i16),
        (Vector::Int(v), DataType::Int4) => present::<Int32Type>(column, v, |v| v as i32),
        (Vector::Int(v), DataType::Date) => present::<Int32Type>(column, v, super::stored::date_of),
        (Vector::Int(v), DataType::Timestamp | DataType::Timestamptz) => {
            present::<Int64Type>(column, v, super::stored::moment_of)
        }
        (Vector::Int(v), DataType::Float4) => {
            present::<Float32Type>(column, v, |v| convert::f64_of(v) as f32)
        }
        (Vector::Int(v), DataType::Float8) => present::<Float64Type>(column, v, convert::f64_of),
        (Vector::Int(v), _) => present::<Int64Type>(column, v, |v| v),
        (Vector::Wide(v), DataType::Uuid) => {
            let bytes = |i: usize| match convert::wide_value(ty, v[i]) {
                Value::Uuid(uuid) => uuid.to_vec(),
                _ => vec![0; 16],
            };
            fixed(column, n, bytes)
        }
        (Vector::Wide(v), _) => numerics(column, n, |i| match convert::wide_value(ty, v[i]) {
            Value::Numeric(numeric) => numeric,
            _ => onlap::Numeric { mantissa: 0, scale: 0 },
        }),
        (Vector::Numeric(mantissa, scale), _) => {
            numerics(column, n, |i| onlap::Numeric { mantissa: mantissa[i], scale: scale[i] })
        }
        (Vector::Bytes(bytes), DataType::Bytea) => {
            let (offsets, data) = strings(bytes);
            Arc::new(BinaryArray::new(offsets, data, nulls(column)))
        }
        (Vector::Bytes(bytes), DataType::Char(length)) => {
            let values = (0..n).map(|i| (!column.is_null(i)).then(|| padded(bytes.get(i), length)));
            Arc::new(StringArray::from_iter(values))
        }
        (Vector::Bytes(bytes), _) => {
            let (offsets, data) = strings(bytes);
            match StringArray::try_new(offsets, data, nulls(column)) {
                Ok(texts) => Arc::new(texts),
                // Texts are checked when they are written: one that is none is damage, and empty here.
                Err(_) => {
                    let text = |i| std::str::from_utf8(bytes.get(i)).unwrap_or_default();
                    let values = (0..n).map(|i| (!column.is_null(i)).then(|| text(i)));
                    Arc::new(StringArray::from_iter(values))
                }
            }
        }
    }
}

/// Numbers of a column; where it is NULL the engine has zero, whatever that becomes.
fn present<T: ArrowPrimitiveType>(
    column: &Column,
    stored: &[i64],
    value: impl Fn(i64) -> T::Native,
) -> ArrayRef {
    let values: Vec<T::Native> = stored.iter().map(|v| value(*v)).collect();
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls(column)))
}

/// Which rows of a column are not NULL.
pub(crate) fn nulls(column: &Column) -> Option<NullBuffer> {
    let mask = column.nulls.as_ref()?;
    let valid: Vec<u64> = mask.words.iter().map(|word| !word).collect();
    Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(valid), 0, mask.len)))
}

/// Strings as Arrow has them: batches of the engine stay far below 2 GiB.
fn strings(bytes: &BytesVec) -> (OffsetBuffer<i32>, Buffer) {
    assert!(bytes.data.len() <= i32::MAX as usize, "a batch is bounded");
    let offsets: Vec<i32> = bytes.offsets.iter().map(|offset| *offset as i32).collect();
    (OffsetBuffer::new(offsets.into()), Buffer::from_slice_ref(&bytes.data))
}

fn fixed(column: &Column, rows: usize, bytes: impl Fn(usize) -> Vec<u8>) -> ArrayRef {
    let values = (0..rows).map(|i| (!column.is_null(i)).then(|| bytes(i)));
    let made = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16);
    Arc::new(made.expect("a uuid has 16 bytes"))
}

fn numerics(column: &Column, rows: usize, value: impl Fn(usize) -> onlap::Numeric) -> ArrayRef {
    let stored = |i: usize| {
        let numeric = value(i);
        let small = Small::new(numeric.mantissa, numeric.scale);
        let made = match small.filter(|_| numeric.is_finite()) {
            Some(small) => Numeric::from(small),
            // What is not small is NaN, infinite, or has more decimals; its text says which.
            None => {
                let mut text = Vec::new();
                let cell = Cell::Numeric(numeric);
                cell.write_text(PgType::new(oid::NUMERIC), &Style::default(), &mut text);
                let text = String::from_utf8_lossy(&text);
                Numeric::parse(&text).unwrap_or_else(|_| Numeric::nan())
            }
        };
        let mut bytes = Vec::with_capacity(16);
        made.store(&mut bytes);
        bytes
    };
    let values = (0..rows).map(|i| (!column.is_null(i)).then(|| stored(i)));
    Arc::new(BinaryArray::from_iter(values))
}

/// char(n) has its blanks again.
fn padded(text: &[u8], length: u32) -> String {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let missing = (length as usize).saturating_sub(text.chars().count());
    let mut out = String::with_capacity(text.len() + missing);
    out.push_str(text);
    out.extend(std::iter::repeat_n(' ', missing));
    out
}
