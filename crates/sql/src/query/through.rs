//! What does a statement mean that changes rows of a view?
//!
//! That it changes rows of what the view reads ([`onlap_pg::bound::Simple`]), and so on where that is a view itself. The role
//! needs its rights on the view that the statement names, and the owner of each view those on what that view reads, as in
//! PostgreSQL.

use onlap_pg::bound::{
    Bound, EntryKind, Expr, ExprId, ModifyKind, Query, QueryId, Seen, Simple, Target,
};
use onlap_pg::catalog::Volatility;
use onlap_pg::{Oid, TypeRef};

use super::needs;
use super::schema::Names;
use super::views::{Bodied, Others};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError};
use crate::rights::{Action, Class, Key, Need};
use crate::view::View;

/// A part of a statement that was made one about what a view reads.
pub struct Opened {
    /// What is needed of the view, by whom, and of what only its owner must be allowed to read.
    pub needs: Vec<Need>,
    /// The view's owner, who must be allowed to change rows of what it reads; none is the role of the statement.
    pub owner: Option<u32>,
    /// Whether views below it must show the rows that are written.
    pub cascaded: bool,
}

/// Makes a part of a statement one that changes rows of what a view reads, if it names a view. The role must be allowed to
/// change rows of the view, where it is not the statement's.
///
/// # Errors
/// `55000`: rows are not changed through the view; `0A000`: a column is not.
pub fn open(
    bound: &mut Bound,
    (part, by): (QueryId, Option<u32>),
    others: &Others,
    cascaded: bool,
) -> Result<Option<Opened>> {
    let query = bound.query(part);
    let modify = query.modify.as_deref().expect("the part changes rows");
    let EntryKind::Relation { oid, .. } = query.entries[modify.entry - 1].kind else {
        return Ok(None);
    };
    let Some(bodied) = others.views.get(&oid) else { return Ok(None) };
    let (tree, inner) = &*bodied.query;
    let refused = |why| refused(modify.kind, &bodied.relation.name, why);
    let simple = Simple::of(tree, *inner).map_err(refused)?;
    if modify.kind != ModifyKind::Delete {
        simple.has_columns().map_err(refused)?;
    }
    let asks = modify.kind != ModifyKind::Insert || modify.conflict.is_some();
    if asks && simple.filter().is_some_and(|filter| !is_of_rows(tree, filter)) {
        return Err(SqlError::unsupported(
            "changing rows of a view whose condition is not of its rows alone",
        ));
    }
    let mut needs = written(query, oid, bodied, by);
    let owner = bodied.owner;
    let reads = needs::reads(bound, part, modify.entry - 1);
    needs.extend(by_owner(&simple, bodied, reads));
    let (own, deep) = (bodied.checked.is_some(), bodied.checked == Some(Checked::Cascaded));
    let names: Vec<_> = bodied.relation.columns.iter().map(|c| c.name.clone()).collect();
    let seen = Seen {
        name: &bodied.relation.name,
        columns: &names,
        row: TypeRef::new(bodied.relation.row),
        checked: own || cascaded,
    };
    bound.change_through(part, &simple, &seen).map_err(|e| super::sql_error(&e, ""))?;
    Ok(Some(Opened { needs, owner, cascaded: cascaded || deep }))
}

/// Whether a condition is of columns and functions that give the same for the same row. Steps ask such a condition before the
/// statement's own, which must not see rows that the view does not show.
fn is_of_rows(tree: &Bound, filter: ExprId) -> bool {
    let catalog = super::catalog();
    let is_volatile =
        |proc: Oid| catalog.proc(proc).is_none_or(|proc| proc.volatility == Volatility::Volatile);
    let (mut names_column, mut is_plain) = (false, true);
    tree.visit(filter, 0, &mut |id, _| {
        match tree.expr(id) {
            Expr::Var { .. } => names_column = true,
            Expr::SubQuery(_) => is_plain = false,
            Expr::Call(call) => is_plain &= !is_volatile(call.proc),
            Expr::Op(op) => is_plain &= !is_volatile(op.proc),
            // Each part is asked by itself.
            Expr::And(all) => is_plain &= all.iter().all(|one| is_of_rows(tree, *one)),
            _ => {}
        }
        is_plain
    });
    names_column && is_plain
}

/// WITH CHECK OPTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Rows must meet the view's own condition.
    Local,
    /// And those of the views that it reads.
    Cascaded,
}

