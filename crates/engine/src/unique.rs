//! Is a key of a primary key or unique index free?
//!
//! Three answers, from cheap to dear: keys taken from the table's own counter
//! are new by construction; a batch of rising keys above everything known needs one comparison; all
//! others are looked up. The lookup is made by the client thread before it queues ([`look_up`]); the
//! leader repeats it only for what came since ([`validate`]), at a cost that follows the smaller of
//! the two, rows that came and keys. Keys with a NULL never clash.

use onlap_base::{ColumnId, Error, ErrorKind, IndexId, Result, RowId, Subject, limits};
use onlap_format::key::KeyDef;
use onlap_format::{
    Batch, BytesVec, Column, IndexSchema, KeyPart, TableSchema, Value, Vector, convert,
};
use roaring::RoaringTreemap;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use crate::commit::{PendingMark, TableWrite};
use crate::derive::has_entry;
use crate::table::{Highs, TableState, TableView, index_positions, key_def};

/// Keys that a transaction brings to one unique index.
#[derive(Debug)]
pub(crate) struct UniqueKeys {
    pub index: IndexId,
    how: Claim,
    /// The keys, once they had to be written out.
    keys: Option<Keys>,
    /// Of the rows below this id, only those in `hits` live and have a key, except for rows that this
    /// transaction itself deletes.
    searched_below: RowId,
    hits: Vec<(usize, RowId)>,
}

#[derive(Debug)]
enum Claim {
    /// Values of the table's counter, rising from `min` to `max`.
    Counter { min: Vec<u8>, max: Vec<u8> },
    /// Strictly rising from `min` to `max`.
    Rising { min: Vec<u8>, max: Vec<u8> },
    /// Anything else.
    Any { max: Option<Vec<u8>> },
}

/// Key bytes, each once.
#[derive(Debug)]
struct Keys {
    bytes: BytesVec,
    /// Their places in the order of keys, unless they stand in it.
    order: Option<Vec<u32>>,
}

impl Keys {
    fn has(&self, key: &[u8]) -> bool {
        let at = |i: usize| self.bytes.get(self.order.as_ref().map_or(i, |o| o[i] as usize));
        let (mut low, mut high) = (0, self.bytes.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match at(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => high = middle,
            }
        }
        false
    }
}

impl UniqueKeys {
    fn new(index: IndexId, how: Claim, keys: Option<Keys>) -> UniqueKeys {
        UniqueKeys { index, how, keys, searched_below: 0, hits: Vec::new() }
    }

    /// The keys, for those who compare them with others.
    pub(crate) fn claimed<'a>(&'a self, write: &'a TableWrite) -> Claimed<'a> {
        Claimed { claim: self, write }
    }

    /// The keys, if they were written out.
    pub(crate) fn written(&self) -> Option<&BytesVec> {
        self.keys.as_ref().map(|keys| &keys.bytes)
    }

    /// Whether any key has to be looked up.
    pub(crate) fn is_judged(&self) -> bool {
        !matches!(self.how, Claim::Any { .. }) || !self.has_no_keys()
    }

    fn has_no_keys(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.bytes.is_empty())
    }

    fn min(&self) -> Option<&[u8]> {
        match &self.how {
            Claim::Counter { min, .. } | Claim::Rising { min, .. } => Some(min),
            Claim::Any { .. } => None,
        }
    }

    fn max(&self) -> Option<&Vec<u8>> {
        match &self.how {
            Claim::Counter { max, .. } | Claim::Rising { max, .. } => Some(max),
            Claim::Any { max } => max.as_ref(),
        }
    }

    /// Whether no row can have any of the keys, given the largest known one.
    fn is_new(&self, state: &TableState, highs: &Highs) -> bool {
        let new = |min: &[u8]| high_of(highs, self.index).is_none_or(|high| min > high);
        match &self.how {
            Claim::Counter { .. } if !state.serial_mixed.load(Relaxed) => true,
            _ => self.has_no_keys() || self.min().is_some_and(new),
        }
    }
}

