//! What becomes of children when their parent goes, or its key changes?
//!
//! A statement notes the parent rows that it deletes or replaces ([`Losses`]). When it has done its
//! work, each key that a row lost is locked, (unique index, key) in mode `Update`, which waits for
//! transactions that bring children of it; then children are looked for in the newest committed state
//! and among the transaction's own rows. With `Cascade`, `SetNull` and `SetDefault` they are deleted or changed,
//! and what they lose as parents themselves is followed in turn. `NoAction` and `Restrict` are judged last, so
//! that a statement may delete a parent together with its children; with `NoAction` it may give the key to
//! another row, and where the foreign key is put off, all that waits for the end of the transaction ([`super::due`]).
//!
//! A child that another transaction is changing is waited for, and then children are looked for again:
//! the child may have moved on to a successor, or to another parent.
//!
//! Children are found through an index that begins with the foreign key's columns; where there is
//! none, the whole child table is read.

use std::collections::VecDeque;
use std::sync::Arc;

use onlap_base::{ColumnId, Error, ErrorKind, OtherEnd, PROVISIONAL_BASE, Result, RowId, Subject};
use onlap_format::{Action, DataType, Row, TableSchema, Value, convert};

use super::buffer::Found;
use super::change::lock_for;
use super::due::{Left, Loss};
use super::parents::{Parent, named_values};
use super::rows::Settled;
use super::{Isolation, MARK_BYTES, Transaction};
use crate::database::Table;
use crate::locks::{LockWait, RowLock};
use crate::options::Rule;
use crate::read::{KeyRange, ReadView, Reader, Registration, Scan};
use crate::rules::Reference;
use crate::rules::defaults::default_value;
use crate::unique::key_texts;

/// Parent rows that a statement deletes or replaces.
pub(super) struct Losses {
    /// Whether anybody refers to the table.
    pub wanted: bool,
    /// Foreign keys whose actions the caller carries out.
    left: Option<Left>,
    rows: Vec<(Row, Option<Row>)>,
}

impl Losses {
    /// Notes a row and what replaces it.
    pub(super) fn note(&mut self, old: Row, new: Option<Row>) {
        if self.wanted {
            self.rows.push((old, new));
        }
    }
}

/// A key that a parent row had.
pub(super) struct Lost {
    pub(super) reference: Reference,
    pub(super) key: Vec<u8>,
    /// In the order of the parent's index.
    pub(super) values: Vec<Value>,
    /// What children get in these columns; nothing where they go.
    pub(super) new: Vec<(ColumnId, Value)>,
    /// Whether it matters not who else has the key by now.
    pub(super) strict: bool,
}

impl Lost {
    /// One that is judged alone.
    pub(super) fn to_judge(reference: Reference, key: Vec<u8>, values: Vec<Value>) -> Lost {
        Lost { reference, key, values, new: Vec::new(), strict: false }
    }
}

/// What following the losses has led to.
#[derive(Default)]
struct Wake {
    open: VecDeque<Loss>,
    /// Judged when all others have followed.
    restricted: Vec<Lost>,
    /// Tables with new rows in memory from this one on, and the columns that were set.
    changed: Vec<(Table, usize, Vec<String>)>,
}

/// Whether a foreign key changes or deletes the rows that name a parent row which goes (`deleted`) or gets another key; it
/// refuses that else.
pub(super) fn acts(reference: &Reference, deleted: bool) -> bool {
    let key = &reference.key;
    let action = if deleted { key.on_delete } else { key.on_update };
    !matches!(action, Action::NoAction | Action::Restrict)
}

impl Transaction {
    /// Where a statement notes what parent rows it deletes or replaces.
    pub(super) fn losses(&self, table: &Table) -> Losses {
        let wanted = self.references_to(table.state.id).is_some();
        Losses { wanted, left: self.due.left.clone(), rows: Vec::new() }
    }

    /// The same for an update that locked rows in this mode: keys stay where it is no `Update`.
    pub(super) fn losses_of(&self, table: &Table, mode: RowLock) -> Losses {
        let losses = self.losses(table);
        Losses { wanted: losses.wanted && mode == RowLock::Update, ..losses }
    }

    /// Notes that the newest own row has replaced an old one.
    pub(super) fn note_replaced(
        &mut self,
        table: &Table,
        old: Option<Row>,
        losses: &mut Losses,
    ) -> Result<()> {
        if let Some(old) = old {
            let at = self.buffer(table)?.end() - 1;
            losses.note(old, Some(self.read_found(table, Found::Own(at))?));
        }
        Ok(())
    }

