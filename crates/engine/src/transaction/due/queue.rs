//! What do rules of a transaction have still to judge?
//!
//! Only what is remembered: which rows and keys, and what SET CONSTRAINTS said. When it is judged, and how, says
//! [`super`].
//!
//! Thread safety: belongs to its transaction.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::TableId;
use onlap_format::{Row, Time, Value};

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
pub(in crate::transaction) type Loss = (Table, Row, Option<Row>);

/// What SET CONSTRAINTS said: whether rules are put off.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    pub(super) all: Option<bool>,
    pub(super) named: Vec<(TableId, String, bool)>,
}

/// What one rule has still to judge.
pub(in crate::transaction) struct DueRule {
    /// The table that has the rule.
    pub(super) table: Table,
    pub(super) name: Arc<str>,
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

/// What was due at a savepoint.
#[derive(Clone, Debug, Default)]
pub(in crate::transaction) struct DueMark {
    modes: Option<Arc<Modes>>,
    losses: usize,
    rules: Vec<RuleMark>,
}

/// What was due of a rule: its name, own rows and lost keys that were judged, lost keys, and whether all were.
#[derive(Clone, Debug)]
struct RuleMark {
    name: Arc<str>,
    judged: usize,
    lost_judged: usize,
    lost: usize,
    whole_judged: bool,
}

impl Due {
    pub(in crate::transaction) fn mark(&self) -> DueMark {
        let rules = self.rules.iter().map(|rule| RuleMark {
            name: Arc::clone(&rule.name),
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
            rule.name = Arc::clone(&mark.name);
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
        name: &str,
        time: Time,
        parent: TableId,
    ) -> bool {
        match self.held {
            Held::Several => return true,
            Held::One if parent == table => return true,
            Held::One | Held::No => {}
        }
        self.is_put_off(table, name, time)
    }

    /// Whether a rule is judged when the transaction ends.
    pub(super) fn is_put_off(&self, table: TableId, name: &str, time: Time) -> bool {
        if time == Time::Statement {
            return false;
        }
        let modes = self.modes.as_ref();
        let said = modes.and_then(|modes| {
            let named = modes.named.iter().find(|(of, n, _)| *of == table && n == name);
            named.map(|named| named.2).or(modes.all)
        });
        said.unwrap_or(time == Time::Deferred)
    }

    /// Whether a rule of a table has rows to judge.
    pub(in crate::transaction) fn is_open(&self, table: TableId, name: &str) -> bool {
        let is_it = |rule: &&DueRule| rule.table.state.id == table && *rule.name == *name;
        self.rules.iter().filter(is_it).any(DueRule::is_open)
    }

    /// Whether something was due of a rule of this name, of a dropped one too.
    pub(in crate::transaction) fn knows(&self, table: TableId, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.table.state.id == table && *rule.name == *name)
    }

    /// A rule of a table has another name from now on.
    pub(in crate::transaction) fn rename(&mut self, table: TableId, name: &str, to: &str) {
        for rule in self.rules.iter_mut().filter(|rule| rule.table.state.id == table) {
            if *rule.name == *name {
                rule.name = to.into();
            }
        }
        let is_it = |(of, n, _): &(TableId, String, bool)| *of == table && n == name;
        if let Some(modes) = self.modes.as_mut().filter(|modes| modes.named.iter().any(is_it)) {
            let mut named = Arc::make_mut(modes).named.iter_mut();
            named.by_ref().filter(|n| is_it(n)).for_each(|n| n.1 = to.to_owned());
        }
    }

    pub(in crate::transaction) fn rule(&mut self, table: &Table, name: &str) -> &mut DueRule {
        let known = |r: &DueRule| r.table.state.id == table.state.id && *r.name == *name;
        let at = self.rules.iter().position(known).unwrap_or_else(|| {
            self.rules.push(DueRule {
                table: table.clone(),
                name: name.into(),
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

    /// Own rows that are to be judged.
    pub(super) fn open_rows(&self) -> Vec<Range<usize>> {
        let open = |rows: &Range<usize>| rows.start.max(self.judged)..rows.end;
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

fn loss_bytes((_, old, new): &Loss) -> usize {
    size_of::<Loss>() + row_bytes(old) + new.as_deref().map_or(0, row_bytes)
}