/// What a transaction brings to one unique index: written out, or as its rows have it.
#[derive(Clone, Copy)]
pub(crate) struct Claimed<'a> {
    claim: &'a UniqueKeys,
    write: &'a TableWrite,
}

impl Claimed<'_> {
    pub(crate) fn index(&self) -> IndexId {
        self.claim.index
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.claim.keys.as_ref().map_or(self.write.rows.rows, |keys| keys.bytes.len())
    }

    /// Whether a key is one of them.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        let below = self.claim.min().is_some_and(|min| key < min);
        if below || self.claim.max().is_some_and(|max| key > max.as_slice()) {
            return false;
        }
        match &self.claim.keys {
            Some(keys) => keys.has(key),
            None => has_key(self.write, self.claim.index, key),
        }
    }

    /// The first key for which `f` says yes.
    pub(crate) fn find(&self, f: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<Option<Vec<u8>>> {
        let own;
        let keys = match &self.claim.keys {
            Some(keys) => keys,
            None => {
                own = row_keys(&self.write.schema, self.claim.index, &self.write.rows);
                &own
            }
        };
        for key in keys.bytes.iter() {
            if f(key)? {
                return Ok(Some(key.to_vec()));
            }
        }
        Ok(None)
    }
}

/// Whether one of a transaction's rows, whose keys in an index rise, has this one.
fn has_key(w: &TableWrite, index: IndexId, key: &[u8]) -> bool {
    let index = w.schema.index(index).expect("a claim names an index of its table");
    let (positions, _) = index_positions(&w.schema, index);
    let columns: Vec<&Column> = positions.iter().map(|&p| &w.rows.columns[p]).collect();
    let def = key_def(&w.schema, index);
    let (mut low, mut high) = (0, w.rows.rows);
    let mut found = Vec::new();
    while low < high {
        let middle = low + (high - low) / 2;
        found.clear();
        def.encode_row(&columns, middle, &mut found);
        match found.as_slice().cmp(key) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return true,
            Ordering::Greater => high = middle,
        }
    }
    false
}

/// The claims of `rows` on every unique index. `counter` is the position of the serial column when
/// all its values were taken from the counter.
pub(crate) fn claims(
    schema: &TableSchema,
    rows: &Batch,
    counter: Option<usize>,
) -> Result<Vec<UniqueKeys>> {
    let mut out = Vec::new();
    if rows.rows == 0 {
        return Ok(out);
    }
    for index in schema.indexes.iter().filter(|i| i.unique) {
        let (positions, _) = index_positions(schema, index);
        let def = key_def(schema, index);
        let columns: Vec<&Column> = positions.iter().map(|&p| &rows.columns[p]).collect();
        let claim = match counter {
            Some(c) if positions == [c] && !def.columns[0].descending && index.filter.is_none() => {
                let (min, max) = ends(&def, &columns, rows.rows);
                Some((Claim::Counter { min, max }, None))
            }
            _ => {
                let filter = schema.filter_position(index).map(|p| &rows.columns[p]);
                claim(schema, index, &def, &columns, filter, rows.rows)?
            }
        };
        out.extend(claim.map(|(how, keys)| UniqueKeys::new(index.id, how, keys)));
    }
    Ok(out)
}

