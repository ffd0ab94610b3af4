//! How does the description of a table or a sequence lie in an edit?
//!
//! A table: id, version, name, next column id, columns (count), indexes (count), then its rules. A
//! column: id, name, type, flags (1 nullable, 2 filled by the counter, 4 always so, 8 default, 16
//! missing value), the default where there is one (0 and a value, or 1 and a sequence id), the missing
//! value where there is one. An index: id, name, flags (1 unique, 2 primary, 4 fences-only, 8 since, 16 not
//! ready, 32 filter, 64 not before since, 128 several entries of a row),
//! key parts (count; each column id, descending), included column ids (count), with flag 8 the CSN from
//! which on it answers, with flag 32 the id of the derived column that says which rows it has. Rules: checks (count;
//! each name, expression), foreign keys (count; each name, child columns (count), parent table,
//! parent index, action on delete, action on update: 0 none, 1 cascade, 2 set null, 3 restrict, 4 set
//! default), history in microseconds. Whether a table takes blind writes is said by the kind of the edit,
//! and so is whether more about its rules follows: per index a byte (1 judged, 2 NULL equals NULL, 4 primary
//! key; from 16 on when it is judged: 0 with statements, 1 deferrable, 2 deferred; 8 alone: keys are short, with 16: where that is
//! of use; 8 with 1: an exclusion constraint, and a byte follows, 0: equal keys conflict, 1: overlapping ones), per check a byte (1
//! unproven, 2 of this table alone), per foreign key a byte (1 unproven, 2 full, from 16 on as for indexes)
//! and the columns that are set (count, ids). Derived
//! columns are the next id, then (count) each a column, the ids that it reads (count), its program, flags (1 a column
//! has to be true for it, 2 lists of keys), and with flag 1 the id of that column. Generated columns are (count) each the column's id, the ids
//! that it reads (count), and its program.
//!
//! A type: one byte of kind, and for numeric its flag, precision and scale, for varchar and char the
//! length. Values lie as `value::codec` says, expressions as `expr::codec` does. A sequence: id,
//! name, start, increment, min, max (signed), cycle (a flag), cache.

use onlap_base::{ColumnId, ForeignKeyId, Result, SequenceId, limits};

use super::{read_index, read_table};
use crate::expr::{put_expr, read_expr};
use crate::schema::{
    Action, CheckSchema, ColumnDefault, ColumnSchema, DERIVED_FIRST, DerivedSchema, Excludes,
    ForeignKeySchema, GeneratedSchema, Identity, IndexSchema, Judged, KeyPart, KeysKept,
    SequenceSchema, TableSchema, Time,
};
use crate::types::DataType;
use crate::value::{put_value, read_value};
use crate::wire::{Reader, put_bytes, put_signed, put_varint};

/// Whether the rules of a table follow its indexes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// As version 1 wrote.
    Absent,
    Present,
}

/// Appends a table.
pub(super) fn put_table(out: &mut Vec<u8>, schema: &TableSchema) {
    put_varint(out, schema.id.0.into());
    put_varint(out, schema.version.into());
    put_bytes(out, schema.name.as_bytes());
    put_varint(out, schema.next_column.into());
    put_varint(out, schema.columns.len() as u64);
    schema.columns.iter().for_each(|c| put_column(out, c));
    put_varint(out, schema.indexes.len() as u64);
    for i in &schema.indexes {
        put_varint(out, i.id.0.into());
        put_bytes(out, i.name.as_bytes());
        let fences_only = u8::from(i.fences_only) << 2;
        let since = u8::from(i.since > 0) << 3;
        let unready = u8::from(!i.ready) << 4;
        let filter = u8::from(i.filter.is_some()) << 5;
        let kind = u8::from(i.unique) | u8::from(i.primary) << 1;
        let only_since = u8::from(i.only_since) << 6;
        let multi_entry = u8::from(i.multi_entry) << 7;
        out.push(kind | fences_only | since | unready | filter | only_since | multi_entry);
        put_varint(out, i.key.len() as u64);
        for part in &i.key {
            put_varint(out, part.column.0.into());
            out.push(u8::from(part.descending));
        }
        put_varint(out, i.include.len() as u64);
        i.include.iter().for_each(|c| put_varint(out, c.0.into()));
        if i.since > 0 {
            put_varint(out, i.since);
        }
        i.filter.iter().for_each(|c| put_varint(out, c.0.into()));
    }
    put_rules(out, schema);
}