    /// At the end of a statement: lets the children follow, or refuses.
    pub(super) fn follow(&mut self, table: &Table, losses: Losses) -> Result<()> {
        let (parent, left) = (table, losses.left);
        let loss = |(old, new)| Loss { parent: parent.clone(), old, new, left: left.clone() };
        let all = losses.rows.into_iter().map(loss);
        match self.hold_losses(all.collect())? {
            Some(losses) => self.follow_all(losses),
            None => Ok(()),
        }
    }

    /// Lets the children of parent rows that are deleted or replaced follow, or refuses.
    pub(super) fn follow_all(&mut self, losses: Vec<Loss>) -> Result<()> {
        let mut wake = Wake { open: losses.into(), ..Wake::default() };
        while let Some(loss) = wake.open.pop_front() {
            let references = self.references_to(loss.parent.state.id);
            for reference in references.iter().flat_map(|r| r.iter()) {
                let id = (reference.child, reference.key.id);
                // One that only refuses this loss is judged here, whatever it does for the other kind.
                if loss.left.as_ref().is_some_and(|left| left.contains(&id))
                    && acts(reference, loss.new.is_none())
                {
                    continue;
                }
                self.follow_one(reference, &loss.old, loss.new.as_ref(), &mut wake)?;
            }
        }
        for (child, from, columns) in &wake.changed {
            let schema = Arc::clone(&self.buffer(child)?.schema);
            self.reserve_changed(child, *from, lock_for(&schema, columns))?;
        }
        for (child, from, columns) in &wake.changed {
            self.check_rules(child, *from, Some(columns.as_slice()))?;
        }
        for lost in wake.restricted {
            if let Some(lost) = self.put_off_lost(lost)? {
                self.restrict(&lost)?;
            }
        }
        Ok(())
    }

    fn follow_one(
        &mut self,
        reference: &Reference,
        old: &Row,
        new: Option<&Row>,
        wake: &mut Wake,
    ) -> Result<()> {
        let Some((action, mut lost, new)) = self.lose(reference, old, new)? else { return Ok(()) };
        match action {
            Action::NoAction => wake.restricted.push(lost),
            Action::Restrict => wake.restricted.push(Lost { strict: true, ..lost }),
            Action::Cascade | Action::SetNull | Action::SetDefault => {
                lost.new = self.new_values(action, &lost, new)?;
                self.cascade(&lost, wake)?;
                if action == Action::SetDefault {
                    // The defaults may be what the parent has lost.
                    self.restrict(&lost)?;
                }
            }
        }
        Ok(())
    }

    /// What a foreign key does about a parent row that goes, or becomes another one: its action, the key that is lost, which is
    /// locked, and the key that the row has then. Nothing where it keeps its key.
    pub(super) fn lose(
        &mut self,
        reference: &Reference,
        old: &Row,
        new: Option<&Row>,
    ) -> Result<Option<(Action, Lost, Option<Vec<Value>>)>> {
        let parent = Parent::of(self, &reference.key)?;
        let schema = parent.table.schema();
        let value = |row: &Row, i: usize| {
            let at = schema.position(parent.index.key[i].column);
            row[at.expect("an index names columns of its table")].clone()
        };
        let key_of = |row: &Row| (0..parent.index.key.len()).map(|i| value(row, i)).collect();
        let values: Vec<Value> = key_of(old);
        if values.contains(&Value::Null) {
            return Ok(None);
        }
        let key = parent.def.encode_values(&values)?;
        let new: Option<Vec<Value>> = new.map(key_of);
        if let Some(new) = &new
            && parent.def.encode_values(new)? == key
        {
            // Of equal keys one may be written in another way, which children follow.
            let follows = reference.key.on_update == Action::Cascade
                && format!("{new:?}") != format!("{values:?}");
            if !follows {
                return Ok(None);
            }
        }
        self.lock_parent_key(&parent, &key, RowLock::Update)?;
        let action = match &new {
            None => reference.key.on_delete,
            Some(_) => reference.key.on_update,
        };
        Ok(Some((action, Lost::to_judge(reference.clone(), key, values), new)))
    }

