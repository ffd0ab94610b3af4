//! How do old rows go, many at once?
//!
//! `keep where column >= bound` is a DELETE that zone maps carry out: of a block that lies wholly below
//! the bound no value is read, of one wholly at or above it nothing at all. What is left of the deleted
//! rows is one mark each, which takes bits where rows lie side by side. Once no snapshot needs them,
//! compaction drops a segment without living rows as a whole ([`onlap_storage::compact`]), and merges
//! leave out the entries of its rows.
//!
//! It runs in transactions of [`PART_ROWS`] rows, the oldest rows first, so that neither memory nor the
//! time of a commit grows with what is to go. Each locks its rows and asks again where somebody changed
//! one meanwhile, as any statement at READ COMMITTED. One transaction for all was not chosen: a rule
//! about age is never half broken, only late.
//!
//! Thread safety: any thread.

use onlap_base::{ColumnId, Error, ErrorKind, Result, RowId};
use onlap_format::key::{KeyColumn, KeyDef};
use onlap_format::zone::{Zone, ZoneProbe};
use onlap_format::{Column, Row, TableSchema, Value, convert};
use onlap_storage::segment::Segment;

use crate::database::Table;
use crate::read::{ReadView, Scan};
use crate::transaction::{Isolation, Transaction, TransactionOptions};

/// Rows of one transaction: a commit of a few milliseconds, and 4 MiB of marks before it.
const PART_ROWS: usize = 1 << 16;

impl Table {
    /// Deletes the rows whose column lies below a bound and returns how many those were. Rows with
    /// NULL there stay, and so do rows that are inserted meanwhile. Zone maps decide without reading
    /// where a block lies on one side of the bound; so it is cheap where the column rises with time.
    ///
    /// Not one transaction: others see the oldest rows go first. After an error some may be gone.
    ///
    /// # Errors
    /// An unknown column; a bound that is NULL or does not have the column's type; a type without
    /// order; those of [`Transaction::delete_rows`].
    pub fn retain(&self, column: &str, bound: &Value) -> Result<u64> {
        let below = Below::new(&self.schema(), column, bound)?;
        let (mut removed, mut next) = (0, Some(0));
        // Rows that come later, new versions of older ones apart, are not looked at.
        let end = self.state.view().active.end_row();
        while let Some(from) = next.filter(|from| *from < end) {
            let options = TransactionOptions::at(Isolation::ReadCommitted);
            let mut tx = Transaction::new(&self.shared, options);
            let (deleted, later) = tx.retain_part(self, &below, from..end)?;
            match tx.commit() {
                Ok(_) => (removed, next) = (removed + deleted, later),
                Err(e) if e.kind() == ErrorKind::Conflict => {}
                Err(e) => return Err(e),
            }
        }
        Ok(removed)
    }
}

/// Values of a column below a bound.
pub(crate) struct Below {
    column: ColumnId,
    def: KeyDef,
    bound: Vec<u8>,
    /// Values at or above the bound, and those at or below it.
    above: ZoneProbe,
    under: ZoneProbe,
}

/// What a zone says of the rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    AllBelow,
    NoneBelow,
    Unknown,
}