/// Appends a table's derived columns.
pub(super) fn put_derived(out: &mut Vec<u8>, schema: &TableSchema) {
    put_varint(out, schema.next_derived.into());
    put_varint(out, schema.derived.len() as u64);
    for d in &schema.derived {
        put_column(out, &d.column);
        put_varint(out, d.reads.len() as u64);
        d.reads.iter().for_each(|c| put_varint(out, c.0.into()));
        put_bytes(out, d.program.as_bytes());
        out.push(u8::from(d.only_if.is_some()) | u8::from(d.lists) << 1);
        d.only_if.iter().for_each(|c| put_varint(out, c.0.into()));
    }
}

/// Appends which columns are generated.
pub(super) fn put_generated(out: &mut Vec<u8>, schema: &TableSchema) {
    put_varint(out, schema.generated.len() as u64);
    for g in &schema.generated {
        put_varint(out, g.column.0.into());
        put_varint(out, g.reads.len() as u64);
        g.reads.iter().for_each(|c| put_varint(out, c.0.into()));
        put_bytes(out, g.program.as_bytes());
    }
}

/// Reads which columns of a table that was read before are generated.
pub(super) fn read_generated(r: &mut Reader<'_>, schema: &mut TableSchema) -> Result<()> {
    for _ in 0..r.count(3)? {
        let column = ColumnId(r.varint32()?);
        let n = r.count(1)?;
        let reads = (0..n).map(|_| Ok(ColumnId(r.varint32()?))).collect::<Result<Vec<_>>>()?;
        let program = r.text()?.to_owned();
        let known = |id: &ColumnId| schema.columns.iter().any(|c| c.id == *id);
        let is_base = |id: &ColumnId| known(id) && *id != column && schema.generated(*id).is_none();
        if !known(&column) || schema.generated(column).is_some() || !reads.iter().all(is_base) {
            return Err(r.error("a generated column that follows from what is not there"));
        }
        schema.generated.push(GeneratedSchema { column, reads, program });
    }
    let reads_generated =
        |g: &GeneratedSchema| g.reads.iter().any(|id| schema.generated(*id).is_some());
    if schema.generated.iter().any(reads_generated) {
        return Err(r.error("a generated column that follows from another"));
    }
    Ok(())
}

/// Reads derived columns into a table that was read before.
pub(super) fn read_derived(r: &mut Reader<'_>, schema: &mut TableSchema) -> Result<()> {
    schema.next_derived = r.varint32()?;
    let n = r.count(6)?;
    for _ in 0..n {
        let column = read_column(r)?;
        let n = r.count(1)?;
        let reads = (0..n).map(|_| Ok(ColumnId(r.varint32()?))).collect::<Result<Vec<_>>>()?;
        let program = r.text()?.to_owned();
        let [has_condition, lists] = read_flags(r)?;
        let only_if = if has_condition { Some(ColumnId(r.varint32()?)) } else { None };
        let known = |id: &ColumnId| schema.columns.iter().any(|c| c.id == *id);
        let before = |id: ColumnId| schema.derived(id).is_some();
        if column.id.0 < DERIVED_FIRST || !reads.iter().all(known) || !only_if.is_none_or(before) {
            return Err(r.error("a derived column that reads what is not there"));
        }
        if lists && column.ty != DataType::Bytea {
            return Err(r.error("a derived column whose lists are no bytes"));
        }
        schema.derived.push(DerivedSchema { column, reads, program, only_if, lists });
    }
    let is_bool = |id| schema.derived(id).is_some_and(|d| d.column.ty == DataType::Bool);
    if !schema.indexes.iter().filter_map(|i| i.filter).all(is_bool) {
        return Err(r.error("an index of rows that nothing names"));
    }
    Ok(())
}

/// Whether an index that has several entries of a row is of lists, and is nothing else besides.
fn has_its_lists(schema: &TableSchema, index: &IndexSchema) -> bool {
    let [part] = &index.key[..] else { return !index.multi_entry };
    let lists = schema.derived(part.column).is_some_and(|d| d.lists);
    let plain = !part.descending && index.include.is_empty() && !index.is_rule();
    !index.multi_entry || lists && plain && !index.primary && !index.fences_only
}

