//! What is carried out of a statement by the rules of what it changes?
//!
//! The statement and the commands of its rules become stages ([`Stage`]), carried out one after the other; each sees what
//! those before it wrote. The order, which stage gives the answer, and what is refused are PostgreSQL's. What a command names
//! besides the statement's own rows, the owner of the rule's table must be allowed.
//!
//! Rules come before views that change rows by themselves: a statement through a view is opened ([`super::through`]) where no
//! rule stands in its place, and its table's rules are asked then.

use std::sync::Arc;

use onlap_pg::ast::RuleEvent;
use onlap_pg::bind::{self, Relation, Schema};
use onlap_pg::bound::{Bound, EntryKind, Event, Expr, ExprId, Fired, Literal, ModifyKind, QueryId};
use onlap_pg::{Error, Oid, Result, TypeRef, grammar};

use super::schema::Names;
use super::through::{self, Opened};
use super::views::of_sql;
use super::{is_of_class, needs, sql_error};
use crate::catalog::rules::{self as kept, Rule};
use crate::catalog::triggers;
use crate::ddl::defaults;
use crate::deep::{Depth, too_deep};
use crate::error::SqlError;
use crate::parse::depth_of;
use crate::rights::ask::{numbers, of_table};
use crate::rights::{Action, Key, Need};
use crate::system::model::Model;
use crate::system::text;

/// Statements that rules make of one, at most: each may double what the one before it makes.
const MOST_FIRED: usize = 1000;
/// Rules that make each other be asked, at most.
const MOST_WITHIN: usize = 64;
/// Expressions that rules make besides eight times those that the statement has.
const MOST_MADE: usize = 200_000;

/// Where a stage comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// It is the statement.
    Statement,
    /// A command that stands in its place.
    Instead,
    /// One that does so for some rows.
    Partly,
    /// One that comes with it.
    Also,
}

/// A statement that is carried out.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Its query.
    pub query: QueryId,
    /// Where it comes from.
    pub from: From,
}

/// What rules make of a statement.
pub struct Ruled {
    /// What is carried out.
    pub stages: Vec<Stage>,
    /// Whose rights count for what a query writes, where that is not the statement's role.
    pub writers: Vec<(QueryId, u32)>,
    /// How deep the texts of rules are.
    pub depth: Depth,
}

/// What a rule's texts mean.
pub struct Bodied {
    /// Its table or view as the rule knows it.
    pub relation: Arc<Relation>,
    /// WHERE.
    pub condition: Option<(Bound, ExprId)>,
    /// Its commands.
    pub commands: Vec<(Bound, QueryId)>,
}

/// A statement that is looked at.
struct Part {
    query: QueryId,
    /// The role that must be allowed to change rows, where it is not the statement's.
    by: Option<u32>,
    from: From,
    /// Queries of its WITH that were looked at.
    known: usize,
    /// Whether rows must be such that the views show them that it went through.
    cascaded: bool,
    depth: Depth,
}

struct Rewriter<'a> {
    names: &'a Names<'a>,
    bound: &'a mut Bound,
    needs: &'a mut Vec<Need>,
    made: Ruled,
    /// Whose rules are being asked.
    within: Vec<(Oid, ModifyKind)>,
    fired: usize,
    most: usize,
    model: Option<Model>,
}

/// What the rules of one event say.
#[derive(Default)]
struct Said {
    products: Vec<(QueryId, From, u32, Depth)>,
    /// Conditions of the rules that stand in the statement's place for some rows.
    partly: Vec<(Bound, ExprId)>,
    instead: bool,
    returning: bool,
}

