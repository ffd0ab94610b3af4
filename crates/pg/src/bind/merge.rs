//! MERGE.
//!
//! Rows of the source are joined with those of the table by ON, with those that match none as well where rows are inserted
//! for them. Which action each row takes is decided when the statement is carried out.

use super::level::Clause;
use super::modify::insert_goals;
use super::{Binder, Relation};
use crate::ast::{self, JoinKind, MergeAction as Raw};
use crate::bound::{
    Action, ActionKind, Entry, EntryKind, JoinNode, JoinTree, Modify, ModifyKind, Query, QueryId,
    Target,
};
use crate::{Error, Result};

impl Binder<'_> {
    pub(super) fn merge_statement(&mut self, merge: &ast::Merge) -> Result<QueryId> {
        let mut made = Query::default();
        if merge.with.as_ref().is_some_and(|with| with.recursive) {
            return Err(Error::new("42601", "WITH RECURSIVE is not supported for MERGE statement"));
        }
        self.with(merge.with.as_ref(), &mut made)?;
        check_reachable(&merge.when)?;
        let of = self.table(&merge.into, false)?;
        if let EntryKind::Relation { inherited, .. } = &mut self.level().entries[0].kind {
            *inherited = !merge.into.only;
        }
        if of.kind != b'r' {
            let what = match of.kind {
                b'v' => "views",
                b'm' => "materialized views",
                b'S' => "sequences",
                _ => "relations of this kind",
            };
            let text = format!("cannot execute MERGE on relation \"{}\"", of.name);
            let detail = format!("This operation is not supported for {what}.");
            return Err(Error::new("0A000", text).detail(detail));
        }
        let tree = self.merge_source(merge)?;
        made.from.push(tree);
        let mut actions = Vec::with_capacity(merge.when.len());
        for when in &merge.when {
            actions.push(self.merge_action(when, &of)?);
        }
        let modify = Modify {
            kind: ModifyKind::Merge,
            entry: self.level_ref().target,
            overriding: None,
            conflict: None,
            returning: Vec::new(),
            checks: Vec::new(),
            actions,
        };
        self.finished(made, modify)
    }

    /// USING and ON: the source's rows, joined with the table's.
    fn merge_source(&mut self, merge: &ast::Merge) -> Result<JoinTree> {
        let mut source = self.item_of_from(merge.source)?;
        let target = self.level_ref().target;
        let mut item = self.item_of(target);
        item.target = true;
        if source.top.name_seen && source.top.name == item.name {
            let text = format!("name \"{}\" specified more than once", item.name);
            let detail = "The name is used both as MERGE target table and data source.";
            return Err(Error::new("42712", text).detail(detail));
        }
        super::from::lateral_only(&mut source.items, false, true);
        self.level().items = source.items;
        self.level().items.push(item);
        let condition = self.condition(Some(merge.on), Clause::JoinOn, "JOIN/ON")?;
        let inserts = merge.when.iter().any(|when| matches!(when.action, Raw::Insert(..)));
        let kind = if inserts { JoinKind::Left } else { JoinKind::Inner };
        let entry = Entry {
            kind: EntryKind::Join {
                kind,
                merged: 0,
                columns: Vec::new(),
                left: Vec::new(),
                right: Vec::new(),
                using: None,
            },
            alias: None,
            name: "unnamed_join".into(),
            names: Vec::new(),
            types: Vec::new(),
            lateral: false,
            in_from: true,
            guards: Vec::new(),
        };
        let entry = self.add_entry(entry, 0, Vec::new());
        Ok(JoinTree::Join(Box::new(JoinNode {
            kind,
            natural: false,
            left: source.tree,
            right: JoinTree::Entry(target),
            using: Vec::new(),
            condition,
            entry,
        })))
    }

    /// WHEN: the table's row is seen where one matches.
    fn merge_action(&mut self, when: &ast::MergeWhen, of: &Relation) -> Result<Action> {
        let item = self.level().items.last_mut().expect("the table's");
        (item.name_seen, item.columns_seen) = (when.matched, when.matched);
        let condition = self.condition(when.condition, Clause::MergeWhen, "WHEN")?;
        let (kind, overriding, set) = match &when.action {
            Raw::Nothing => (ActionKind::Nothing, None, Vec::new()),
            Raw::Delete => (ActionKind::Delete, None, Vec::new()),
            Raw::Update(set) => (ActionKind::Update, None, self.set_columns_of(set, of)?),
            Raw::Insert(columns, overriding, values) => {
                let set = self.merge_insert(columns, values.as_deref(), of)?;
                (ActionKind::Insert, *overriding, set)
            }
        };
        self.check_once(&set)?;
        Ok(Action { matched: when.matched, condition, kind, overriding, set })
    }

    fn merge_insert(
        &mut self,
        columns: &[ast::Column],
        values: Option<&[ast::ExprId]>,
        of: &Relation,
    ) -> Result<Vec<Target>> {
        let goals = insert_goals(of, columns)?;
        let Some(values) = values else { return Ok(Vec::new()) };
        let row = self.written_row(values, Clause::ValuesRow)?;
        let row = self.insert_row(row, of, &goals, !columns.is_empty())?;
        let target = |(value, goal): (_, &super::modify::Goal<'_>)| Target {
            value,
            number: goal.number as usize,
            name: Some(goal.name.clone()),
            reference: 0,
            hidden: false,
        };
        Ok(row.into_iter().zip(&goals).map(target).collect())
    }
}

/// No WHEN is behind one of its kind that takes all rows.
fn check_reachable(all: &[ast::MergeWhen]) -> Result<()> {
    let mut taken = [false; 2];
    for when in all {
        let taken = &mut taken[usize::from(when.matched)];
        if *taken {
            let text = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new("42601", text));
        }
        *taken = when.condition.is_none();
    }
    Ok(())
}