/// A table whose indexes with several entries of a row have lists of them.
pub(super) fn with_its_lists(r: &Reader<'_>, schema: TableSchema) -> Result<TableSchema> {
    match schema.indexes.iter().all(|index| has_its_lists(&schema, index)) {
        true => Ok(schema),
        false => Err(r.error("an index with several entries of a row, which nothing lists")),
    }
}

fn put_column(out: &mut Vec<u8>, c: &ColumnSchema) {
    put_varint(out, c.id.0.into());
    put_bytes(out, c.name.as_bytes());
    put_type(out, c.ty);
    let always = c.identity == Identity::Always;
    let flags = [c.nullable, c.is_serial(), always, c.default.is_some(), c.missing.is_some()];
    out.push(flags.iter().enumerate().map(|(i, f)| u8::from(*f) << i).sum());
    match &c.default {
        None => {}
        Some(ColumnDefault::Constant(value)) => {
            out.push(0);
            put_value(out, value);
        }
        Some(ColumnDefault::NextVal(id)) => {
            out.push(1);
            put_varint(out, id.0.into());
        }
    }
    if let Some(value) = &c.missing {
        put_value(out, value);
    }
}

fn put_rules(out: &mut Vec<u8>, schema: &TableSchema) {
    put_varint(out, schema.checks.len() as u64);
    for c in &schema.checks {
        put_bytes(out, c.name.as_bytes());
        put_expr(out, &c.expr);
    }
    put_varint(out, schema.foreign_keys.len() as u64);
    for f in &schema.foreign_keys {
        put_bytes(out, f.name.as_bytes());
        put_varint(out, f.columns.len() as u64);
        f.columns.iter().for_each(|c| put_varint(out, c.0.into()));
        put_varint(out, f.parent.0.into());
        put_varint(out, f.parent_index.0.into());
        out.extend([f.on_delete, f.on_update].map(action_byte));
    }
    put_varint(out, schema.history_us);
}

fn action_byte(action: Action) -> u8 {
    match action {
        Action::NoAction => 0,
        Action::Cascade => 1,
        Action::SetNull => 2,
        Action::Restrict => 3,
        Action::SetDefault => 4,
    }
}

/// Appends what more there is about the rules of a table.
pub(super) fn put_more_rules(out: &mut Vec<u8>, schema: &TableSchema) {
    for index in &schema.indexes {
        let keys = match index.keys {
            KeysKept::Full => 0,
            KeysKept::Short => 8,
            KeysKept::Auto => 8 | time_bits(Time::Deferrable),
        };
        out.push(index.judged.map_or(keys, |judged| {
            1 | u8::from(judged.nulls_equal) << 1
                | u8::from(judged.primary) << 2
                | u8::from(judged.excludes.is_some()) << 3
                | time_bits(judged.time)
        }));
        let excludes = index.excludes().map(|which| u8::from(which == Excludes::Overlapping));
        out.extend(excludes);
    }
    for check in &schema.checks {
        out.push(u8::from(check.unproven) | u8::from(check.own) << 1);
    }
    for key in &schema.foreign_keys {
        out.push(u8::from(key.unproven) | u8::from(key.full) << 1 | time_bits(key.time));
        put_varint(out, key.set_columns.len() as u64);
        key.set_columns.iter().for_each(|c| put_varint(out, c.0.into()));
    }
}

/// Flags of an index that is that of an exclusion constraint.
const EXCLUSION: u8 = 8 | 1;

/// Reads what more there is about the rules of a table.
pub(super) fn read_more_rules(r: &mut Reader<'_>, schema: &mut TableSchema) -> Result<()> {
    for index in &mut schema.indexes {
        let (flags, time) = read_timed(r)?;
        index.keys = match (flags, time) {
            (8, Time::Statement) => KeysKept::Short,
            (8, Time::Deferrable) => KeysKept::Auto,
            _ => KeysKept::Full,
        };
        if index.keys != KeysKept::Full {
            continue;
        }
        if flags > 7 && flags != EXCLUSION
            || flags & 1 == 0 && (flags > 0 || time != Time::Statement)
            || flags & 1 != 0 && index.unique
        {
            return Err(r.error("an index that is judged in no way that is known"));
        }
        let excludes = match flags == EXCLUSION {
            true if r.flag()? => Some(Excludes::Overlapping),
            true => Some(Excludes::Equal),
            false => None,
        };
        let (nulls_equal, primary) = (flags & 2 != 0, flags & 4 != 0);
        let judged = Judged { excludes, nulls_equal, primary, time };
        index.judged = (flags & 1 != 0).then_some(judged);
    }
    for check in &mut schema.checks {
        let [unproven, own] = read_flags(r)?;
        (check.unproven, check.own) = (unproven, own);
    }
    for key in &mut schema.foreign_keys {
        let (flags, time) = read_timed(r)?;
        if flags > 3 {
            return Err(r.error("unknown flags of a foreign key"));
        }
        (key.unproven, key.full, key.time) = (flags & 1 != 0, flags & 2 != 0, time);
        let n = r.count(1)?;
        key.set_columns = (0..n).map(|_| Ok(ColumnId(r.varint32()?))).collect::<Result<_>>()?;
    }
    Ok(())
}