/// The claim of rows some of which were written blindly (their ordinals), on the primary key, the only
/// unique index: keys of the others are judged, unless a blind row brought them.
pub(crate) fn blind_claims(
    schema: &TableSchema,
    rows: &Batch,
    blind: &RoaringTreemap,
) -> Result<Vec<UniqueKeys>> {
    let Some(index) = schema.primary() else { return Ok(Vec::new()) };
    let (positions, _) = index_positions(schema, index);
    let def = key_def(schema, index);
    let columns: Vec<&Column> = positions.iter().map(|&p| &rows.columns[p]).collect();
    let mut keys = BytesVec::default();
    if blind.len() == rows.rows as u64 && rising_ints(&def, &columns, 0..rows.rows) {
        let mut max = Vec::new();
        def.encode_row(&columns, rows.rows - 1, &mut max);
        let (how, keys) = (Claim::Any { max: Some(max) }, Keys { bytes: keys, order: None });
        return Ok(vec![UniqueKeys::new(index.id, how, Some(keys))]);
    }
    let all = key_bytes(&def, &columns, None, 0..rows.rows);
    let max = all.iter().max().map(<[u8]>::to_vec);
    let is_blind = |i: usize| blind.contains(i as u64);
    if blind.len() < rows.rows as u64 {
        let known: HashSet<&[u8]> =
            (0..rows.rows).filter(|&i| is_blind(i)).map(|i| all.get(i)).collect();
        let others = (0..rows.rows).filter(|&i| !is_blind(i)).map(|i| all.get(i));
        let mut judged: Vec<&[u8]> = others.filter(|key| !known.contains(key)).collect();
        judged.sort_unstable();
        if let Some(pair) = judged.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(duplicate(schema, index, pair[0]));
        }
        judged.iter().for_each(|key| keys.push(key));
    }
    let keys = Keys { bytes: keys, order: None };
    Ok(vec![UniqueKeys::new(index.id, Claim::Any { max }, Some(keys))])
}

/// Keys of the first and the last row.
fn ends(def: &KeyDef, columns: &[&Column], rows: usize) -> (Vec<u8>, Vec<u8>) {
    assert!(rows > 0, "there is a first and a last row");
    let (mut min, mut max) = (Vec::new(), Vec::new());
    def.encode_row(columns, 0, &mut min);
    def.encode_row(columns, rows - 1, &mut max);
    (min, max)
}

fn claim(
    schema: &TableSchema,
    index: &IndexSchema,
    def: &KeyDef,
    columns: &[&Column],
    filter: Option<&Column>,
    rows: usize,
) -> Result<Option<(Claim, Option<Keys>)>> {
    if filter.is_none() && rising_ints(def, columns, 0..rows) {
        let (min, max) = ends(def, columns, rows);
        return Ok(Some((Claim::Rising { min, max }, None)));
    }
    let keys = key_bytes(def, columns, filter, 0..rows);
    if keys.is_empty() {
        return Ok(None);
    }
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    let get = |i: u32| keys.get(i as usize);
    let rising = (1..keys.len()).all(|i| keys.get(i - 1) < keys.get(i));
    if !rising {
        order.sort_unstable_by(|&a, &b| get(a).cmp(get(b)));
        if let Some(w) = order.windows(2).find(|w| get(w[0]) == get(w[1])) {
            return Err(duplicate(schema, index, get(w[0])));
        }
    }
    let max = get(*order.last().expect("there is a key")).to_vec();
    let min = get(order[0]).to_vec();
    debug_assert!(min <= max, "keys are in order");
    let how = match rising {
        true => Claim::Rising { min, max },
        false => Claim::Any { max: Some(max) },
    };
    let order = Some(order).filter(|_| !rising);
    Ok(Some((how, Some(Keys { bytes: keys, order }))))
}

/// Whether a key of one ascending integer column rises strictly: the common case, worth a short way.
pub(crate) fn rising_ints(def: &KeyDef, columns: &[&Column], rows: Range<usize>) -> bool {
    let [column] = columns else { return false };
    match &column.data {
        Vector::Int(v) if column.nulls.is_none() && !def.columns[0].descending => {
            !def.columns[0].ty.key_is_lossy() && v[rows].windows(2).all(|w| w[0] < w[1])
        }
        _ => false,
    }
}

/// Key bytes of the rows that have an entry without a NULL in the key.
fn key_bytes(
    def: &KeyDef,
    columns: &[&Column],
    filter: Option<&Column>,
    rows: std::ops::Range<usize>,
) -> BytesVec {
    let mut keys = BytesVec::default();
    let mut key = Vec::new();
    for row in rows {
        if !has_entry(filter, row) || columns.iter().any(|c| c.is_null(row)) {
            continue;
        }
        key.clear();
        def.encode_row(columns, row, &mut key);
        keys.push(&key);
    }
    keys
}

