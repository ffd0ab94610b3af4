//! Which rows of a table may a role see, and which may it write?
//!
//! Every entry of a bound statement that reads a table gets guards ([`onlap_pg::bound::Entry::guards`]), and every part that
//! writes rows gets checks ([`onlap_pg::bound::Check`]), from the policies of the table that are for the role: the statement's,
//! or the owner of the view or rule by which the table is named. This is the one place where policies come into a statement; a
//! way of carrying statements out that knows no guards must leave statements with guards alone.
//!
//! A policy's own queries read tables with the rights of the same role, and by policies of theirs. One that comes back to its
//! table has no end and is refused (`42P17`).
//!
//! Thread safety: belongs to the statement that is bound.

use onlap_base::limits::STATEMENT_RELATIONS;
use onlap_pg::ast::Name as Word;
use onlap_pg::bound::{
    Bound, CheckKind, EntryKind, Expr, Guards, Modify, ModifyKind, Part, QueryId,
};
use onlap_pg::{Oid, bind, grammar};

use super::rules::Ruled;
use super::schema::Names;
use super::{is_of_class, needs, sql_error};
use crate::catalog::policies::{self as kept, PUBLIC, Policy, Security, Text};
use crate::catalog::{Name, Objects, bound};
use crate::deep::{Depth, too_deep};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Judge, Key, Need};
use crate::view::View;

/// Policies may refer to tables with policies so deep.
const POLICY_DEPTH: usize = 32;

/// Whether policies of a table count for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secured {
    /// They do not.
    No,
    /// They do.
    Yes,
}

/// Whether policies of a table count for the judge's role, by its OID and its name.
///
/// # Errors
/// `42501`: they do, and `row_security` is off.
pub fn state_of(view: &View, judge: &Judge, (oid, name): (Oid, &str)) -> Result<Secured> {
    let Some(owns) = counts(&view.objects, judge, oid) else { return Ok(Secured::No) };
    if is_on(view) {
        return Ok(Secured::Yes);
    }
    let text = format!("query would be affected by row-level security policy for table \"{name}\"");
    let error = SqlError::new(state::NO_PRIVILEGE, text);
    Err(match owns {
        true => error.hint(
            "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL \
             SECURITY.",
        ),
        false => error,
    })
}

/// Whether they do, whatever the setting says.
pub fn is_active(objects: &Objects, judge: &Judge, oid: Oid) -> bool {
    counts(objects, judge, oid).is_some()
}

/// Where policies of a table count: whether the role has the rights of its owner.
fn counts(objects: &Objects, judge: &Judge, oid: Oid) -> Option<bool> {
    let security = Security::of(objects, oid);
    if !security.enabled || bypasses(judge) {
        return None;
    }
    let owns = judge.owns(Key::of(oid));
    (!owns || security.forced).then_some(owns)
}

fn bypasses(judge: &Judge) -> bool {
    let rights = judge.rights();
    judge.is_superuser() || rights.role(judge.role).is_some_and(|role| role.bypassrls)
}

fn is_on(view: &View) -> bool {
    (view.settings)("row_security").is_none_or(|text| text != "off")
}

/// A condition that was bound.
type Made = (Bound, QueryId);

/// The policies of a table that are for one kind of statement of a role, bound.
#[derive(Default)]
struct Asked {
    permissive: Vec<Texts>,
    restrictive: Vec<(Word, Texts)>,
}

/// What a policy asks.
struct Texts {
    using: Option<Made>,
    check: Option<Made>,
}

impl Texts {
    /// What it asks of rows that are there, or of rows that are written.
    fn of(&self, written: bool) -> Option<&Made> {
        self.check.as_ref().filter(|_| written).or(self.using.as_ref())
    }
}

impl Asked {
    fn guards(&self, written: bool) -> Guards<'_> {
        Guards {
            any: self
                .permissive
                .iter()
                .filter_map(|of| of.of(written))
                .map(|made| (&made.0, made.1))
                .collect(),
            every: self
                .restrictive
                .iter()
                .filter_map(|(name, of)| Some((name.clone(), of.of(written)?)))
                .map(|(name, made)| (name, (&made.0, made.1)))
                .collect(),
        }
    }
}

/// A table whose policies count.
struct Table {
    oid: Oid,
    name: Word,
    /// Whose policies.
    role: u32,
}

