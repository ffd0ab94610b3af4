//! What do rules of a transaction have still to judge?
//!
//! Only what is remembered: which rows and keys, and what SET CONSTRAINTS said. When it is judged, and how, says
//! [`super`].
//!
//! Thread safety: belongs to its transaction.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ForeignKeyId, IndexId, TableId};
use onlap_format::{ForeignKeySchema, IndexSchema, Row, TableSchema, Time, Value};

use crate::database::Table;
use crate::transaction::incoming::row_bytes;

/// Bytes of lost keys that a rule keeps: some ten thousand keys.
pub(super) const LOST_BYTES: usize = 1 << 20;

/// What a transaction has still to judge.
#[derive(Default)]
pub(in crate::transaction) struct Due {
    pub(super) modes: Option<Arc<Modes>>,
    pub(super) held: Held,
    /// Statements of several calls that are under way: one may be part of another.
    pub(super) depth: u32,
    /// Parent rows that they have deleted or replaced.
    pub(super) losses: Vec<Loss>,
    loss_bytes: usize,
    /// Foreign keys whose actions the caller of the change under way carries out.
    pub(in crate::transaction) left: Option<Left>,
    pub(super) rules: Vec<DueRule>,
}

/// Whether a statement of several calls is under way, which is judged at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Held {
    #[default]
    No,
    /// Of one table: foreign keys that refer to others are judged with each call, while rows are in memory.
    One,
    /// Of several tables.
    Several,
}

/// What a statement that is set aside has to judge at its end.
pub(in crate::transaction) struct Suspended {
    depth: u32,
    held: Held,
    losses: Vec<Loss>,
}

/// A parent row that was deleted, or replaced by another.
pub(in crate::transaction) struct Loss {
    pub(in crate::transaction) parent: Table,
    pub(in crate::transaction) old: Row,
    pub(in crate::transaction) new: Option<Row>,
    /// Foreign keys whose actions the caller carries out.
    pub(in crate::transaction) left: Option<Left>,
}

/// Foreign keys whose actions a caller carries out, by the tables that have them.
pub(in crate::transaction) type Left = Arc<[(TableId, ForeignKeyId)]>;

/// What SET CONSTRAINTS said: whether rules are put off.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    pub(super) all: Option<bool>,
    pub(super) named: Vec<(TableId, RuleId, bool)>,
}

/// What a rule of a table is known by, whatever its name: no other of the table has ever had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transaction) enum RuleId {
    /// A foreign key.
    Key(ForeignKeyId),
    /// A unique index that is judged by a look at the rows.
    Index(IndexId),
}

/// A rule of a table.
pub(super) enum Found<'a> {
    Key(&'a ForeignKeySchema),
    Index(&'a IndexSchema),
}

impl RuleId {
    /// The rule, unless the table has it no more.
    pub(super) fn of(self, schema: &TableSchema) -> Option<Found<'_>> {
        match self {
            RuleId::Key(id) => {
                let mut keys = schema.foreign_keys.iter();
                keys.find(|key| key.id == id).map(Found::Key)
            }
            RuleId::Index(id) => {
                let mut judged = schema.indexes.iter().filter(|index| index.judged.is_some());
                judged.find(|index| index.id == id).map(Found::Index)
            }
        }
    }

    /// The rule that has a name, if one has it.
    pub(super) fn named(schema: &TableSchema, name: &str) -> Option<RuleId> {
        let key = schema.foreign_keys.iter().find(|key| key.name == name);
        let index = || schema.index_by_name(name).filter(|index| index.judged.is_some());
        key.map(|key| RuleId::Key(key.id)).or_else(|| index().map(|index| RuleId::Index(index.id)))
    }
}