/// Searches files and memtables for the keys, outside every lock. What this finds to be dead stays
/// dead; what it finds live is judged again by the leader, as is what comes later. Returns how many
/// filters were asked.
pub(crate) fn look_up(w: &mut TableWrite) -> Result<u64> {
    let mut probes = 0;
    w.unique.iter_mut().for_each(|claim| {
        claim.hits.clear();
        claim.searched_below = 0;
    });
    if w.unique.is_empty() {
        return Ok(probes);
    }
    let view = w.state.view();
    if view.schema.version != w.schema.version {
        // The leader refuses the transaction; indexes of the claims may be gone.
        return Ok(probes);
    }
    let below = view.active.end_row();
    for claim in &mut w.unique {
        {
            let writer = w.state.writer.lock();
            if claim.is_new(&w.state, &writer.highs) {
                // Rows to which the largest known key belongs have their ids.
                claim.searched_below = writer.next_row;
                continue;
            }
        }
        let make = || row_keys(&w.schema, claim.index, &w.rows);
        let keys = &claim.keys.get_or_insert_with(make).bytes;
        // Rows with a NULL in the key have none in the list.
        let kept = if keys.len() == w.rows.rows { &w.kept[..] } else { &[] };
        let mut kept = kept.iter().peekable();
        for (i, key) in keys.iter().enumerate() {
            // The key stays with the row's successor.
            if kept.next_if(|&&(ordinal, _)| ordinal as usize == i).is_some() {
                continue;
            }
            let live = live_row(&view, claim.index, key, below, &mut probes)?;
            claim.hits.extend(live.filter(|row| !is_marked(&w.marks, *row)).map(|row| (i, row)));
        }
        claim.searched_below = below;
    }
    Ok(probes)
}

/// Whether marks, which are ascending, have one on a row.
pub(crate) fn is_marked(marks: &[PendingMark], row: RowId) -> bool {
    let compare = |mark: &PendingMark| {
        #[cfg(test)]
        tests::STEPS.with(|steps| steps.set(steps.get() + 1));
        mark.row.cmp(&row)
    };
    marks.binary_search_by(compare).is_ok()
}

fn row_keys(schema: &TableSchema, index: IndexId, rows: &Batch) -> Keys {
    let index = schema.index(index).expect("a claim names an index of its table");
    let (positions, _) = index_positions(schema, index);
    let columns: Vec<&Column> = positions.iter().map(|&p| &rows.columns[p]).collect();
    // Keys are written out late only where they rise.
    let filter = schema.filter_position(index).map(|p| &rows.columns[p]);
    let bytes = key_bytes(&key_def(schema, index), &columns, filter, 0..rows.rows);
    Keys { bytes, order: None }
}

/// The live row below `below` that carries a key. Only the newest carrier can be alive, since there is
/// the index. What commits of rows from `below` on do meanwhile is left to a later look.
pub(crate) fn live_row(
    view: &TableView,
    index: IndexId,
    key: &[u8],
    below: RowId,
    probes: &mut u64,
) -> Result<Option<RowId>> {
    match view.newest_with_key(index, key, below, probes)? {
        Some(row) if view.mark_of(row)?.is_none() => Ok(Some(row)),
        _ => Ok(None),
    }
}

/// The row that carries a key and is alive, in a view that commits go on to change. A commit that replaces the carrier
/// between the look for it and the look for its mark has put the successor there before the mark: it is found by
/// another look.
pub(crate) fn live_row_now(
    view: &TableView,
    index: IndexId,
    key: &[u8],
    probes: &mut u64,
) -> Result<Option<RowId>> {
    let mut carrier = view.newest_with_key(index, key, RowId::MAX, probes)?;
    #[cfg(test)]
    tests::between_looks();
    while let Some(row) = carrier
        && view.mark_of(row)?.is_some()
    {
        let newer = view.newest_with_key(index, key, RowId::MAX, probes)?;
        if newer == carrier {
            return Ok(None);
        }
        carrier = newer;
    }
    Ok(carrier)
}