impl Below {
    fn new(schema: &TableSchema, name: &str, bound: &Value) -> Result<Below> {
        let column = schema.columns.iter().find(|c| c.name == name).ok_or_else(|| {
            let text = format!("table {} has no column {name}", schema.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })?;
        if *bound == Value::Null || !column.ty.is_ordered() {
            let text = format!("column {name} has no order, or the bound is NULL");
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let def = KeyDef::new(vec![KeyColumn { ty: column.ty, descending: false }]);
        let mut value = Column::new(column.ty.physical());
        convert::push_value(column.ty, bound, &mut value, name)?;
        let mut key = Vec::new();
        def.encode_row(&[&value], 0, &mut key);
        Ok(Below {
            column: column.id,
            bound: key,
            above: ZoneProbe::new(column.ty, Some(bound), None)?,
            under: ZoneProbe::new(column.ty, None, Some(bound))?,
            def,
        })
    }

    fn position(&self, schema: &TableSchema) -> Result<usize> {
        schema.position(self.column).ok_or_else(|| {
            let text = format!("table {} has lost the column meanwhile", schema.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })
    }

    /// Whether a row of a column is below.
    fn holds(&self, column: &Column, row: usize) -> bool {
        if column.is_null(row) {
            return false;
        }
        let mut key = Vec::new();
        self.def.encode_row(&[column], row, &mut key);
        key < self.bound
    }

    fn holds_of(&self, schema: &TableSchema, row: &Row) -> Result<bool> {
        let at = self.position(schema)?;
        let ty = schema.columns[at].ty;
        let mut column = Column::new(ty.physical());
        convert::push_value(ty, &row[at], &mut column, "the column")?;
        Ok(self.holds(&column, 0))
    }

    fn verdict(&self, zone: &Zone) -> Verdict {
        if !self.under.may_match(zone) {
            Verdict::NoneBelow
        } else if zone.nulls == 0 && !self.above.may_match(zone) {
            Verdict::AllBelow
        } else {
            Verdict::Unknown
        }
    }
}

impl Transaction {
    /// Deletes the first rows of a range of ids that are below, and says where to go on.
    fn retain_part(
        &mut self,
        table: &Table,
        below: &Below,
        ids: std::ops::Range<RowId>,
    ) -> Result<(u64, Option<RowId>)> {
        self.writing(table)?;
        let view = self.view(table)?;
        let schema = view.view.schema.clone();
        let mut found = Found { view: &view, below, end: ids.end, rows: Vec::new() };
        let next = found.look(ids.start)?;
        let rows = found.rows;
        let recheck = &mut |_: RowId, row: &Row| below.holds_of(&schema, row);
        Ok((self.delete_seen(table, &rows, recheck)?, next))
    }
}

/// Gathers rows for one transaction.
struct Found<'a> {
    view: &'a ReadView,
    below: &'a Below,
    end: RowId,
    rows: Vec<RowId>,
}

impl Found<'_> {
    fn is_full(&self) -> bool {
        self.rows.len() >= PART_ROWS
    }

    /// Looks at rows from an id on until there are enough; where to go on.
    fn look(&mut self, from: RowId) -> Result<Option<RowId>> {
        let end = self.end.min(self.view.count);
        let version = &self.view.view.version;
        let mut at = from;
        for segment in version.segments().filter(|s| s.row_ids().end > from) {
            if segment.row_ids().start >= end {
                break;
            }
            for (ids, verdict) in self.stretches(segment)? {
                let ids = ids.start.max(at)..ids.end.min(end);
                match verdict {
                    _ if ids.is_empty() => continue,
                    Verdict::NoneBelow => {}
                    Verdict::AllBelow => self.take_all(ids.clone())?,
                    Verdict::Unknown => self.take_some(ids.clone())?,
                }
                if self.is_full() {
                    return Ok(self.rows.last().map(|last| last + 1));
                }
                at = ids.end;
            }
        }
        let rest = at.max(version.flushed_rows)..end;
        if !rest.is_empty() {
            self.take_some(rest)?;
        }
        Ok(self.rows.last().filter(|_| self.is_full()).map(|last| last + 1))
    }

    /// Row ids of a segment, in stretches of blocks of which the zones say the same.
    fn stretches(&self, segment: &Segment) -> Result<Vec<(std::ops::Range<RowId>, Verdict)>> {
        let ids = segment.row_ids();
        let blocks = &segment.footer().blocks;
        // Zones know nothing of column changes.
        let zones = match self.view.view.changes_column(self.below.column) {
            true => None,
            false => segment.zones(self.below.column)?,
        };
        let Some(zones) = zones else { return Ok(vec![(ids, Verdict::Unknown)]) };
        let mut stretches: Vec<(std::ops::Range<RowId>, Verdict)> = Vec::new();
        for (i, zone) in zones.iter().enumerate() {
            let end = blocks.get(i + 1).map_or(ids.end, |b| b.first_row_id);
            let verdict = self.below.verdict(zone);
            match stretches.last_mut() {
                Some((before, same)) if *same == verdict => before.end = end,
                _ => stretches.push((blocks[i].first_row_id..end, verdict)),
            }
        }
        Ok(stretches)
    }

    /// Takes the visible rows of a range, without a look at them but where ids are missing.
    fn take_all(&mut self, ids: std::ops::Range<RowId>) -> Result<()> {
        let mut start = ids.start;
        while start < ids.end && !self.is_full() {
            let end = ids.end.min(start + PART_ROWS as u64);
            let rows: Vec<RowId> = (start..end).collect();
            let visible = self.view.visible(&rows)?;
            self.rows.extend(self.view.existing(visible)?);
            start = end;
        }
        self.rows.truncate(PART_ROWS);
        Ok(())
    }

    /// Reads the column of a range and takes the rows that are below.
    fn take_some(&mut self, ids: std::ops::Range<RowId>) -> Result<()> {
        let schema = &self.view.view.schema;
        let name = schema.columns[self.below.position(schema)?].name.clone();
        for batch in self.view.scan(Scan::all().columns([name]).row_ids(ids))? {
            let batch = batch?;
            let column = &batch.columns.columns[0];
            let below = (0..batch.len()).filter(|&i| self.below.holds(column, i));
            self.rows.extend(below.map(|i| batch.row_ids[i]));
            if self.is_full() {
                break;
            }
        }
        self.rows.truncate(PART_ROWS);
        Ok(())
    }
}