/// What one rule has still to judge.
pub(in crate::transaction) struct DueRule {
    /// The table that has the rule.
    pub(super) table: Table,
    pub(super) id: RuleId,
    /// Own rows, as ordinals: ascending ranges, of which those below `judged` were judged.
    pub(super) rows: Vec<Range<usize>>,
    pub(super) judged: usize,
    /// Keys that rows of the parent had, of which the first were judged.
    pub(super) lost: Vec<(Vec<u8>, Vec<Value>)>,
    pub(super) lost_judged: usize,
    pub(super) lost_bytes: usize,
    /// There were more: all children are to be judged, or were.
    pub(super) whole: bool,
    pub(super) whole_judged: bool,
}

/// A place in a transaction: what was to be judged there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuePlace(pub(super) Vec<RulePlace>);

/// What was to be judged of a rule: own rows below this ordinal, the first lost keys, whether all children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RulePlace {
    pub(super) rows: usize,
    pub(super) lost: usize,
    pub(super) whole: bool,
}

/// What was due at a savepoint.
#[derive(Clone, Debug, Default)]
pub(in crate::transaction) struct DueMark {
    modes: Option<Arc<Modes>>,
    losses: usize,
    rules: Vec<RuleMark>,
}

/// What was due of a rule: own rows and lost keys that were judged, lost keys, and whether all were.
#[derive(Clone, Debug)]
struct RuleMark {
    judged: usize,
    lost_judged: usize,
    lost: usize,
    whole_judged: bool,
}

impl Due {
    pub(in crate::transaction) fn mark(&self) -> DueMark {
        let rules = self.rules.iter().map(|rule| RuleMark {
            judged: rule.judged,
            lost_judged: rule.lost_judged,
            lost: rule.lost.len(),
            whole_judged: rule.whole_judged,
        });
        DueMark { modes: self.modes.clone(), losses: self.losses.len(), rules: rules.collect() }
    }

    /// Goes back; `end_of` says how many own rows a table has now.
    pub(in crate::transaction) fn undo(&mut self, to: &DueMark, end_of: &dyn Fn(TableId) -> usize) {
        self.modes.clone_from(&to.modes);
        if to.losses < self.losses.len() {
            self.losses.truncate(to.losses);
            self.loss_bytes = self.losses.iter().map(loss_bytes).sum();
        }
        self.rules.truncate(to.rules.len());
        for (rule, mark) in self.rules.iter_mut().zip(&to.rules) {
            rule.cut_rows(end_of(rule.table.state.id));
            (rule.judged, rule.lost_judged) = (mark.judged, mark.lost_judged);
            rule.whole_judged = mark.whole_judged;
            rule.cut_lost(mark.lost);
        }
    }

    pub(in crate::transaction) fn heap_bytes(&self) -> usize {
        let bytes = |rule: &DueRule| {
            size_of::<DueRule>()
                + rule.rows.capacity() * size_of::<Range<usize>>()
                + rule.lost_bytes
        };
        self.loss_bytes + self.rules.iter().map(bytes).sum::<usize>()
    }

    pub(super) fn add_losses(&mut self, mut losses: Vec<Loss>) {
        self.loss_bytes += losses.iter().map(loss_bytes).sum::<usize>();
        self.losses.append(&mut losses);
    }

    /// What a statement holds that is set aside: those within it are judged at their own ends.
    pub(in crate::transaction) fn set_aside(&mut self) -> Suspended {
        let (depth, held) = (std::mem::take(&mut self.depth), std::mem::take(&mut self.held));
        Suspended { depth, held, losses: self.take_losses() }
    }