/// Makes a statement what the rules and views say that it is; adds what is needed for that.
///
/// # Errors
/// `55000`: rows are not changed through a view; what PostgreSQL refuses of rules; `54001`.
pub fn rewrite(
    names: &Names<'_>,
    bound: &mut Bound,
    statement: QueryId,
    needs: &mut Vec<Need>,
) -> crate::error::Result<Ruled> {
    let most = bound.exprs().saturating_mul(8).saturating_add(MOST_MADE);
    let made = Ruled { stages: Vec::new(), writers: Vec::new(), depth: Depth::default() };
    let (within, fired, model) = (Vec::new(), 0, None);
    let mut rewriter = Rewriter { names, bound, needs, made, within, fired, most, model };
    let depth = Depth::default();
    let part = Part {
        query: statement,
        by: None,
        from: From::Statement,
        known: 0,
        cascaded: false,
        depth,
    };
    let stages = rewriter.part(part)?;
    if stages.is_empty() {
        // Nothing is carried out, so nothing is asked for.
        rewriter.needs.clear();
    }
    Ok(Ruled { stages, ..rewriter.made })
}

impl Rewriter<'_> {
    fn part(&mut self, part: Part) -> crate::error::Result<Vec<Stage>> {
        for at in part.known..self.bound.query(part.query).ctes.len() {
            self.part_of_with(&part, at)?;
        }
        let known = self.bound.query(part.query).ctes.len();
        let whole = Part { known, ..part };
        let stages = self.changing(whole)?;
        if known > 0 && stages.len() > 1 {
            let text =
                "WITH cannot be used in a query that is rewritten by rules into multiple queries";
            return Err(refused(text));
        }
        Ok(stages)
    }

    /// A statement of WITH becomes one that stands in its place.
    fn part_of_with(&mut self, part: &Part, at: usize) -> crate::error::Result<()> {
        let query = self.bound.query(part.query).ctes[at].query;
        if self.bound.query(query).modify.is_none() {
            return Ok(());
        }
        let inner = Part {
            query,
            from: From::Statement,
            known: 0,
            cascaded: false,
            by: part.by,
            depth: part.depth,
        };
        let stages = self.part(inner)?;
        let what = match &stages[..] {
            [one] => {
                self.bound.set_cte(part.query, at, one.query);
                return Ok(());
            }
            [] => "DO INSTEAD NOTHING",
            all if all.iter().any(|stage| stage.from == From::Partly) => "conditional DO INSTEAD",
            all if all.iter().any(|stage| stage.from == From::Also) => "DO ALSO",
            _ => "multi-statement DO INSTEAD",
        };
        let text = format!("{what} rules are not supported for data-modifying statements in WITH");
        Err(refused(&text))
    }

    /// A statement whose WITH was looked at.
    fn changing(&mut self, part: Part) -> crate::error::Result<Vec<Stage>> {
        let own = |part: &Part| vec![Stage { query: part.query, from: part.from }];
        let query = self.bound.query(part.query);
        let Some(modify) = query.modify.as_deref() else { return Ok(own(&part)) };
        let (kind, entry) = (modify.kind, modify.entry);
        let (returns, conflicts) = (!modify.returning.is_empty(), modify.conflict.is_some());
        let EntryKind::Relation { oid, .. } = query.entries[entry - 1].kind else {
            return Ok(own(&part));
        };
        let view = self.names.view;
        let objects = Arc::clone(&view.objects);
        let all = kept::of_relation(&objects, oid);
        if kind == ModifyKind::Merge && all.iter().any(Rule::is_enabled) {
            let text = format!("cannot execute MERGE on relation \"{}\"", self.name_of(oid));
            let detail = "MERGE is not supported for relations with rules.";
            return Err(refused(&text).detail(detail));
        }
        let updates = all.iter().any(|rule| rule.event == ModifyKind::Update);
        let rules: Vec<Rule<'_>> =
            all.into_iter().filter(|rule| rule.event == kind && rule.is_enabled()).collect();
        let is_view = self.names.found.others.borrow().views.contains_key(&oid);
        if rules.is_empty() && !is_view {
            if conflicts && updates {
                return Err(with_conflict());
            }
            self.made.writers.extend(part.by.map(|by| (part.query, by)));
            return Ok(own(&part));
        }
        if !rules.is_empty() && !is_view {
            let role = part.by.unwrap_or(view.judge.role);
            if self.names.is_secured(oid, role)? {
                return Err(SqlError::unsupported("rules of a table with row security"));
            }
        }
        let mut said = self.fire(&part, &rules)?;
        if is_view && kind != ModifyKind::Insert && !rules.is_empty() {
            // Rules that name OLD read the view: what that needs, its owner must have.
            self.needs_of_owner(oid);
        }
        let mut opened = None;
        if !said.instead && is_view && self.fires_instead(oid, kind) {
            self.needs_of_fired(&part, (oid, kind), !rules.is_empty())?;
        } else if !said.instead && is_view {
            if !said.partly.is_empty() {
                let why =
                    "Views with conditional DO INSTEAD rules are not automatically updatable.";
                return Err(through::refused(kind, &self.name_of(oid), why));
            }
            opened = self.open(&part)?;
        } else if said.instead {
            self.needs_of_target(&part, oid)?;
        }
        let through = opened.is_some();
        let products = std::mem::take(&mut said.products);
        let conflicts = conflicts && (!products.is_empty() || updates) && !through;
        let mut parts: Vec<Part> = Vec::with_capacity(products.len() + 1);
        let known = self.bound.query(part.query).ctes.len();
        for (query, from, owner, depth) in products {
            // What the statement's WITH has was looked at; of INSERT … SELECT it is within.
            let own = onlap_pg::bound::selected(self.bound, query).is_some();
            let (by, known) = (Some(owner), if own { 0 } else { known });
            parts.push(Part { query, by, from, known, cascaded: false, depth });
        }
        if let Some(opened) = opened {
            let own = Part { by: opened.owner, cascaded: opened.cascaded, ..part };
            match kind {
                ModifyKind::Insert => parts.insert(0, own),
                _ => parts.push(own),
            }
            return self.inner(parts, (oid, kind));
        }
        let mut stages = self.inner(parts, (oid, kind))?;
        if (said.instead || !said.partly.is_empty()) && returns && !said.returning {
            return Err(self.no_returning(kind, oid));
        }
        if conflicts {
            return Err(with_conflict());
        }
        if said.instead {
            return Ok(stages);
        }
        if !said.partly.is_empty() {
            let event = self.event(part.query)?;
            for (tree, condition) in &said.partly {
                let left = self.bound.leave_out(&event, (tree, *condition));
                left.map_err(|e| sql_error(&e, "").nowhere())?;
            }
        }
        self.made.writers.extend(part.by.map(|by| (part.query, by)));
        let own = own(&part)[0];
        match kind {
            ModifyKind::Insert => stages.insert(0, own),
            _ => stages.push(own),
        }
        Ok(stages)
    }

    /// What rules and views make of what rules and views have made.
    fn inner(
        &mut self,
        parts: Vec<Part>,
        event: (Oid, ModifyKind),
    ) -> crate::error::Result<Vec<Stage>> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        if self.within.contains(&event) {
            let name = self.name_of(event.0);
            let text = format!("infinite recursion detected in rules for relation \"{name}\"");
            return Err(SqlError::new("42P17", text));
        }
        if self.within.len() >= MOST_WITHIN {
            return Err(too_deep().detail("Rules refer to each other too deeply."));
        }
        self.within.push(event);
        let mut stages = Vec::new();
        for part in parts {
            stages.extend(self.part(part)?);
        }
        self.within.pop();
        Ok(stages)
    }

    /// What a statement needs in whose place triggers of a view stand; `ruled`: what its owner needs is known.
    fn needs_of_fired(
        &mut self,
        part: &Part,
        (oid, kind): (Oid, ModifyKind),
        ruled: bool,
    ) -> crate::error::Result<()> {
        self.needs_of_target(part, oid)?;
        if kind != ModifyKind::Insert && !ruled {
            self.needs_of_owner(oid);
        }
        Ok(())
    }

    fn needs_of_owner(&mut self, view: Oid) {
        let others = self.names.found.others.borrow();
        self.needs.extend(others.views[&view].needs.iter().cloned());
    }

    /// Whether triggers of a view stand in the place of what a statement does to its rows.
    fn fires_instead(&self, oid: Oid, kind: ModifyKind) -> bool {
        let all = triggers::of_relation(&self.names.view.objects, oid);
        all.iter().any(|trigger| {
            trigger.time == 'I'
                && match kind {
                    ModifyKind::Insert => trigger.insert,
                    ModifyKind::Update => trigger.update,
                    ModifyKind::Delete => trigger.delete,
                    ModifyKind::Merge => false,
                }
        })
    }

    /// Carries a statement one view further.
    fn open(&mut self, part: &Part) -> crate::error::Result<Option<Opened>> {
        let others = self.names.found.others.borrow();
        let opened = through::open(self.bound, (part.query, part.by), &others, part.cascaded)?;
        if let Some(opened) = &opened {
            self.needs.extend(opened.needs.iter().cloned());
        }
        Ok(opened)
    }

    /// What the statement needs in whose place rules stand.
    fn needs_of_target(&mut self, part: &Part, oid: Oid) -> crate::error::Result<()> {
        let query = self.bound.query(part.query);
        let others = self.names.found.others.borrow();
        if let Some(bodied) = others.views.get(&oid) {
            self.needs.extend(through::written(query, oid, bodied, part.by));
            return Ok(());
        }
        let known = self.names.found.known.borrow();
        let Some(schema) = known.schema(oid) else { return Ok(()) };
        let seen = query.targets.iter().filter(|target| !target.hidden);
        let written = numbers(schema, seen.map(|target| target.number - 1));
        let need = match query.modify.as_deref().expect("it changes rows").kind {
            ModifyKind::Insert => of_table(Action::Insert, schema, written),
            ModifyKind::Update => of_table(Action::Update, schema, written),
            _ => of_table(Action::Delete, schema, Vec::new()),
        };
        self.needs.push(Need { by: part.by, ..need });
        Ok(())
    }

    /// The commands of rules for a statement.
    fn fire(&mut self, part: &Part, rules: &[Rule<'_>]) -> crate::error::Result<Said> {
        let mut said = Said::default();
        if rules.is_empty() {
            return Ok(said);
        }
        let view = self.names.view;
        let event = self.event(part.query)?;
        let failed = |e: Error| sql_error(&e, "").nowhere();
        let modify = self.bound.query(part.query).modify.as_deref().expect("it changes rows");
        let returns = !modify.returning.is_empty();
        for rule in rules {
            view.scope.plan_goes_on()?;
            let mut body = self.names.rule(rule).map_err(failed)?;
            let depth = part.depth.plus(depth_of_rule(rule));
            depth.check()?;
            self.made.depth = self.made.depth.max(depth);
            let owner = view.judge.rights().owner(Key::of(rule.relation));
            let from = match (rule.instead, body.condition.is_some()) {
                (false, _) => From::Also,
                (true, false) => From::Instead,
                (true, true) => From::Partly,
            };
            said.instead |= from == From::Instead;
            if let Some((tree, condition)) = &body.condition {
                self.needs_of_condition(tree, *condition, owner);
            }
            for (tree, command) in &body.commands {
                self.needs_of_rule((tree, *command), owner);
            }
            let trees = body.commands.iter_mut().map(|(tree, _)| tree);
            for tree in trees.chain(body.condition.as_mut().map(|(tree, _)| tree)) {
                let deeper = self.names.guard(tree, owner, self.needs)?;
                self.made.depth = self.made.depth.max(depth.plus(deeper));
            }
            let event = Event { returned: returned(&body.relation), ..event_of(&event) };
            for (tree, command) in &body.commands {
                self.fired += 1;
                if self.fired > MOST_FIRED {
                    let detail = format!("Rules make more than {MOST_FIRED} statements of it.");
                    return Err(too_deep().detail(detail));
                }
                let (tree, command) = (tree, *command);
                let condition = body.condition.as_ref().map(|(tree, id)| (tree, *id));
                let fired = Fired { command: (tree, command), condition };
                let query = self.bound.fire(&event, fired).map_err(failed)?;
                let gives = tree.query(command).modify.as_deref();
                if returns
                    && gives.is_some_and(|modify| !modify.returning.is_empty())
                    && std::mem::replace(&mut said.returning, true)
                {
                    return Err(refused("cannot have RETURNING lists in multiple rules"));
                }
                self.same_writers(part.query, query);
                said.products.push((query, from, owner, depth));
            }
            if from == From::Partly {
                let (tree, id) = body.condition.expect("it has one");
                said.partly.push((tree, id));
            }
        }
        Ok(said)
    }

    /// What is written by statements of WITH that were copied, is written by whom it was.
    fn same_writers(&mut self, from: QueryId, to: QueryId) {
        let count = self.bound.query(from).ctes.len();
        let to = onlap_pg::bound::selected(self.bound, to)
            .filter(|_| self.bound.query(to).ctes.len() < count)
            .unwrap_or(to);
        for at in 0..count {
            let old = self.bound.query(from).ctes[at].query;
            let Some(new) = self.bound.query(to).ctes.get(at).map(|cte| cte.query) else { return };
            let by = self.made.writers.iter().find(|(known, _)| *known == old).map(|known| known.1);
            self.made.writers.extend(by.map(|by| (new, by)));
        }
    }

    fn needs_of_rule(&mut self, (tree, command): (&Bound, QueryId), owner: u32) {
        let (known, others) = (self.names.found.known.borrow(), self.names.found.others.borrow());
        let needs = needs::of_query(tree, command, &known, &others, Some(owner));
        self.needs.extend(needs);
    }

    /// What queries in a condition read.
    fn needs_of_condition(&mut self, tree: &Bound, condition: ExprId, owner: u32) {
        let mut queries = Vec::new();
        tree.visit(condition, 0, &mut |id, _| {
            if let Expr::SubQuery(sub) = tree.expr(id) {
                queries.push(sub.query);
            }
            true
        });
        queries.into_iter().for_each(|query| self.needs_of_rule((tree, query), owner));
    }

    /// A statement as its rules see it.
    fn event(&mut self, query: QueryId) -> crate::error::Result<Event> {
        let of = self.bound.query(query);
        let modify = of.modify.as_deref().expect("it changes rows");
        let entry = &of.entries[modify.entry - 1];
        let EntryKind::Relation { oid, own, .. } = &entry.kind else {
            return Err(refused("rules of what is no table"));
        };
        let (oid, names, types) = (*oid, own.clone(), entry.types.clone());
        let (view, found) = (self.names, &mut self.model);
        let mut default =
            |bound: &mut Bound, number: usize| default(view, found, bound, oid, number, &types);
        let new = self.bound.new_row(query, &types, &mut default);
        let new = new.map_err(|e| sql_error(&e, "").nowhere())?;
        Ok(Event { query, new, names, returned: Vec::new(), most: self.most })
    }

    fn no_returning(&self, kind: ModifyKind, oid: Oid) -> SqlError {
        let (_, _, event) = kind.words();
        let name = self.name_of(oid);
        let text = format!("cannot perform {event} RETURNING on relation \"{name}\"");
        let hint = format!(
            "You need an unconditional ON {event} DO INSTEAD rule with a RETURNING clause."
        );
        refused(&text).hint(hint)
    }

    fn name_of(&self, oid: Oid) -> String {
        if let Some(bodied) = self.names.found.others.borrow().views.get(&oid) {
            return bodied.relation.name.to_string();
        }
        let known = self.names.found.known.borrow();
        known.schema(oid).map_or_else(String::new, crate::rights::ask::shown)
    }
}