fn time_bits(time: Time) -> u8 {
    match time {
        Time::Statement => 0,
        Time::Deferrable => 1 << 4,
        Time::Deferred => 2 << 4,
    }
}

fn read_timed(r: &mut Reader<'_>) -> Result<(u8, Time)> {
    let byte = r.u8()?;
    let time = match byte >> 4 {
        0 => Time::Statement,
        1 => Time::Deferrable,
        2 => Time::Deferred,
        _ => return Err(r.error("an unknown time at which a rule is judged")),
    };
    Ok((byte & 15, time))
}

fn read_action(r: &mut Reader<'_>) -> Result<Action> {
    Ok(match r.u8()? {
        0 => Action::NoAction,
        1 => Action::Cascade,
        2 => Action::SetNull,
        3 => Action::Restrict,
        4 => Action::SetDefault,
        _ => return Err(r.error("an unknown action of a foreign key")),
    })
}

/// Reads a table.
pub(super) fn read_table_schema(r: &mut Reader<'_>, rules: Rules) -> Result<TableSchema> {
    let (id, version) = (read_table(r)?, r.varint32()?);
    let name = r.text()?.to_owned();
    let next_column = r.varint32()?;
    let n = r.count(4)?;
    let columns = (0..n).map(|_| read_column(r)).collect::<Result<_>>()?;
    let n = r.count(5)?;
    let indexes = (0..n).map(|_| read_index_schema(r)).collect::<Result<_>>()?;
    let mut schema =
        TableSchema { id, name, version, columns, indexes, next_column, ..TableSchema::default() };
    if rules == Rules::Present {
        read_rules(r, &mut schema)?;
    }
    Ok(schema)
}

fn read_rules(r: &mut Reader<'_>, schema: &mut TableSchema) -> Result<()> {
    for _ in 0..r.varint_max(limits::CHECKS, "the number of checks")? {
        let name = r.text()?.to_owned();
        schema.checks.push(CheckSchema { name, expr: read_expr(r)?, unproven: false, own: false });
    }
    for _ in 0..r.varint_max(limits::FOREIGN_KEYS, "the number of foreign keys")? {
        let name = r.text()?.to_owned();
        let n = r.count(1)?;
        let columns = (0..n).map(|_| Ok(ColumnId(r.varint32()?))).collect::<Result<_>>()?;
        let (parent, parent_index) = (read_table(r)?, read_index(r)?);
        let (on_delete, on_update) = (read_action(r)?, read_action(r)?);
        schema.add_foreign_key(ForeignKeySchema {
            id: ForeignKeyId::default(),
            name,
            columns,
            parent,
            parent_index,
            on_delete,
            on_update,
            set_columns: Vec::new(),
            full: false,
            time: Time::Statement,
            unproven: false,
        });
    }
    schema.history_us = r.varint()?;
    Ok(())
}

/// Appends a sequence.
pub(super) fn put_sequence(out: &mut Vec<u8>, s: &SequenceSchema) {
    put_varint(out, s.id.0.into());
    put_bytes(out, s.name.as_bytes());
    [s.start, s.increment, s.min, s.max].iter().for_each(|v| put_signed(out, *v));
    out.push(u8::from(s.cycle));
    put_varint(out, s.cache.into());
}

/// Reads a sequence.
pub(super) fn read_sequence(r: &mut Reader<'_>) -> Result<SequenceSchema> {
    let s = SequenceSchema {
        id: SequenceId(r.varint32()?),
        name: r.text()?.to_owned(),
        start: r.signed()?,
        increment: r.signed()?,
        min: r.signed()?,
        max: r.signed()?,
        cycle: r.flag()?,
        cache: r.varint32()?,
    };
    if s.increment == 0 || s.start < s.min || s.start > s.max {
        return Err(r.error("a sequence that starts outside its range, or stands still"));
    }
    Ok(s)
}