    /// Goes on with it.
    pub(in crate::transaction) fn take_up(&mut self, aside: Suspended) {
        (self.depth, self.held) = (aside.depth, aside.held);
        let later = self.take_losses();
        self.add_losses(aside.losses);
        self.add_losses(later);
    }

    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        self.loss_bytes = 0;
        std::mem::take(&mut self.losses)
    }

    /// Whether a rule is judged later than with the call that brings rows.
    pub(in crate::transaction) fn is_later(
        &self,
        table: TableId,
        (rule, time, parent): (RuleId, Time, TableId),
    ) -> bool {
        match self.held {
            Held::Several => return true,
            Held::One if parent == table => return true,
            Held::One | Held::No => {}
        }
        self.is_put_off(table, rule, time)
    }

    /// Whether a rule is judged when the transaction ends.
    pub(super) fn is_put_off(&self, table: TableId, rule: RuleId, time: Time) -> bool {
        if time == Time::Statement {
            return false;
        }
        let modes = self.modes.as_ref();
        let said = modes.and_then(|modes| {
            let named = modes.named.iter().find(|(of, id, _)| *of == table && *id == rule);
            named.map(|named| named.2).or(modes.all)
        });
        said.unwrap_or(time == Time::Deferred)
    }

    /// Whether a rule of a table has something to judge.
    pub(in crate::transaction) fn is_open(&self, table: TableId, id: RuleId) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.table.state.id == table && rule.id == id && rule.is_open())
    }

    pub(in crate::transaction) fn rule(&mut self, table: &Table, id: RuleId) -> &mut DueRule {
        let known = |r: &DueRule| r.table.state.id == table.state.id && r.id == id;
        let at = self.rules.iter().position(known).unwrap_or_else(|| {
            self.rules.push(DueRule {
                table: table.clone(),
                id,
                rows: Vec::new(),
                judged: 0,
                lost: Vec::new(),
                lost_judged: 0,
                lost_bytes: 0,
                whole: false,
                whole_judged: false,
            });
            self.rules.len() - 1
        });
        &mut self.rules[at]
    }
}

impl DueRule {
    pub(in crate::transaction) fn add_rows(&mut self, rows: Range<usize>) {
        debug_assert!(rows.start < rows.end);
        debug_assert!(self.rows.last().is_none_or(|last| last.start <= rows.start));
        match self.rows.last_mut() {
            Some(last) if last.end >= rows.start => last.end = last.end.max(rows.end),
            _ => self.rows.push(rows),
        }
    }

    /// All that it has.
    pub(super) fn place(&self) -> RulePlace {
        let rows = self.rows.last().map_or(self.judged, |rows| rows.end);
        RulePlace { rows, lost: self.lost.len(), whole: self.whole }
    }

    /// Own rows below an ordinal that are to be judged.
    pub(super) fn open_rows(&self, to: usize) -> Vec<Range<usize>> {
        let open = |rows: &Range<usize>| rows.start.max(self.judged)..rows.end.min(to);
        self.rows.iter().map(open).filter(|rows| !rows.is_empty()).collect()
    }

    pub(super) fn is_open(&self) -> bool {
        self.has_rows() || self.has_lost()
    }

    pub(super) fn has_rows(&self) -> bool {
        self.rows.last().is_some_and(|rows| rows.end > self.judged)
    }

    pub(super) fn has_lost(&self) -> bool {
        self.whole && !self.whole_judged || self.lost.len() > self.lost_judged
    }

    pub(super) fn cut_rows(&mut self, end: usize) {
        while let Some(last) = self.rows.last_mut() {
            if last.start < end {
                last.end = last.end.min(end);
                return;
            }
            self.rows.pop();
        }
    }

    pub(super) fn cut_lost(&mut self, to: usize) {
        let cut = self.lost.drain(to.min(self.lost.len())..);
        let bytes: usize = cut.map(|(key, values)| lost_bytes(&key, &values)).sum();
        self.lost_bytes = self.lost_bytes.saturating_sub(bytes);
    }
}

/// Memory that a lost key takes.
pub(super) fn lost_bytes(key: &[u8], values: &[Value]) -> usize {
    // Values of text and numbers take as much again as their bytes in the key.
    2 * key.len() + (values.len() + 2) * size_of::<Value>()
}

fn loss_bytes(loss: &Loss) -> usize {
    size_of::<Loss>() + row_bytes(&loss.old) + loss.new.as_deref().map_or(0, row_bytes)
}
