//! Is a key of a primary key or unique index free?
//!
//! Three answers, from cheap to dear: keys taken from the table's own counter
//! are new by construction; a batch of rising keys above everything known needs one comparison; all
//! others are looked up. The lookup in files is made by the client thread before it queues
//! ([`look_up`]); the leader repeats it only for what came since ([`validate`]). Keys with a NULL
//! never clash.

use onlap_base::{ColumnId, Error, ErrorKind, IndexId, Result, RowId, Subject, limits};
use onlap_format::key::KeyDef;
use onlap_format::{Batch, BytesVec, Column, IndexSchema, TableSchema, Value, Vector, convert};
use roaring::RoaringTreemap;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::Ordering;

use crate::commit::TableWrite;
use crate::table::{Highs, TableState, TableView, index_positions, key_def};

#[cfg(test)]
mod tests;

/// Keys that a transaction brings to one unique index.
#[derive(Debug)]
pub(crate) struct UniqueKeys {
    pub index: IndexId,
    how: Claim,
}

#[derive(Debug)]
enum Claim {
    /// Values of the table's counter, rising from `min` to `max`.
    Counter { min: Vec<u8>, max: Vec<u8> },
    /// Strictly rising from `min` to `max`.
    Rising { min: Vec<u8>, max: Vec<u8>, keys: Option<Probed> },
    /// Anything else.
    Any { max: Option<Vec<u8>>, keys: Probed },
}

/// Keys to look up, and how far the client thread has done so.
#[derive(Debug)]
struct Probed {
    keys: BytesVec,
    /// All rows below this id have been searched; keys found live are listed in `hits`.
    searched_below: RowId,
    hits: Vec<(usize, RowId)>,
}

impl UniqueKeys {
    /// What later members of a commit group have to know of the claim: its keys where they are
    /// written out, else the interval that they rise through.
    pub(crate) fn claimed(&self) -> Claimed<'_> {
        match &self.how {
            Claim::Rising { keys: Some(probed), .. } | Claim::Any { keys: probed, .. } => {
                Claimed::Keys(&probed.keys)
            }
            Claim::Counter { min, max } | Claim::Rising { min, max, keys: None } => {
                Claimed::Interval(min, max)
            }
        }
    }

    /// Whether any key has to be looked up.
    pub(crate) fn is_judged(&self) -> bool {
        !matches!(&self.how, Claim::Any { keys, .. } if keys.keys.is_empty())
    }

    fn max(&self) -> Option<&Vec<u8>> {
        match &self.how {
            Claim::Counter { max, .. } | Claim::Rising { max, .. } => Some(max),
            Claim::Any { max, .. } => max.as_ref(),
        }
    }
}

/// See [`UniqueKeys::claimed`].
pub(crate) enum Claimed<'a> {
    Keys(&'a BytesVec),
    Interval(&'a [u8], &'a [u8]),
}

/// Whether one of a transaction's rows, whose keys in an index rise, has this one.
pub(crate) fn has_key(w: &TableWrite, index: IndexId, key: &[u8]) -> bool {
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
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => high = middle,
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
        let how = match counter {
            Some(c) if positions == [c] && !def.columns[0].descending => {
                counter_claim(&def, &columns, rows.rows)
            }
            _ => claim(schema, index, &def, &columns, rows.rows)?,
        };
        if let Some(how) = how {
            out.push(UniqueKeys { index: index.id, how });
        }
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
        let keys = Probed { keys, searched_below: 0, hits: Vec::new() };
        return Ok(vec![UniqueKeys { index: index.id, how: Claim::Any { max: Some(max), keys } }]);
    }
    let all = key_bytes(&def, &columns, 0..rows.rows);
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
    let keys = Probed { keys, searched_below: 0, hits: Vec::new() };
    Ok(vec![UniqueKeys { index: index.id, how: Claim::Any { max, keys } }])
}

fn counter_claim(def: &KeyDef, columns: &[&Column], rows: usize) -> Option<Claim> {
    let (mut min, mut max) = (Vec::new(), Vec::new());
    def.encode_row(columns, 0, &mut min);
    def.encode_row(columns, rows - 1, &mut max);
    Some(Claim::Counter { min, max })
}

