//! How do rows in segments become sorted runs of several indexes?
//!
//! Row-id ranges are cut into stretches of whole blocks. Patient tasks take one stretch after another:
//! read the columns that any of the indexes has, once, and sort and write one run per index. Nothing
//! is shared between them but the list of stretches, so that they keep as many cores busy as there are
//! tasks; while writers need those, the tasks give way. Derived columns are calculated a piece at a time; of
//! a partial index only the rows that it has are written.
//!
//! Memory (I7): the tasks together use half of [`Part::Background`]. A stretch whose rows turn out to
//! be larger than thought becomes several runs. Lists of keys may take many times the room of what they are made of:
//! they are made of a few rows at a time, and of an index of lists a piece becomes as many runs as it takes, which
//! [`join`] makes few of.
//!
//! Thread safety: any number of tasks.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_base::memory::Part;
use onlap_base::{ColumnId, Csn, Defect, Error, IndexId, Result, RowId, limits};
use onlap_format::key::{ColumnStats, Entries, Keys, Packing, sort_permutation};
use onlap_format::manifest::{Edit, RunMeta};
use onlap_format::{Batch, Column, IndexSchema, KeyPart, Physical, TableSchema, Vector, entries};
use onlap_memtable::ListRows;
use onlap_storage::Direction;
use onlap_storage::marks::ChangeScratch;
use onlap_storage::run::RunWriter;
use onlap_storage::segment::{Segment, SegmentScan};
use onlap_storage::version::TableVersion;
use parking_lot::Mutex;

use super::under_way::Listed;
use super::{BuildControl, check, join};
use crate::database::Shared;
use crate::derive::{Needed, has_entry};
use crate::flush;
use crate::ledger::Work;
use crate::table::{index_positions, key_def};
use crate::unique;

/// Rows of a stretch at most: more sort slower, because the sort's memory outgrows the caches, and
/// fewer leave more runs to merge.
const STRETCH_ROWS: usize = 1 << 20;
/// Entries handed to a run writer at once.
const STEP: usize = 1 << 13;
/// Lists are made of an eighth of the room for them at once: they may take several times as much.
const LIST_STEPS: usize = 8;
/// Rows of which lists are made before it is known how long they are.
const FIRST_LISTS: usize = 32;
/// Bytes of a string, as long as none was seen.
const STRING_BYTES: usize = 24;
/// Bytes that a row takes next to its columns while an index is sorted: its id, a key, its place in the
/// order, and two numbers of the sort.
const SORT_BYTES: usize = 8 + 16 + 4 + 2 * 8;

/// Writes runs of every index of which `schema` has the columns, for the rows of `ranges`, which lie
/// in these segments; the caller keeps their files.
pub(super) fn write(
    shared: &Arc<Shared>,
    schema: &TableSchema,
    version: Option<&Arc<TableVersion>>,
    segments: &[Arc<Segment>],
    indexes: &[IndexSchema],
    ranges: &[Range<RowId>],
    control: &BuildControl,
    out: &mut Vec<(IndexId, RunMeta)>,
) -> Result<()> {
    let tasks = shared.options.background_jobs.max(1);
    let half = shared.storage.memory.limit(Part::Background) as usize / 2;
    let mut pass = Pass::new(shared, schema, version, indexes, control, half / tasks);
    pass.stretches = pass.plan(segments, ranges);
    control.expect(pass.stretches.iter().map(|s| s.count).sum());
    let blocks = segments.iter().map(|segment| segment.footer().blocks.len() as u64).sum();
    let _listed = Listed::new(shared, schema, indexes, (blocks, control));
    let tasks = tasks.min(pass.stretches.len());
    let pass = Arc::new(pass);
    let start = |i: usize| {
        let pass = Arc::clone(&pass);
        let name = format!("onlap-index-{i}");
        shared.tasks.spawn_patient(&name, Box::new(move || pass.work()))
    };
    let handles: Vec<_> = (0..tasks).map(start).collect();
    let ended: Vec<_> = handles.into_iter().map(|h| h.join()).collect();
    let runs = std::mem::take(&mut *pass.runs.lock());
    let failed = pass.failed.lock().take();
    let panicked = ended.into_iter().find_map(|ended| ended.err());
    let failed = failed.or_else(|| {
        let text = format!("a task of an index build panicked: {}", panicked?);
        Some(Error::of_defect(Defect::new(text)))
    });
    out.extend(runs);
    if let Some(failed) = failed {
        return Err(failed);
    }
    let lists = indexes.iter().filter(|index| index.multi_entry);
    lists.into_iter().try_for_each(|index| {
        let join = || join::join(shared, schema, index, control, out);
        shared.ledger.doing(schema.id, index.id, Work::Build, join)
    })
}