    /// What an action sets in the children of a key that is lost, or becomes another one; nothing where they go.
    pub(super) fn new_values(
        &mut self,
        action: Action,
        lost: &Lost,
        new: Option<Vec<Value>>,
    ) -> Result<Vec<(ColumnId, Value)>> {
        let key = &lost.reference.key;
        let columns = match (&new, &key.set_columns[..]) {
            (None, some) if !some.is_empty() => some,
            _ => &key.columns[..],
        };
        if action == Action::SetNull {
            return Ok(columns.iter().map(|column| (*column, Value::Null)).collect());
        }
        let child = self.child_table(&lost.reference)?;
        let schema = Arc::clone(&self.buffer(&child)?.schema);
        let column = |id: &ColumnId| {
            let at = schema.position(*id).expect("a key names columns of its table");
            &schema.columns[at]
        };
        if action == Action::SetDefault {
            let default = |id: &ColumnId| Ok((*id, default_value(&self.shared, column(id))?));
            return columns.iter().map(default).collect();
        }
        let values = columns.iter().zip(new.into_iter().flatten());
        let fit = |(id, value): (&ColumnId, Value)| {
            must_fit(&value, column(id).ty)?;
            Ok((*id, value))
        };
        values.map(fit).collect()
    }

    /// Refuses that a key goes while children name it.
    pub(super) fn restrict(&mut self, lost: &Lost) -> Result<()> {
        let parent = Parent::of(self, &lost.reference.key)?;
        if !lost.strict
            && (self.own_row_with_key(&parent, &lost.key)?
                || self.committed_row_with_key(&parent, &lost.key)?.is_some())
        {
            return Ok(());
        }
        let child = self.child_table(&lost.reference)?;
        loop {
            let Some(&row) = self.children(&child, &parent, lost)?.first() else { return Ok(()) };
            if row < PROVISIONAL_BASE
                && self.shared.obeys(Rule::ForeignKeys)
                && !matches!(
                    self.lock_row(&child, row, RowLock::KeyShare, LockWait::Block)?,
                    Settled::Same | Settled::Changed
                )
            {
                continue;
            }
            let key = &lost.reference.key;
            let text = format!(
                "a row of table {} cannot go or change its key: foreign key {} of table {} refers \
                 to it with {}",
                parent.table.name(),
                key.name,
                child.name(),
                named_values(&child.schema(), &key.columns, &lost.values)
            );
            let parent_columns: Vec<_> = parent.index.key.iter().map(|k| k.column).collect();
            return Err(Error::new(ErrorKind::ForeignKeyViolation, text).about(Subject {
                table: parent.table.name(),
                constraint: Some(key.name.clone()),
                key: key_texts(&parent.table.schema(), &parent_columns, &lost.values),
                other: Some(OtherEnd::Child(child.name())),
                ..Subject::default()
            }));
        }
    }

    /// Deletes the children of a key, or gives them another.
    fn cascade(&mut self, lost: &Lost, wake: &mut Wake) -> Result<()> {
        let child = self.child_table(&lost.reference)?;
        let rows = self.lock_children(&child, lost)?;
        let schema = Arc::clone(&self.buffer(&child)?.schema);
        let names = column_names(&schema, lost.new.iter().map(|(column, _)| *column));
        let from = self.buffer(&child)?.rows.rows;
        for row in rows {
            let old = self.read_newest(&child, row)?;
            if lost.new.is_empty() {
                self.check_room(MARK_BYTES)?;
                self.buffer(&child)?.delete(Found::of(row));
                wake.open.push_back(Loss { parent: child.clone(), old, new: None, left: None });
                continue;
            }
            let mut new = old.clone();
            for (id, value) in &lost.new {
                let at = schema.position(*id).expect("a foreign key names columns of its table");
                new[at] = value.clone();
            }
            self.check_room(MARK_BYTES + super::incoming::row_bytes(&new))?;
            let keeps = lock_for(&schema, &names) == RowLock::NoKeyUpdate;
            self.replace(&child, Found::of(row), &new, &names, keeps)?;
            let at = self.buffer(&child)?.end() - 1;
            let new = Some(self.read_found(&child, Found::Own(at))?);
            wake.open.push_back(Loss { parent: child.clone(), old, new, left: None });
        }
        if !lost.new.is_empty() {
            wake.changed.push((child, from, names));
        }
        Ok(())
    }