fn claim(
    schema: &TableSchema,
    index: &IndexSchema,
    def: &KeyDef,
    columns: &[&Column],
    rows: usize,
) -> Result<Option<Claim>> {
    if rising_ints(def, columns, 0..rows) {
        let (mut min, mut max) = (Vec::new(), Vec::new());
        def.encode_row(columns, 0, &mut min);
        def.encode_row(columns, rows - 1, &mut max);
        return Ok(Some(Claim::Rising { min, max, keys: None }));
    }
    let keys = key_bytes(def, columns, 0..rows);
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
    let probed = Probed { keys, searched_below: 0, hits: Vec::new() };
    Ok(Some(if rising {
        Claim::Rising { min, max, keys: Some(probed) }
    } else {
        Claim::Any { max: Some(max), keys: probed }
    }))
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

/// Key bytes of the rows without a NULL in the key.
fn key_bytes(def: &KeyDef, columns: &[&Column], rows: std::ops::Range<usize>) -> BytesVec {
    let mut keys = BytesVec::default();
    let mut key = Vec::new();
    for row in rows {
        if columns.iter().any(|c| c.is_null(row)) {
            continue;
        }
        key.clear();
        def.encode_row(columns, row, &mut key);
        keys.push(&key);
    }
    keys
}

/// Searches files and memtables for the keys, outside every lock. What this finds to be dead stays
/// dead; what it finds live is judged again by the leader. Returns how many filters were asked.
pub(crate) fn look_up(w: &mut TableWrite) -> Result<u64> {
    let mut probes = 0;
    if w.unique.is_empty() {
        return Ok(probes);
    }
    let view = w.state.view();
    if view.schema.version != w.schema.version {
        // The leader refuses the transaction; indexes of the claims may be gone.
        return Ok(probes);
    }
    for claim in &mut w.unique {
        let above = |min: &[u8]| {
            let writer = w.state.writer.lock();
            high_of(&writer.highs, claim.index).is_none_or(|high| min > high)
        };
        let probed = match &mut claim.how {
            Claim::Counter { .. } => continue,
            Claim::Rising { min, .. } if above(min) => continue,
            Claim::Rising { keys, .. } => {
                keys.get_or_insert_with(|| row_keys(&w.schema, claim.index, &w.rows))
            }
            Claim::Any { keys, .. } => keys,
        };
        // A commit that is tried again has looked before: hits rise by key, and are of one look.
        probed.hits.clear();
        let below = view.active.first_row();
        // Rows with a NULL in the key have none in the list.
        let kept = if probed.keys.len() == w.rows.rows { &w.kept[..] } else { &[] };
        let mut kept = kept.iter().peekable();
        for i in 0..probed.keys.len() {
            if let Some(&(_, row)) = kept.next_if(|&&(ordinal, _)| ordinal as usize == i) {
                probed.hits.push((i, row));
                continue;
            }
            let key = probed.keys.get(i);
            if let Some(row) = live_row(&view, claim.index, key, below, &mut probes)? {
                probed.hits.push((i, row));
            }
        }
        probed.searched_below = below;
    }
    Ok(probes)
}

fn row_keys(schema: &TableSchema, index: IndexId, rows: &Batch) -> Probed {
    let index = schema.index(index).expect("a claim names an index of its table");
    let (positions, _) = index_positions(schema, index);
    let columns: Vec<&Column> = positions.iter().map(|&p| &rows.columns[p]).collect();
    let keys = key_bytes(&key_def(schema, index), &columns, 0..rows.rows);
    Probed { keys, searched_below: 0, hits: Vec::new() }
}

/// The live row below `below` that carries a key. Only the newest carrier can be alive, since there is
/// the index.
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

/// The leader's judgement: every key is free. `taken(index, key, live row)` adds what the group
/// knows: whether an earlier member brought the key, or left the live row alive.
pub(crate) fn validate(
    w: &TableWrite,
    view: &TableView,
    highs: &Highs,
    taken: &mut dyn FnMut(IndexId, &[u8], Option<RowId>) -> bool,
) -> Result<()> {
    for claim in &w.unique {
        let above = |min: &[u8]| high_of(highs, claim.index).is_none_or(|high| min > high);
        let own;
        let probed = match &claim.how {
            Claim::Counter { .. } if !w.state.serial_mixed.load(Ordering::Relaxed) => continue,
            Claim::Rising { min, .. } | Claim::Counter { min, .. } if above(min) => continue,
            Claim::Rising { keys: Some(probed), .. } | Claim::Any { keys: probed, .. } => probed,
            Claim::Counter { .. } | Claim::Rising { keys: None, .. } => {
                own = row_keys(&w.schema, claim.index, &w.rows);
                &own
            }
        };
        let mut hits = probed.hits.iter().peekable();
        for i in 0..probed.keys.len() {
            let key = probed.keys.get(i);
            let mut live = None;
            if let Some(&&(_, row)) = hits.peek().filter(|h| h.0 == i) {
                hits.next();
                live = if view.mark_of(row)?.is_none() { Some(row) } else { None };
            }
            if live.is_none() {
                live = live_row_since(view, claim.index, key, probed.searched_below)?;
            }
            let live = live.filter(|row| !w.marks.iter().any(|m| m.row == *row));
            if taken(claim.index, key, live) {
                let index = w.schema.index(claim.index).expect("a claim names an index");
                return Err(duplicate(&w.schema, index, key));
            }
        }
    }
    Ok(())
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
        if rising_ints(&def, &columns, 0..rows.rows) {
            let mut max = Vec::new();
            def.encode_row(&columns, rows.rows - 1, &mut max);
            raise(highs, index.id, &max);
        } else if let Some(max) = key_bytes(&def, &columns, 0..rows.rows).iter().max() {
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
        let column = &schema.columns[schema.position(*id)?];
        let mut text = String::new();
        match value {
            Value::Null => text.push_str("null"),
            value => convert::format_text(column.ty, value, &mut text),
        }
        Some((column.name.clone(), text))
    });
    shown.collect()
}

/// Refuses keys above the limit, before the log sees them.
pub(crate) fn check_key_lengths(schema: &TableSchema, rows: &Batch) -> Result<()> {
    for index in &schema.indexes {
        let (positions, _) = index_positions(schema, index);
        let longest: usize = positions.iter().map(|&p| longest_value(&rows.columns[p])).sum();
        if longest * 2 + 16 * positions.len() <= limits::KEY_BYTES {
            continue;
        }
        let def = key_def(schema, index);
        let columns: Vec<&Column> = positions.iter().map(|&p| &rows.columns[p]).collect();
        let mut key = Vec::new();
        for row in 0..rows.rows {
            key.clear();
            def.encode_row(&columns, row, &mut key);
            if key.len() > limits::KEY_BYTES {
                let text = format!(
                    "key of {} bytes in index {} of table {}; at most {} fit",
                    key.len(),
                    index.name,
                    schema.name,
                    limits::KEY_BYTES
                );
                return Err(Error::new(ErrorKind::TooLong, text));
            }
        }
    }
    Ok(())
}

fn longest_value(column: &Column) -> usize {
    match &column.data {
        Vector::Bytes(v) => v.offsets.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        _ => 24,
    }
}