fn event_of(event: &Event) -> Event {
    let (query, new, names, most) =
        (event.query, event.new.clone(), event.names.clone(), event.most);
    Event { query, new, names, returned: Vec::new(), most }
}

/// Which value of RETURNING each column is.
fn returned(relation: &Relation) -> Vec<Option<usize>> {
    let mut next = 0..;
    let place = |column: &bind::Column| (!column.dropped).then(|| next.next()).flatten();
    relation.columns.iter().map(place).collect()
}

fn refused(text: &str) -> SqlError {
    SqlError::new("0A000", text)
}

fn with_conflict() -> SqlError {
    refused(
        "INSERT with ON CONFLICT clause cannot be used with table that has INSERT or UPDATE rules",
    )
}

fn depth_of_rule(rule: &Rule<'_>) -> Depth {
    let texts = rule.condition.into_iter().chain(rule.commands());
    texts.map(depth_of).fold(Depth::default(), Depth::max)
}

/// The default of a column, as an expression; NULL for what is no table's.
fn default(
    names: &Names<'_>,
    found: &mut Option<Model>,
    bound: &mut Bound,
    oid: Oid,
    number: usize,
    types: &[TypeRef],
) -> Result<ExprId> {
    let ty = types[number - 1];
    let view = names.view;
    let schema = names.found.known.borrow().schema(oid).cloned();
    let Some(schema) = schema else { return Ok(bound.literal(Literal::Null, ty)) };
    let column = &schema.columns[number - 1];
    let failed = |e: SqlError| of_sql(&e);
    let sql = match (defaults::computed(view, schema.id, column), &column.default) {
        (Some(sql), _) => sql,
        (None, None) => return Ok(bound.literal(Literal::Null, ty)),
        (None, Some(kept)) => {
            if found.is_none() {
                *found = Some(Model::of(view).map_err(failed)?);
            }
            let model = found.as_ref().expect("it was just made");
            text::kept_default(model, column, kept).ok_or_else(|| {
                Error::unserved("the default of this column in a rule is not supported")
            })?
        }
    };
    let tree = grammar::parse(&format!("SELECT {sql}"))?;
    let names = Names { body: None, ..names.clone() };
    let expr = tree.only_target().ok_or_else(|| Error::unserved("one expression"))?;
    let (made, query) =
        bind::default(&tree, expr, (&column.name, ty), &names, &names.found.catalog)?;
    let value = made.query(query).targets[0].value;
    Ok(bound.take(&made, value))
}