    /// The children of a key in their newest versions, locked.
    pub(super) fn lock_children(&mut self, child: &Table, lost: &Lost) -> Result<Vec<RowId>> {
        let parent = Parent::of(self, &lost.reference.key)?;
        'again: loop {
            let rows = self.children(child, &parent, lost)?;
            for &row in rows.iter().filter(|r| **r < PROVISIONAL_BASE) {
                match self.lock_row(child, row, RowLock::Update, LockWait::Block)? {
                    Settled::Same | Settled::Changed => self.check_seen(child, row)?,
                    Settled::Gone(_) | Settled::Skipped => continue 'again,
                }
            }
            return Ok(rows);
        }
    }

    /// Above READ COMMITTED nothing is changed that the transaction cannot see.
    fn check_seen(&mut self, child: &Table, row: RowId) -> Result<()> {
        if self.options.isolation == Isolation::ReadCommitted || row < self.view(child)?.count {
            return Ok(());
        }
        let text = format!(
            "a child row in table {} was added by another transaction since this one began; roll it \
             back and run it again",
            child.name()
        );
        Err(Error::new(ErrorKind::Conflict, text))
    }

    /// Rows of a child table that name a parent key: committed and own ones, in the newest state.
    fn children(&mut self, child: &Table, parent: &Parent, lost: &Lost) -> Result<Vec<RowId>> {
        let (key, values) = (&lost.reference.key, &lost.values);
        let (view, now) = self.newest(child)?;
        let schema = Arc::clone(&view.view.schema);
        let reader = Reader::new(view, now);
        let in_order = |index: &onlap_format::IndexSchema| {
            let parts = index.key.get(..key.columns.len())?;
            let value = |column| key.columns.iter().position(|c| *c == column);
            let places = parts.iter().map(|p| value(p.column)).collect::<Option<Vec<usize>>>()?;
            Some(places.into_iter().map(|i| values[i].clone()).collect::<Vec<Value>>())
        };
        let mut ready = schema.indexes.iter().filter(|i| i.ready && i.is_complete());
        let index = ready.find_map(|i| Some((&i.name, in_order(i)?)));
        if let Some((name, values)) = index {
            // No row holds a value that its column's type cannot.
            return match reader.index_row_ids(name, &KeyRange::eq(values)) {
                Err(e) if e.kind() == ErrorKind::OutOfRange => Ok(Vec::new()),
                rows => rows,
            };
        }
        let names = column_names(&schema, key.columns.iter().copied());
        let mut found = Vec::new();
        for batch in reader.scan(&Scan::all().columns(names))? {
            let batch = batch?;
            for i in 0..batch.len() {
                let row = batch.row(i);
                if !row.contains(&Value::Null) && parent.def.encode_values(&row)? == lost.key {
                    found.push(batch.row_ids[i]);
                }
            }
        }
        Ok(found)
    }

    /// A row in the newest state, or one of the transaction's own.
    pub(super) fn read_newest(&mut self, table: &Table, row: RowId) -> Result<Row> {
        if row >= PROVISIONAL_BASE {
            return self.read_found(table, Found::of(row));
        }
        let (_, mut rows) = self.newest(table)?.0.fetch_rows(&[row])?;
        rows.pop().ok_or_else(|| Error::damaged(format!("row {row} is not in its segment")))
    }

    /// Everything committed, and what the transaction did itself.
    pub(super) fn newest(&mut self, table: &Table) -> Result<(ReadView, Arc<Registration>)> {
        let now = Registration::new(&self.shared);
        let mut view = self.view_at(table, &now)?;
        view.own = self.buffer(table)?.own_rows(Vec::new())?;
        self.charge();
        Ok((view, now))
    }

    pub(super) fn child_table(&mut self, reference: &Reference) -> Result<Table> {
        let child = self.table_by_id(reference.child).ok_or_else(|| {
            let text = "a child table was dropped meanwhile; run the transaction again";
            Error::new(ErrorKind::Conflict, text)
        })?;
        self.share(&child)?;
        Ok(child)
    }
}

pub(super) fn column_names(
    schema: &TableSchema,
    columns: impl Iterator<Item = ColumnId>,
) -> Vec<String> {
    let name = |id| schema.position(id).map(|at| schema.columns[at].name.clone());
    columns.filter_map(name).collect()
}

/// Fails, as PostgreSQL does, where a column of children is narrower than the parent's and has no room for its new value.
fn must_fit(value: &Value, ty: DataType) -> Result<()> {
    let name = match ty {
        DataType::Int2 => "smallint",
        DataType::Int4 => "integer",
        _ => return must_be_short(value, ty),
    };
    let (min, max) = convert::int_range(ty);
    match value {
        Value::Int(n) if !(min..=max).contains(n) => {
            let text = format!("{name} out of range");
            Err(Error::new(ErrorKind::OutOfRange, text).with_code("22003"))
        }
        _ => Ok(()),
    }
}

fn must_be_short(value: &Value, ty: DataType) -> Result<()> {
    let (most, name) = match ty {
        DataType::Varchar(n) => (n, "character varying"),
        DataType::Char(n) => (n, "character"),
        _ => return Ok(()),
    };
    match value {
        Value::Text(text) if text.trim_end_matches(' ').chars().count() > most as usize => {
            let text = format!("value too long for type {name}({most})");
            Err(Error::new(ErrorKind::TooLong, text).with_code("22001"))
        }
        _ => Ok(()),
    }
}