/// What the earlier members of a commit group did, which no memtable shows yet.
pub(crate) trait Earlier {
    /// Whether one of them deleted a row of the table.
    fn has_marked(&self, row: RowId) -> bool;
    /// One of these keys, if one of them brought it.
    fn brought(&self, keys: Claimed<'_>) -> Result<Option<Vec<u8>>>;
}

/// The leader's judgement: every key is free.
pub(crate) fn validate(
    w: &TableWrite,
    view: &TableView,
    highs: &Highs,
    earlier: &dyn Earlier,
) -> Result<()> {
    for claim in w.unique.iter().filter(|claim| !claim.is_new(&w.state, highs)) {
        let hinders = |row: RowId| {
            let free = is_marked(&w.marks, row) || earlier.has_marked(row);
            Ok::<bool, Error>(!free && view.mark_of(row)?.is_none())
        };
        let mut taken = None;
        for &(i, row) in &claim.hits {
            if taken.is_none() && hinders(row)? {
                taken = claim.keys.as_ref().map(|keys| keys.bytes.get(i).to_vec());
            }
        }
        let keys = claim.claimed(w);
        if taken.is_none() {
            taken = taken_since(keys, view, &hinders)?;
        }
        if taken.is_none() {
            taken = earlier.brought(keys)?;
        }
        if let Some(key) = taken {
            let index = w.schema.index(claim.index).expect("a claim names an index");
            return Err(duplicate(&w.schema, index, &key));
        }
    }
    Ok(())
}

/// A key that a row has which came after the search. Few such rows are looked up among many keys, few
/// keys among many rows.
fn taken_since(
    keys: Claimed<'_>,
    view: &TableView,
    hinders: &dyn Fn(RowId) -> Result<bool>,
) -> Result<Option<Vec<u8>>> {
    let (index, since) = (keys.index(), keys.claim.searched_below);
    let rows = view.active.end_row().saturating_sub(since);
    if rows == 0 {
        return Ok(None);
    }
    if rows < keys.len() as u64
        && view.version.flushed_rows <= since
        && let Some(index) = view.schema.index(index)
        && let Some(taken) = walk_since(keys, view, index, hinders)
    {
        return taken;
    }
    keys.find(&mut |key| {
        let live = live_row_since(view, index, key, since)?;
        live.map_or(Ok(false), hinders)
    })
}

/// The same over rows, which lie in memtables. `None`: one of them has not all columns of the key.
fn walk_since(
    keys: Claimed<'_>,
    view: &TableView,
    index: &IndexSchema,
    hinders: &dyn Fn(RowId) -> Result<bool>,
) -> Option<Result<Option<Vec<u8>>>> {
    let since = keys.claim.searched_below;
    let def = key_def(&view.schema, index);
    let mut key = Vec::new();
    for memtable in view.memtables_newest_first().take_while(|m| m.end_row() > since) {
        let position = |part: &KeyPart| memtable.schema().position(part.column);
        let positions: Vec<usize> = index.key.iter().map(position).collect::<Option<_>>()?;
        let filter = match index.filter {
            Some(id) => Some(memtable.schema().position(id)?),
            None => None,
        };
        let wanted: Vec<usize> = positions.iter().copied().chain(filter).collect();
        for piece in memtable.pieces(since..RowId::MAX, &wanted) {
            let filter = filter.map(|p| &piece.batch().columns[p]);
            let columns: Vec<&Column> =
                positions.iter().map(|&p| &piece.batch().columns[p]).collect();
            for at in piece.range() {
                if !has_entry(filter, at) || columns.iter().any(|c| c.is_null(at)) {
                    continue;
                }
                key.clear();
                def.encode_row(&columns, at, &mut key);
                if keys.has(&key) {
                    match hinders(piece.row_id(at)) {
                        Ok(false) => {}
                        Ok(true) => return Some(Ok(Some(key))),
                        Err(e) => return Some(Err(e)),
                    }
                }
            }
        }
    }
    Some(Ok(None))
}

/// Rows that came after the search for a transaction's keys, and which the leader has to look at for
/// many of them.
pub(crate) fn unseen_rows(w: &TableWrite, view: &TableView, highs: &Highs) -> u64 {
    let end = view.active.end_row();
    let judged = w.unique.iter().filter(|claim| !claim.is_new(&w.state, highs));
    let unseen = |claim: &UniqueKeys| {
        let rows = end.saturating_sub(claim.searched_below);
        rows.min(claim.claimed(w).len() as u64)
    };
    judged.map(unseen).max().unwrap_or(0)
}

/// The live carrier of a key among rows from `since` on.
fn live_row_since(
    view: &TableView,
    index: IndexId,
    key: &[u8],
    since: RowId,
) -> Result<Option<RowId>> {
    let newest = if view.version.flushed_rows > since {
        view.newest_with_key(index, key, RowId::MAX, &mut 0)?
    } else {
        let mut found = None;
        for memtable in view.memtables_newest_first() {
            found = memtable.newest_with_key(index, key, RowId::MAX);
            if found.is_some() || memtable.first_row() <= since {
                break;
            }
        }
        let built = view.schema.index(index).map_or(0, |i| i.since);
        match found {
            Some(row) if built > 0 && view.says_nothing(built, row)? => {
                view.newest_with_key(index, key, row, &mut 0)?
            }
            found => found,
        }
    };
    match newest {
        Some(row) if row >= since && view.mark_of(row)?.is_none() => Ok(Some(row)),
        _ => Ok(None),
    }
}

/// Whether a key lies above every key that was ever committed to a unique index.
pub(crate) fn is_above_all(state: &TableState, index: IndexId, key: &[u8]) -> bool {
    high_of(&state.writer.lock().highs, index).is_none_or(|high| key > high)
}

fn high_of(highs: &Highs, index: IndexId) -> Option<&[u8]> {
    highs.iter().find(|h| h.0 == index).and_then(|h| h.1.as_deref())
}

/// Notes the largest keys of an admitted transaction.
pub(crate) fn raise_highs(highs: &mut Highs, claims: &[UniqueKeys]) {
    for claim in claims {
        if let Some(max) = claim.max() {
            raise(highs, claim.index, max);
        }
    }
}

pub(crate) fn raise(highs: &mut Highs, index: IndexId, max: &[u8]) {
    match highs.iter_mut().find(|h| h.0 == index) {
        Some((_, Some(high))) if max <= high.as_slice() => {}
        Some((_, high)) => *high = Some(max.to_vec()),
        None => highs.push((index, Some(max.to_vec()))),
    }
}

/// Notes the largest keys of rows that come from the log.
pub(crate) fn raise_highs_of_rows(schema: &TableSchema, rows: &Batch, highs: &mut Highs) {
    if rows.rows == 0 {
        // A batch without rows may come without columns.
        return;
    }
    for index in schema.indexes.iter().filter(|i| i.unique) {
        let (positions, _) = index_positions(schema, index);
        let columns: Vec<&Column> = positions.iter().map(|&p| &rows.columns[p]).collect();
        let def = key_def(schema, index);
        let filter = schema.filter_position(index).map(|p| &rows.columns[p]);
        if filter.is_none() && rising_ints(&def, &columns, 0..rows.rows) {
            let mut max = Vec::new();
            def.encode_row(&columns, rows.rows - 1, &mut max);
            raise(highs, index.id, &max);
        } else if let Some(max) = key_bytes(&def, &columns, filter, 0..rows.rows).iter().max() {
            raise(highs, index.id, max);
        }
    }
}

pub(crate) fn duplicate(schema: &TableSchema, index: &IndexSchema, key: &[u8]) -> Error {
    let values = key_def(schema, index).decode(key).unwrap_or_default();
    let shown: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    let text = format!(
        "table {} has a row with this key in {} already: ({})",
        schema.name,
        index.name,
        shown.join(", ")
    );
    let columns: Vec<ColumnId> = index.key.iter().map(|k| k.column).collect();
    Error::new(ErrorKind::DuplicateKey, text).about(Subject {
        table: schema.name.clone(),
        constraint: Some(index.name.clone()),
        key: key_texts(schema, &columns, &values),
        ..Subject::default()
    })
}

/// Columns with their values as texts.
pub(crate) fn key_texts(
    schema: &TableSchema,
    columns: &[ColumnId],
    values: &[Value],
) -> Vec<(String, String)> {
    let shown = columns.iter().zip(values).filter_map(|(id, value)| {
        let column = schema.column_at(schema.position(*id)?);
        let mut text = String::new();
        match value {
            Value::Null => text.push_str("null"),
            value => convert::format_text(column.ty, value, &mut text),
        }
        Some((column.name.clone(), text))
    });
    shown.collect()
}

/// Bytes of a row, with those of derived columns, of which no key is above the limit: a text takes twice its bytes
/// at most, and a sign, another value less than 24.
const ROW_OF_SHORT_KEYS: usize = 512;
const _: () = assert!(2 * ROW_OF_SHORT_KEYS + limits::KEY_COLUMNS * (24 + 2) <= limits::KEY_BYTES);

/// Refuses a row, of `bytes`, that is about to come in and has a key above the limit.
pub(crate) fn check_key_length(
    schema: &TableSchema,
    columns: &[Column],
    row: usize,
    bytes: usize,
) -> Result<()> {
    match bytes > ROW_OF_SHORT_KEYS {
        true => check_lengths(schema, columns, row..row + 1),
        false => Ok(()),
    }
}

/// Refuses keys above the limit, before the log sees them.
pub(crate) fn check_key_lengths(schema: &TableSchema, rows: &Batch) -> Result<()> {
    check_lengths(schema, &rows.columns, 0..rows.rows)
}

fn check_lengths(schema: &TableSchema, columns: &[Column], rows: Range<usize>) -> Result<()> {
    // Keys in lists were looked at as they were calculated.
    for index in schema.indexes.iter().filter(|index| !index.multi_entry) {
        let (positions, _) = index_positions(schema, index);
        let filter = schema.filter_position(index).map(|p| &columns[p]);
        let longest = |&p: &usize| longest_value(&columns[p], rows.clone());
        let longest: usize = positions.iter().map(longest).sum();
        if longest * 2 + 16 * positions.len() <= limits::KEY_BYTES {
            continue;
        }
        let def = key_def(schema, index);
        let parts: Vec<&Column> = positions.iter().map(|&p| &columns[p]).collect();
        let mut key = Vec::new();
        for row in rows.clone().filter(|&row| has_entry(filter, row)) {
            key.clear();
            def.encode_row(&parts, row, &mut key);
            if key.len() > limits::KEY_BYTES {
                return Err(too_long(schema, index, key.len()));
            }
        }
    }
    Ok(())
}

/// A key above the limit.
pub(crate) fn too_long(schema: &TableSchema, index: &IndexSchema, bytes: usize) -> Error {
    let text = format!(
        "key of {bytes} bytes in index {} of table {}; at most {} fit",
        index.name,
        schema.name,
        limits::KEY_BYTES
    );
    Error::new(ErrorKind::TooLong, text).with_code("54000")
}

fn longest_value(column: &Column, rows: Range<usize>) -> usize {
    let Vector::Bytes(values) = &column.data else { return 24 };
    let lengths = values.offsets[rows.start..=rows.end].windows(2).map(|w| (w[1] - w[0]) as usize);
    lengths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