impl Names<'_> {
    /// What the texts of a rule mean.
    ///
    /// # Errors
    /// What they name is not there any more; what cannot be carried out.
    pub fn rule(&self, rule: &Rule<'_>) -> Result<Bodied> {
        let names = Names { body: Some(&rule.object.body), ..self.clone() };
        let relation = names.ruled(rule.relation)?;
        let event = event_word(rule.event);
        let within = (&names as &dyn Schema, &*self.found.catalog);
        let served = |bound: &Bound, query| match is_of_class(bound, query, self.view) {
            true => Ok(()),
            false => Err(Error::unserved("this command of a rule is not supported")),
        };
        let condition = match rule.condition {
            None => None,
            Some(sql) => {
                let tree = grammar::parse(&format!("SELECT {sql}"))?;
                let expr = tree.only_target().ok_or_else(|| Error::unserved("one condition"))?;
                let of = (&relation, event);
                let (bound, query, value) =
                    bind::rule_condition(&tree, expr, of, within, self.printing)?;
                served(&bound, query)?;
                Some((bound, value))
            }
        };
        let mut commands = Vec::new();
        for sql in rule.commands() {
            let tree = grammar::parse(sql)?;
            let [written] = &tree.statements[..] else {
                return Err(Error::unserved("one command"));
            };
            let made =
                bind::rule_command(&tree, &written.statement, &relation, within, self.printing);
            let (mut bound, query) = made?;
            if !self.printing {
                bound.merge_parts()?;
            }
            served(&bound, query)?;
            commands.push((bound, query));
        }
        Ok(Bodied { relation, condition, commands })
    }

    /// The table or view of a rule, as the rule's texts know it.
    fn ruled(&self, oid: Oid) -> Result<Arc<Relation>> {
        let name = crate::catalog::bound::path(oid);
        self.relation(&name)?
            .ok_or_else(|| Error::internal(format!("could not open relation with OID {oid}")))
    }
}

/// An event as the grammar has it.
pub fn event_word(kind: ModifyKind) -> RuleEvent {
    match kind {
        ModifyKind::Update => RuleEvent::Update,
        ModifyKind::Delete => RuleEvent::Delete,
        ModifyKind::Insert | ModifyKind::Merge => RuleEvent::Insert,
    }
}
