//! Who carries out the actions of foreign keys?
//!
//! The engine does at the end of a statement ([`super::children`]), unless a caller does it who has something to do for each child:
//! it changes parent rows within [`Transaction::leave_actions`], and then asks for each of them what is to become of the children
//! ([`Transaction::lose_key`]), locks those ([`Transaction::lock_followers`]), and changes them as it changes other rows.

use std::sync::Arc;

use onlap_base::{Result, RowId, TableId};
use onlap_format::{Action, ForeignKeySchema, Row, Value};

use super::Transaction;
use super::children::{Lost, acts, column_names};
use crate::database::Table;
use crate::rules::Reference;

/// A foreign key by the table that has it.
pub type ForeignKeyOf = (TableId, onlap_base::ForeignKeyId);

/// A key that a parent row has lost, with what is to become of the rows that name it.
pub struct LostKey {
    /// The table of those rows.
    pub child: Table,
    /// The foreign key.
    pub key: ForeignKeySchema,
    /// The columns that are set, with their values; nothing where the rows are deleted.
    pub set: Vec<(String, Value)>,
    action: Action,
    lost: Lost,
}

impl Transaction {
    /// Foreign keys that refer to a table, with the tables that have them.
    pub fn referring(&self, parent: TableId) -> Vec<(TableId, ForeignKeySchema)> {
        let all = self.references_to(parent);
        let all = all.iter().flat_map(|all| all.iter());
        all.map(|reference| (reference.child, reference.key.clone())).collect()
    }

    /// Makes a change of rows; actions of these foreign keys are then the caller's to carry out.
    ///
    /// # Errors
    /// Those of the change.
    pub fn leave_actions<T>(
        &mut self,
        left: &Arc<[ForeignKeyOf]>,
        change: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        debug_assert!(self.due.left.is_none(), "a change of rows runs within no other");
        self.due.left = Some(Arc::clone(left));
        let made = change(self);
        self.due.left = None;
        made
    }

    /// What is to become of the rows that name a parent row by a foreign key, where that row was deleted or replaced; `None` where
    /// it has kept its key. The key is locked: no other transaction brings rows that name it.
    ///
    /// # Errors
    /// Those of waits for locks and of defaults; values that the rows' columns cannot have.
    pub fn lose_key(
        &mut self,
        of: ForeignKeyOf,
        parent: &Table,
        (old, new): (&Row, Option<&Row>),
    ) -> Result<Option<LostKey>> {
        // The statement changes rows of several tables now, and rules of all of them are judged at its end.
        self.hold_several();
        let references = self.references_to(parent.state.id);
        let is_it = |reference: &&Reference| (reference.child, reference.key.id) == of;
        let Some(reference) = references.iter().flat_map(|all| all.iter()).find(is_it).cloned()
        else {
            return Ok(None);
        };
        if !acts(&reference, new.is_none()) {
            return Ok(None);
        }
        let Some((action, mut lost, new)) = self.lose(&reference, old, new)? else {
            return Ok(None);
        };
        lost.new = self.new_values(action, &lost, new)?;
        let child = self.child_table(&reference)?;
        let schema = Arc::clone(&self.buffer(&child)?.schema);
        let names = column_names(&schema, lost.new.iter().map(|(id, _)| *id));
        debug_assert_eq!(names.len(), lost.new.len());
        let set = names.into_iter().zip(lost.new.iter().map(|(_, value)| value.clone())).collect();
        Ok(Some(LostKey { child, key: reference.key, set, action, lost }))
    }

    /// Locks the rows that name a lost key in their newest versions, those that the statement has brought too.
    ///
    /// # Errors
    /// Those of waits for locks; above READ COMMITTED a row that the transaction does not see.
    pub fn lock_followers(&mut self, lost: &LostKey) -> Result<Vec<RowId>> {
        debug_assert_eq!(lost.child.state.id, lost.lost.reference.child);
        self.lock_children(&lost.child, &lost.lost)
    }

    /// A row as it is now, whatever the statement sees; `None` where it is gone.
    ///
    /// # Errors
    /// Those of reading.
    pub fn newest_row(&mut self, table: &Table, row: RowId) -> Result<Option<Row>> {
        let (view, _now) = self.newest(table)?;
        Ok(view.fetch_rows(&[row])?.1.pop())
    }

    /// Refuses that rows name a lost key after they got the defaults of its columns, which may be that key.
    ///
    /// # Errors
    /// [`onlap_base::ErrorKind::ForeignKeyViolation`]
    pub fn judge_followers(&mut self, lost: &LostKey) -> Result<()> {
        match lost.action {
            Action::SetDefault => self.restrict(&lost.lost),
            _ => Ok(()),
        }
    }
}