/// Rows that become one run of each index.
struct Stretch {
    /// Ids that the runs stand for.
    rows: Range<RowId>,
    parts: Vec<(Arc<Segment>, Range<RowId>)>,
    count: u64,
}

/// An index, by positions among the columns that are read and calculated.
struct Wanted {
    index: IndexSchema,
    keys: Vec<usize>,
    include: Vec<usize>,
    filter: Option<usize>,
}

struct Pass {
    shared: Arc<Shared>,
    schema: TableSchema,
    /// Where changes of the columns lie, if any may; there come no more.
    version: Option<Arc<TableVersion>>,
    needed: Needed,
    wanted: Vec<Wanted>,
    control: BuildControl,
    /// Bytes that one task may use for rows.
    limit: usize,
    /// And for lists of keys.
    list_limit: usize,
    stretches: Vec<Stretch>,
    next: AtomicUsize,
    failed: Mutex<Option<Error>>,
    runs: Mutex<Vec<(IndexId, RunMeta)>>,
}

impl Pass {
    fn new(
        shared: &Arc<Shared>,
        schema: &TableSchema,
        version: Option<&Arc<TableVersion>>,
        indexes: &[IndexSchema],
        control: &BuildControl,
        limit: usize,
    ) -> Pass {
        let of_index = |index: &IndexSchema| {
            let (keys, include) = index_positions(schema, index);
            keys.into_iter().chain(include).chain(schema.filter_position(index)).collect::<Vec<_>>()
        };
        let needed = Needed::new(schema, indexes.iter().flat_map(of_index));
        let place = |p: usize| needed.place(schema, p);
        let wanted = indexes.iter().map(|index| {
            let (keys, include) = index_positions(schema, index);
            let keys = keys.into_iter().map(place).collect();
            let include = include.into_iter().map(place).collect();
            let filter = schema.filter_position(index).map(place);
            Wanted { index: index.clone(), keys, include, filter }
        });
        let wanted: Vec<Wanted> = wanted.collect();
        // Lists lie next to the rows of which they are made.
        let has_lists = wanted.iter().any(|w| w.index.multi_entry);
        let (limit, list_limit) = if has_lists { (limit / 2, limit / 2) } else { (limit, 0) };
        Pass {
            shared: Arc::clone(shared),
            needed,
            schema: schema.clone(),
            version: version.cloned(),
            wanted,
            control: control.clone(),
            limit,
            list_limit,
            stretches: Vec::new(),
            next: AtomicUsize::new(0),
            failed: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    /// Cuts ranges into stretches, which together stand for all ids of the ranges.
    fn plan(&self, segments: &[Arc<Segment>], ranges: &[Range<RowId>]) -> Vec<Stretch> {
        let bytes = |physical: Physical| match physical {
            Physical::Int => 8,
            Physical::Wide => 16,
            Physical::Numeric => 17,
            Physical::Bytes => STRING_BYTES,
        };
        let row: usize = self.needed.columns.iter().map(|c| bytes(c.1)).sum();
        let row = row + self.needed.derived_count() * STRING_BYTES;
        let most = (self.limit / (row + SORT_BYTES)).clamp(1, STRETCH_ROWS) as u64;
        let mut stretches = Vec::new();
        for range in ranges {
            let empty = |start| Stretch { rows: start..range.end, parts: Vec::new(), count: 0 };
            let mut stretch = empty(range.start);
            for segment in segments {
                let ids = segment.row_ids();
                let rows = ids.start.max(range.start)..ids.end.min(range.end);
                if rows.is_empty() {
                    continue;
                }
                let mut start = rows.start;
                for block in &segment.footer().blocks {
                    if stretch.count > 0 && stretch.count + u64::from(block.rows) > most {
                        let at = block.first_row_id;
                        stretch.parts.push((Arc::clone(segment), start..at));
                        stretch.rows.end = at;
                        stretches.push(std::mem::replace(&mut stretch, empty(at)));
                        start = at;
                    }
                    stretch.count += u64::from(block.rows);
                }
                stretch.parts.push((Arc::clone(segment), start..rows.end));
            }
            if stretch.count > 0 {
                stretches.push(stretch);
            }
        }
        stretches
    }

    /// The work of a task.
    fn work(&self) {
        let mut piece = Piece::new(self);
        while self.failed.lock().is_none() {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(stretch) = self.stretches.get(next) else { return };
            if let Err(e) = self.write_stretch(stretch, &mut piece) {
                self.failed.lock().get_or_insert(e);
                return;
            }
        }
    }

    fn write_stretch(&self, stretch: &Stretch, piece: &mut Piece) -> Result<()> {
        let memory = &self.shared.storage.memory;
        let mut charge = memory.charge(Part::Background, 0);
        let columns: Vec<ColumnId> = self.needed.columns.iter().map(|c| c.0).collect();
        piece.clear(stretch.rows.start);
        let (mut ids, mut scratch) = (Vec::new(), ChangeScratch::default());
        for (segment, rows) in &stretch.parts {
            let mut scan = SegmentScan::new(segment, rows.clone(), Direction::Forward);
            while let Some(mut block) = scan.next_block()? {
                check(&self.shared, &self.control)?;
                ids.clear();
                block.block.row_ids(block.rows.clone(), &mut ids);
                let bytes = piece.bytes();
                charge.resize(bytes as u64);
                if bytes > self.limit {
                    self.write_piece(piece, ids[0])?;
                    piece.clear(ids[0]);
                }
                piece.row_ids.extend_from_slice(&ids);
                let rows = block.rows.clone();
                let at = piece.rows.rows;
                scan.append(&mut block, rows, &columns, &mut piece.rows)?;
                let Some(version) = &self.version else { continue };
                for (id, to) in columns.iter().zip(&mut piece.rows.columns) {
                    version.lay_changes(*id, Csn::MAX, &ids, to, at, false, &mut scratch)?;
                }
            }
        }
        self.write_piece(piece, stretch.rows.end)
    }

    /// Writes a run per index of a piece that ends before row `end`.
    fn write_piece(&self, piece: &mut Piece, end: RowId) -> Result<()> {
        if piece.row_ids.is_empty() {
            return Ok(());
        }
        let ids = &piece.row_ids;
        // What a row was wrong about matters while a reader may find the row.
        let lives = |at: usize| {
            let mut keep = [true];
            let dead =
                |version: &Arc<TableVersion>| version.drop_dead(&[ids[at]], Csn::MAX, &mut keep);
            self.version.as_ref().map_or(Ok(()), dead)?;
            Ok(keep[0])
        };
        let calculator = &self.shared.calculator;
        self.needed.complete(calculator, &self.schema, &mut piece.rows, &lives)?;
        self.check_keys(piece, &lives)?;
        for wanted in &self.wanted {
            check(&self.shared, &self.control)?;
            let (table, index) = (self.schema.id, wanted.index.id);
            let build = || match wanted.index.multi_entry {
                true => self.write_lists(wanted, piece, end, &lives),
                false => {
                    let run = self.write_run(wanted, piece, piece.start..end)?;
                    self.runs.lock().push((index, run));
                    Ok(())
                }
            };
            let ledger = &self.shared.ledger;
            ledger.doing(table, index, Work::Build, build)?;
            ledger.account(table, index).told(piece.row_ids.len() as u64);
        }
        self.control.advance(piece.row_ids.len() as u64);
        Ok(())
    }

    /// Refuses calculated keys above the limit, as a new row's are.
    fn check_keys(&self, piece: &Piece, lives: &dyn Fn(usize) -> Result<bool>) -> Result<()> {
        let read = self.needed.columns.len();
        let derived = |w: &&Wanted| !w.index.multi_entry && w.keys.iter().any(|at| *at >= read);
        for wanted in self.wanted.iter().filter(derived) {
            let columns: Vec<&Column> =
                wanted.keys.iter().map(|&k| &piece.rows.columns[k]).collect();
            let filter = wanted.filter.map(|at| &piece.rows.columns[at]);
            let def = key_def(&self.schema, &wanted.index);
            let mut key = Vec::new();
            for row in (0..piece.row_ids.len()).filter(|&row| has_entry(filter, row)) {
                key.clear();
                def.encode_row(&columns, row, &mut key);
                if key.len() > limits::KEY_BYTES && lives(row)? {
                    return Err(unique::too_long(&self.schema, &wanted.index, key.len()));
                }
            }
        }
        Ok(())
    }

    fn write_run(&self, wanted: &Wanted, piece: &Piece, rows: Range<RowId>) -> Result<RunMeta> {
        let n = piece.row_ids.len();
        let columns: Vec<&Column> = wanted.keys.iter().map(|&k| &piece.rows.columns[k]).collect();
        let (schema, index) = (&self.schema, &wanted.index);
        let def = key_def(schema, index);
        let mut stats: Vec<ColumnStats> =
            def.columns.iter().map(|c| ColumnStats::new(c.ty)).collect();
        stats.iter_mut().zip(&columns).for_each(|(s, c)| s.observe(c, 0..n));
        let packing = Packing::fit(&def, &stats);
        let mut keys = packing.new_keys();
        let packed = packing.pack(&columns, 0..n, &mut keys);
        assert!(packed, "a packing that was fitted to the columns holds them");
        let mut order = sort_permutation(&keys);
        if let Some(filter) = wanted.filter {
            let filter = Some(&piece.rows.columns[filter]);
            order.retain(|&row| has_entry(filter, row as usize));
            assert!(order.len() <= n, "a row has one entry");
        }
        let mut spec =
            flush::run_spec(&self.shared, schema, index, packing, rows.clone(), n as u64)?;
        // Who reads rows instead of entries sees no changes.
        let changed =
            |part: &KeyPart| self.version.as_ref().is_some_and(|v| v.changes_column(part.column));
        let plain = !index.key.iter().any(changed);
        spec.fences_only = index.fences_only && plain && order.is_sorted();
        let mut writer = RunWriter::new(&self.shared.storage, spec);
        let written = self.push_sorted(&mut writer, wanted, piece, &keys, &order);
        written.and_then(|()| flush::run_meta(&self.shared, writer, rows))
    }

    fn push_sorted(
        &self,
        writer: &mut RunWriter,
        wanted: &Wanted,
        piece: &Piece,
        keys: &Keys,
        order: &[u32],
    ) -> Result<()> {
        let include: Vec<&Column> =
            wanted.include.iter().map(|&k| &piece.rows.columns[k]).collect();
        let forms = include.iter().map(|c| c.data.physical());
        let mut entries = Entries::new(Keys::new(keys.form()), Batch::new(forms));
        for places in order.chunks(STEP) {
            entries.clear();
            entries.include.columns.iter_mut().for_each(|c| c.nulls = None);
            entries.keys.extend_selected(keys, places);
            entries.row_ids.extend(places.iter().map(|&i| piece.row_ids[i as usize]));
            let columns = entries.include.columns.iter_mut().zip(&include);
            columns.for_each(|(to, from)| to.extend_selected(from, places));
            entries.include.rows = places.len();
            writer.push(&entries)?;
        }
        Ok(())
    }
}

impl Pass {
    /// Writes runs of an index of lists for the rows of a piece that ends before row `end`: one, unless the lists
    /// take more room than there is.
    fn write_lists(
        &self,
        wanted: &Wanted,
        piece: &Piece,
        end: RowId,
        lives: &dyn Fn(usize) -> Result<bool>,
    ) -> Result<()> {
        let (schema, n) = (&self.schema, piece.row_ids.len());
        let of = schema.derived(wanted.index.key[0].column).expect("lists are derived");
        let mut charge = self.shared.storage.memory.charge(Part::Background, 0);
        let (mut start, mut first, mut at) = (piece.start, 0, 0);
        let (mut lists, mut entries) = (Column::new(Physical::Bytes), 0);
        let mut most = FIRST_LISTS;
        while at < n {
            check(&self.shared, &self.control)?;
            let mut bytes = 0;
            let fits = |row: &usize| {
                bytes += self.needed.list_bytes(schema, of, &piece.rows, *row);
                *row == at || bytes <= self.list_limit / LIST_STEPS
            };
            let to = (at..n.min(at + most)).take_while(fits).last().map_or(at, |row| row + 1);
            let rows = (&piece.rows, at..to);
            let made = self.needed.lists(&self.shared.calculator, schema, of, rows, lives)?;
            // The next lists are about as long as these.
            let fit = self.list_limit / LIST_STEPS * (to - at) / made.heap_bytes().max(1);
            most = fit.clamp(1, STEP);
            entries += entries::count(&made, 0..to - at) as usize;
            lists.extend_range(&made, 0..to - at);
            at = to;
            // Twice the places of entries, while they are sorted.
            let room = lists.heap_bytes() + entries * 2 * size_of::<u32>();
            charge.resize(room as u64);
            if at == n || room > self.list_limit {
                let stop = if at == n { end } else { piece.row_ids[at] };
                let made = std::mem::replace(&mut lists, Column::new(Physical::Bytes));
                let rows = ListRows::new(made, piece.row_ids[first..at].to_vec());
                let run = self.write_list_run(wanted, &rows, start..stop)?;
                self.runs.lock().push((wanted.index.id, run));
                (start, first, entries) = (stop, at, 0);
            }
        }
        Ok(())
    }

    fn write_list_run(
        &self,
        wanted: &Wanted,
        lists: &ListRows,
        rows: Range<RowId>,
    ) -> Result<RunMeta> {
        let (schema, index) = (&self.schema, &wanted.index);
        let def = key_def(schema, index);
        let mut stats = ColumnStats::new(def.columns[0].ty);
        lists.observe(&mut stats);
        let packing = Packing::fit(&def, &[stats]);
        let spec =
            flush::run_spec(&self.shared, schema, index, packing.clone(), rows.clone(), u64::MAX)?;
        let mut writer = RunWriter::new(&self.shared.storage, spec);
        for entries in lists.entries(&packing, STEP) {
            check(&self.shared, &self.control)?;
            writer.push(&entries)?;
        }
        flush::run_meta(&self.shared, writer, rows)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // Only where nobody took them.
        let runs = std::mem::take(self.runs.get_mut()).into_iter();
        let table = self.schema.id;
        let edits: Vec<Edit> = runs.map(|(i, run)| Edit::AddRun(table, i, run)).collect();
        flush::discard(&self.shared, &edits);
    }
}

/// Rows at hand.
struct Piece {
    start: RowId,
    /// So many of the columns are read; what is calculated comes behind.
    read: usize,
    rows: Batch,
    row_ids: Vec<RowId>,
}

impl Piece {
    fn new(pass: &Pass) -> Piece {
        let forms = pass.needed.columns.iter().map(|c| c.1);
        let rows = Batch::new(forms);
        Piece { start: 0, read: rows.columns.len(), rows, row_ids: Vec::new() }
    }

    fn clear(&mut self, start: RowId) {
        self.start = start;
        self.rows.columns.truncate(self.read);
        self.rows.truncate(0);
        self.rows.columns.iter_mut().for_each(|c| c.nulls = None);
        self.row_ids.clear();
    }

    /// Bytes that it takes while it is sorted.
    fn bytes(&self) -> usize {
        let column = |c: &Column| match &c.data {
            Vector::Bytes(v) => v.data.len() + v.offsets.len() * 4,
            Vector::Int(v) => v.len() * 8,
            Vector::Wide(v) => v.len() * 16,
            Vector::Numeric(m, _) => m.len() * 17,
        };
        let columns: usize = self.rows.columns.iter().map(column).sum();
        columns + self.row_ids.len() * SORT_BYTES
    }
}