impl Checked {
    /// As a view's body has it.
    pub fn of(body: &serde_json::Value) -> Option<Checked> {
        match body["checked"].as_str()? {
            "cascaded" => Some(Checked::Cascaded),
            _ => Some(Checked::Local),
        }
    }
}

/// What changing rows of a view needs.
pub fn written(query: &Query, oid: Oid, bodied: &Bodied, by: Option<u32>) -> Vec<Need> {
    let modify = query.modify.as_deref().expect("the part changes rows");
    let need = |action, targets: &[Target]| {
        let seen = targets.iter().filter(|target| !target.hidden);
        let mut columns: Vec<u32> = seen.map(|target| target.number as u32).collect();
        columns.sort_unstable();
        columns.dedup();
        let need = Need::new(action, Class::View, Key::of(oid), &*bodied.relation.name);
        Need { by, ..need.columns(columns) }
    };
    let mut needs = vec![match modify.kind {
        ModifyKind::Insert => need(Action::Insert, &query.targets),
        ModifyKind::Update => need(Action::Update, &query.targets),
        ModifyKind::Delete => need(Action::Delete, &[]),
        ModifyKind::Merge => return Vec::new(),
    }];
    if let Some(conflict) = modify.conflict.as_ref().filter(|conflict| conflict.update) {
        needs.push(need(Action::Update, &conflict.set));
    }
    needs
}

/// What the view's owner must be allowed to read: of the table itself, what the view reads of it, where the statement reads.
fn by_owner(simple: &Simple<'_>, bodied: &Bodied, reads: bool) -> Vec<Need> {
    let EntryKind::Relation { oid: base, .. } = simple.reads() else { return Vec::new() };
    let is_wanted = |need: &&Need| reads || need.key.oid != *base;
    bodied.needs.iter().filter(is_wanted).cloned().collect()
}

/// Rows are not changed through a view.
pub fn refused(kind: ModifyKind, name: &str, why: &str) -> SqlError {
    let (verb, doing, event) = kind.words();
    let text = format!("cannot {verb} view \"{name}\"");
    let hint = format!(
        "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional ON \
         {event} DO INSTEAD rule."
    );
    SqlError::new("55000", text).detail(why).hint(hint)
}

/// Fails where rows are not changed through a view.
///
/// # Errors
/// `0A000`
pub fn must_be_changed_through(view: &View, name: &Name) -> Result<()> {
    let Some(object) = view.objects.get(Kind::View, &name.engine(&view.database)) else {
        return Ok(());
    };
    let names = Names::new(view);
    let relation = names.view_relation(name, object).map_err(|e| super::sql_error(&e, ""))?;
    let others = names.found.others.borrow();
    let Some(bodied) = others.views.get(&relation.oid) else { return Ok(()) };
    let (tree, query) = &*bodied.query;
    let simple = Simple::of(tree, *query).and_then(|simple| simple.has_columns());
    simple.map_err(|why| {
        let text = "WITH CHECK OPTION is supported only on automatically updatable views";
        SqlError::new(crate::error::state::UNSUPPORTED, text).hint(why)
    })
}

/// Which columns of a view can be written to; `None` where rows cannot be deleted through it either.
pub fn written_columns(view: &View, name: &Name) -> Option<Vec<bool>> {
    let object = view.objects.get(Kind::View, &name.engine(&view.database))?;
    let names = Names::new(view);
    let mut at = names.view_relation(name, object).ok()?.oid;
    let (_, others, _) = names.into_parts();
    let mut columns: Option<Vec<Option<usize>>> = None;
    while let Some(bodied) = others.views.get(&at) {
        let (tree, query) = &*bodied.query;
        let simple = Simple::of(tree, *query).ok()?;
        let count = bodied.relation.columns.len();
        let own = columns.unwrap_or_else(|| (1..=count).map(Some).collect());
        columns = Some(own.into_iter().map(|column| simple.column(column?).ok()).collect());
        let EntryKind::Relation { oid, .. } = simple.reads() else { return None };
        at = *oid;
    }
    Some(columns?.into_iter().map(|column| column.is_some()).collect())
}

/// Whether rows of a view can be inserted, updated and deleted.
pub fn is_changed(view: &View, name: &Name) -> bool {
    written_columns(view, name).is_some_and(|columns| columns.contains(&true))
}