/// Reads a byte of `N` flags, the lowest bit first.
pub(super) fn read_flags<const N: usize>(r: &mut Reader<'_>) -> Result<[bool; N]> {
    let flags = r.u8()?;
    if N < 8 && flags >> N != 0 {
        return Err(r.error("unknown flags in a schema"));
    }
    Ok(std::array::from_fn(|i| flags >> i & 1 != 0))
}

fn read_column(r: &mut Reader<'_>) -> Result<ColumnSchema> {
    let id = ColumnId(r.varint32()?);
    let name = r.text()?.to_owned();
    let ty = read_type(r)?;
    let [nullable, serial, always, has_default, has_missing] = read_flags(r)?;
    let identity = match (serial, always) {
        (false, false) => Identity::None,
        (true, false) => Identity::ByDefault,
        (true, true) => Identity::Always,
        (false, true) => return Err(r.error("a column that is always filled by nothing")),
    };
    let default = match has_default {
        false => None,
        true if r.flag()? => Some(ColumnDefault::NextVal(SequenceId(r.varint32()?))),
        true => Some(ColumnDefault::Constant(read_value(r)?)),
    };
    let missing = if has_missing { Some(read_value(r)?) } else { None };
    Ok(ColumnSchema { id, name, ty, nullable, identity, default, missing })
}

fn read_index_schema(r: &mut Reader<'_>) -> Result<IndexSchema> {
    let id = read_index(r)?;
    let name = r.text()?.to_owned();
    let [unique, primary, fences_only, has_since, unready, has_filter, only_since, multi_entry] =
        read_flags(r)?;
    let n = r.count(2)?;
    let mut key = Vec::with_capacity(n);
    for _ in 0..n {
        key.push(KeyPart { column: ColumnId(r.varint32()?), descending: r.flag()? });
    }
    let n = r.count(1)?;
    let include = (0..n).map(|_| Ok(ColumnId(r.varint32()?))).collect::<Result<_>>()?;
    let since = if has_since { r.varint()? } else { 0 };
    let filter = if has_filter { Some(ColumnId(r.varint32()?)) } else { None };
    let ready = !unready;
    Ok(IndexSchema {
        id,
        name,
        key,
        include,
        filter,
        multi_entry,
        unique,
        primary,
        judged: None,
        fences_only,
        keys: KeysKept::Full,
        since,
        only_since,
        ready,
    })
}

fn put_type(out: &mut Vec<u8>, ty: DataType) {
    let kind = match ty {
        DataType::Bool => 1,
        DataType::Int2 => 2,
        DataType::Int4 => 3,
        DataType::Int8 => 4,
        DataType::Float4 => 5,
        DataType::Float8 => 6,
        DataType::Numeric(_) => 7,
        DataType::Text => 8,
        DataType::Varchar(_) => 9,
        DataType::Char(_) => 10,
        DataType::Bytea => 11,
        DataType::Uuid => 12,
        DataType::Date => 13,
        DataType::Time => 14,
        DataType::Timestamp => 15,
        DataType::Timestamptz => 16,
        DataType::Json => 17,
        DataType::Folded => 18,
    };
    out.push(kind);
    match ty {
        DataType::Numeric(None) => out.push(0),
        DataType::Numeric(Some((precision, scale))) => out.extend([1, precision, scale]),
        DataType::Varchar(n) | DataType::Char(n) => put_varint(out, n.into()),
        _ => {}
    }
}

fn read_type(r: &mut Reader<'_>) -> Result<DataType> {
    Ok(match r.u8()? {
        1 => DataType::Bool,
        2 => DataType::Int2,
        3 => DataType::Int4,
        4 => DataType::Int8,
        5 => DataType::Float4,
        6 => DataType::Float8,
        7 => DataType::Numeric(if r.flag()? { Some((r.u8()?, r.u8()?)) } else { None }),
        8 => DataType::Text,
        9 => DataType::Varchar(r.varint32()?),
        10 => DataType::Char(r.varint32()?),
        11 => DataType::Bytea,
        12 => DataType::Uuid,
        13 => DataType::Date,
        14 => DataType::Time,
        15 => DataType::Timestamp,
        16 => DataType::Timestamptz,
        17 => DataType::Json,
        18 => DataType::Folded,
        _ => return Err(r.error("an unknown column type")),
    })
}