impl Names<'_> {
    /// Guards the entries of a tree that read tables, but those whose rows parts of it change; the role is the one whose
    /// rights count for what they read. How deep what came into it is.
    ///
    /// # Errors
    /// `42501`; `42P17`; `54001`; what is wrong with a policy.
    pub(super) fn guard(
        &self,
        tree: &mut Bound,
        role: u32,
        needs: &mut Vec<Need>,
    ) -> Result<Depth> {
        let mut depth = Depth::default();
        for query in tree.query_ids().collect::<Vec<_>>() {
            let target = tree.query(query).modify.as_deref().map_or(0, |modify| modify.entry);
            for entry in 1..=tree.query(query).entries.len() {
                let is_locked = tree.query(query).locks.iter().any(|lock| lock.entry == entry);
                let of = &tree.query(query).entries[entry - 1];
                let EntryKind::Relation { oid, kind, .. } = of.kind else { continue };
                if entry == target || !of.in_from || kind == b'c' {
                    continue;
                }
                if is_locked && self.is_secured_view(oid) {
                    let what = "locking rows of a view whose tables have row security";
                    return Err(SqlError::unsupported(what));
                }
                let Some(table) = self.secured(oid, role)? else { continue };
                let read = self.asked(&table, "r", (needs, &mut depth))?;
                if is_locked {
                    let locked = self.asked(&table, "w", (needs, &mut depth))?;
                    tree.guard(query, entry, &locked.guards(false));
                }
                tree.guard(query, entry, &read.guards(false));
            }
        }
        Ok(depth)
    }

    /// Guards and checks what a part of a statement writes, if policies count for the role by whose rights it does.
    ///
    /// # Errors
    /// As of [`Names::guard`].
    pub(super) fn guard_target(
        &self,
        tree: &mut Bound,
        part: QueryId,
        role: u32,
        needs: &mut Vec<Need>,
    ) -> Result<Depth> {
        let mut depth = Depth::default();
        let Some(modify) = tree.query(part).modify.as_deref() else { return Ok(depth) };
        let entry = modify.entry;
        let EntryKind::Relation { oid, .. } = tree.query(part).entries[entry - 1].kind else {
            return Ok(depth);
        };
        let Some(table) = self.secured(oid, role)? else { return Ok(depth) };
        let kind = modify.kind;
        let updates = modify.conflict.as_ref().is_some_and(|conflict| conflict.update);
        let reads = needs::reads(tree, part, entry - 1) || names_constraint(modify);
        let mut ask = |letter| self.asked(&table, letter, (&mut *needs, &mut depth));
        let read = if reads { Some(ask("r")?) } else { None };
        let mut plan = Plan { tree, part, entry, name: &table.name, read: read.as_ref() };
        match kind {
            ModifyKind::Insert => {
                plan.check(CheckKind::Insert, &ask("a")?, true);
                plan.check_read(CheckKind::Insert);
                if updates {
                    let update = ask("w")?;
                    plan.check(CheckKind::Conflict, &update, false);
                    plan.check_read(CheckKind::Conflict);
                    plan.check(CheckKind::Update, &update, true);
                    plan.check_read(CheckKind::Update);
                }
            }
            ModifyKind::Update => {
                let update = ask("w")?;
                plan.guard(&update);
                plan.check(CheckKind::Update, &update, true);
                plan.check_read(CheckKind::Update);
            }
            ModifyKind::Delete => plan.guard(&ask("d")?),
            ModifyKind::Merge => {
                let update = ask("w")?;
                plan.check(CheckKind::MergeUpdate, &update, false);
                plan.check(CheckKind::Update, &update, true);
                plan.check_read(CheckKind::Update);
                plan.check(CheckKind::MergeDelete, &ask("d")?, false);
                plan.check(CheckKind::Insert, &ask("a")?, true);
            }
        }
        if kind != ModifyKind::Insert {
            plan.guard_read();
        }
        Ok(depth)
    }

    /// Guards and checks what the parts of a statement write.
    ///
    /// # Errors
    /// As of [`Names::guard`].
    pub(super) fn guard_written(
        &self,
        tree: &mut Bound,
        ruled: &Ruled,
        needs: &mut Vec<Need>,
    ) -> Result<Depth> {
        let mut depth = Depth::default();
        let mut seen = Vec::new();
        for stage in &ruled.stages {
            for part in onlap_query::parts(tree, stage.query) {
                if seen.contains(&part) {
                    continue;
                }
                seen.push(part);
                let writer = ruled.writers.iter().find(|(known, _)| *known == part);
                let role = writer.map_or(self.view.judge.role, |(_, role)| *role);
                depth = depth.max(self.guard_target(tree, part, role, needs)?);
            }
        }
        Ok(depth)
    }

    /// Guards the entries of a view, by its owner or else by the statement's role. Why it may not be read is told when the statement is bound.
    pub(super) fn guard_view(
        &self,
        tree: &mut Bound,
        owner: Option<u32>,
        needs: &mut Vec<Need>,
    ) -> Depth {
        let mut own = Vec::new();
        let guarded = self.guard(tree, owner.unwrap_or(self.view.judge.role), &mut own);
        // What the view's owner needs is asked of it.
        needs.extend(own.into_iter().map(|need| match need.action {
            Action::Call => need,
            _ => Need { by: need.by.or(owner), ..need },
        }));
        guarded.unwrap_or_else(|e| {
            self.found.refused.borrow_mut().get_or_insert(e);
            Depth::default()
        })
    }

    /// Fails where what a view reads may not be read.
    ///
    /// # Errors
    /// As of [`Names::guard`].
    pub(super) fn must_be_allowed(&self) -> Result<()> {
        match self.found.refused.borrow_mut().take() {
            Some(refused) => Err(refused),
            None => Ok(()),
        }
    }

    /// Fails where a condition has something that only another way carries out.
    ///
    /// # Errors
    /// `0A000`
    pub fn must_have_kernels(&self, tree: &Bound, query: QueryId) -> Result<()> {
        match is_of_class(tree, query, self.view) {
            true => Ok(()),
            false => Err(SqlError::unsupported("this condition of a policy")),
        }
    }

    /// Whether policies of a table count for a role.
    ///
    /// # Errors
    /// `42501`
    pub(super) fn is_secured(&self, oid: Oid, role: u32) -> Result<bool> {
        Ok(self.secured(oid, role)?.is_some())
    }

    fn secured(&self, oid: Oid, role: u32) -> Result<Option<Table>> {
        let name: Word = {
            let known = self.found.known.borrow();
            let Some(schema) = known.schema(oid) else { return Ok(None) };
            crate::rights::ask::shown(schema).into()
        };
        let judge = self.view.judge.of(role);
        Ok(match state_of(self.view, &judge, (oid, &name))? {
            Secured::No => None,
            Secured::Yes => Some(Table { oid, name, role }),
        })
    }

    /// Whether a view reads tables whose policies count.
    fn is_secured_view(&self, oid: Oid) -> bool {
        self.found.others.borrow().views.get(&oid).is_some_and(|view| view.secured)
    }

    /// What the policies ask that are for a kind of statement, as `pg_policy.polcmd` names it.
    fn asked(
        &self,
        table: &Table,
        letter: &str,
        (needs, depth): (&mut Vec<Need>, &mut Depth),
    ) -> Result<Asked> {
        self.view.scope.plan_goes_on()?;
        {
            let mut within = self.found.secured.borrow_mut();
            if within.contains(&table.oid) {
                let name = &table.name;
                let text = format!("infinite recursion detected in policy for relation \"{name}\"");
                return Err(SqlError::new("42P17", text));
            }
            let made = self.found.policies.get() + 1;
            self.found.policies.set(made);
            if within.len() >= POLICY_DEPTH || made > STATEMENT_RELATIONS {
                return Err(too_deep().detail("Policies refer to each other too deeply."));
            }
            within.push(table.oid);
        }
        let made = self.asked_here(table, letter, needs, depth);
        self.found.secured.borrow_mut().pop();
        made
    }

    fn asked_here(
        &self,
        table: &Table,
        letter: &str,
        needs: &mut Vec<Need>,
        depth: &mut Depth,
    ) -> Result<Asked> {
        let judge = self.view.judge.of(table.role);
        let objects = &self.view.objects;
        let is_for =
            |policy: &Policy<'_>| matches!(policy.command, "*") || policy.command == letter;
        let has = |role: u32| role == PUBLIC || judge.has_rights_of(role);
        let mut asked = Asked::default();
        for policy in kept::of_relation(objects, table.oid).into_iter().filter(is_for) {
            if !policy.roles().into_iter().any(has) {
                continue;
            }
            let mut bind = |text: Option<Text<'_>>| {
                let Some(text) = text else { return Ok(None) };
                let (mut tree, query) = self.policy(&policy, text)?;
                // Before guards come into it, which are of other roles' making.
                self.needs_of_policy(&tree, query, table.role, needs);
                let own = crate::parse::depth_of(text.sql);
                let deeper = self.guard(&mut tree, table.role, needs)?;
                *depth = depth.max(own.plus(deeper));
                Ok::<_, SqlError>(Some((tree, query)))
            };
            let texts = Texts { using: bind(policy.using)?, check: bind(policy.check)? };
            match policy.permissive {
                true => asked.permissive.push(texts),
                false => asked.restrictive.push((policy.name.into(), texts)),
            }
        }
        Ok(asked)
    }

    /// A condition of a policy, bound: the only target of a query over the rows of its table.
    ///
    /// # Errors
    /// What it names is there no more; what cannot be carried out.
    pub fn policy(&self, policy: &Policy<'_>, text: Text<'_>) -> Result<Made> {
        let failed = |e| sql_error(&e, "").nowhere();
        let names = Names { body: Some(text.body), ..self.clone() };
        let (tree, query) = names.bound_policy(policy, text).map_err(failed)?;
        match self.printing || is_of_class(&tree, query, self.view) {
            true => Ok((tree, query)),
            false => Err(SqlError::unsupported("this condition of a policy")),
        }
    }

    fn bound_policy(&self, policy: &Policy<'_>, text: Text<'_>) -> onlap_pg::Result<Made> {
        let unserved = || onlap_pg::Error::unserved("one condition");
        let tree = grammar::parse(&format!("SELECT {}", text.sql))?;
        let expr = tree.only_target().ok_or_else(unserved)?;
        let path = bound::path(policy.relation);
        let relation = bind::Schema::relation(self, &path)?.ok_or_else(unserved)?;
        let mut then = (*relation).clone();
        if let Some(used) = bound::use_of(text.body, policy.relation) {
            // Its text calls the table by the name that it had.
            then.name = Name::of_engine(&used.name).1.name.as_str().into();
        }
        let (mut made, query) =
            bind::policy_condition(&tree, expr, &then, (self, &self.found.catalog))?;
        made.call_entry(query, 1, &relation.name);
        Ok((made, query))
    }

    /// What the queries in a policy read, and the functions that it calls.
    fn needs_of_policy(&self, tree: &Bound, query: QueryId, role: u32, needs: &mut Vec<Need>) {
        let mut queries = Vec::new();
        tree.visit_part(Part::Query(query), 0, &mut |id, _| {
            if let Expr::SubQuery(sub) = tree.expr(id) {
                queries.push(sub.query);
            }
            true
        });
        let by = (role != self.view.judge.role).then_some(role);
        let (known, others) = (self.found.known.borrow(), self.found.others.borrow());
        for query in queries {
            needs.extend(needs::of_query(tree, query, &known, &others, by));
        }
        needs.extend(needs::of_functions(self.view, tree, query));
    }
}

/// Whether ON CONFLICT names a constraint, whose columns are read.
fn names_constraint(modify: &Modify) -> bool {
    modify.conflict.as_ref().is_some_and(|conflict| conflict.constraint != 0)
}

/// A part whose target is being guarded.
struct Plan<'a> {
    tree: &'a mut Bound,
    part: QueryId,
    entry: usize,
    name: &'a Word,
    /// What is asked of rows that it reads; none where it reads no column.
    read: Option<&'a Asked>,
}

impl Plan<'_> {
    fn guard(&mut self, asked: &Asked) {
        self.tree.guard(self.part, self.entry, &asked.guards(false));
    }

    fn guard_read(&mut self) {
        if let Some(read) = self.read {
            self.guard(read);
        }
    }

    fn check(&mut self, kind: CheckKind, asked: &Asked, written: bool) {
        self.tree.check_rows(self.part, (kind, self.name), &asked.guards(written));
    }

    /// Rows that are written have to be such that the role sees them, where it reads the table.
    fn check_read(&mut self, kind: CheckKind) {
        if let Some(read) = self.read {
            self.check(kind, read, false);
        }
    }
}
