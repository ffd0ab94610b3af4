//! What are the views that a statement reads?
//!
//! A view's text is bound as a query of its own: once for a statement, with the names that it was made with
//! ([`crate::catalog::bound`]). What it reads, it reads with the rights of its owner; what reads it needs rights on the view.
//!
//! Thread safety: what was bound is read only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onlap_base::limits::STATEMENT_RELATIONS;
use onlap_pg::ast::{LockStrength, LockWait};
use onlap_pg::bind::{Column, Relation};
use onlap_pg::bound::{Bound, EntryKind, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_pg::{Error, Oid, Result, TypeRef, bind, grammar};
use onlap_query::{
    CTID, Facts, Locker, ROW_ID, Read, Restriction, Scanned, Tables, VERSION, View as BoundView,
    Wanted,
};

use super::schema::Names;
use super::tables::Known;
use super::through::Checked;
use super::{catalogs, needs, sequences, transition};
use crate::catalog::objects::Object;
use crate::catalog::view_options::{is_barrier, is_of_invoker};
use crate::catalog::{Name, oids};
use crate::deep::{Depth, too_deep};
use crate::error::{SqlError, state};
use crate::rights::Need;
use crate::system::definitions::Definition;
use crate::view::View;

/// Views may refer to views so deep, which is more than a statement may read: each counts for 16 of its levels.
const VIEW_DEPTH: usize = 128;
/// Stack left below which what binds a view runs on a piece of its own, and its bytes.
const RED_ZONE: usize = 256 << 10;
const MORE_STACK: usize = 2 << 20;

/// A view that was bound.
pub struct Bodied {
    /// Its query.
    pub query: BoundView,
    /// Who reads what it reads; none is the role of the statement.
    pub owner: Option<u32>,
    /// The schema that it is in.
    pub schema: String,
    /// Its columns.
    pub relation: Arc<Relation>,
    /// What its query reads, by its owner or, where it is the invoker's, by the role of the statement.
    pub needs: Vec<Need>,
    /// Tables that it reads, each as often as it is named.
    weight: usize,
    /// How deep its text is, with those of the views within.
    pub depth: Depth,
    /// WITH CHECK OPTION.
    pub checked: Option<Checked>,
    /// Whether it reads tables whose policies count.
    pub secured: bool,
    /// Whether its conditions come before all that is asked of its rows.
    pub barrier: bool,
}

/// What a statement reads that is no table of the engine, by OID.
#[derive(Default)]
pub struct Others {
    /// Views.
    pub views: HashMap<Oid, Bodied>,
    /// Tables and views of the system.
    pub system: HashMap<Oid, Arc<Definition>>,
    /// Sequences, by the engine's names.
    pub sequences: HashMap<Oid, String>,
    /// Tables of changed rows, which belong to the call of a trigger's function.
    pub transitions: HashSet<Oid>,
}

impl Others {
    /// Whether a tree has guards, or reads views that have.
    fn reads_secured(&self, bound: &Bound) -> bool {
        bound.query_ids().flat_map(|query| &bound.query(query).entries).any(|entry| {
            let EntryKind::Relation { oid, .. } = &entry.kind else { return false };
            !entry.guards.is_empty() || self.views.get(oid).is_some_and(|view| view.secured)
        })
    }

    /// How many tables a query reads, each as often as it is named; and what the views add to its depth.
    ///
    /// # Errors
    /// `54001`: too many.
    pub fn weigh(&self, bound: &Bound) -> Result<(usize, Depth)> {
        let (mut weight, mut depth) = (0_usize, Depth::default());
        for query in bound.query_ids() {
            for entry in &bound.query(query).entries {
                let EntryKind::Relation { oid, .. } = &entry.kind else { continue };
                match self.views.get(oid) {
                    Some(view) => {
                        weight = weight.saturating_add(view.weight);
                        depth = depth.max(view.depth);
                    }
                    None => weight = weight.saturating_add(1),
                }
            }
        }
        if weight > STATEMENT_RELATIONS {
            let detail = format!(
                "It reads more than {STATEMENT_RELATIONS} tables, each as often as it is named."
            );
            return Err(of_sql(&too_deep().detail(detail)));
        }
        Ok((weight, depth))
    }
}

/// An error of this crate as the binder has them.
pub fn of_sql(error: &SqlError) -> Error {
    let mut made = match error.as_defect() {
        Some(defect) => Error::of_defect(Arc::clone(defect)),
        None => Error::new(error.state(), error.message()),
    };
    for (field, text) in error.fields() {
        match field {
            b'D' => made = made.detail(text),
            b'H' => made = made.hint(text),
            _ => {}
        }
    }
    made
}

impl Names<'_> {
    /// A view as a relation; its query is bound the first time.
    pub(super) fn view_relation(&self, name: &Name, object: &Object) -> Result<Arc<Relation>> {
        let oid = oids::of_object(object.number);
        if let Some(known) = self.found.others.borrow().views.get(&oid) {
            return Ok(Arc::clone(&known.relation));
        }
        self.view.scope.go_on().map_err(|e| of_sql(&e))?;
        let mut within = self.found.within.borrow_mut();
        // OR REPLACE lets a view read itself, which no query of it ends.
        if within.contains(&oid) {
            let text =
                format!("infinite recursion detected in rules for relation \"{}\"", name.name);
            return Err(Error::new("42P17", text));
        }
        if within.len() >= VIEW_DEPTH {
            let detail = "Views refer to each other too deeply.";
            return Err(of_sql(&too_deep().detail(detail)));
        }
        within.push(oid);
        drop(within);
        // A function in its query may take its rows.
        self.row_of(oid, name);
        let bodied = stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.bodied(name, object, oid));
        self.found.within.borrow_mut().pop();
        let bodied = bodied?;
        let relation = Arc::clone(&bodied.relation);
        self.found.others.borrow_mut().views.insert(oid, bodied);
        Ok(relation)
    }

    fn bodied(&self, name: &Name, object: &Object, oid: Oid) -> Result<Bodied> {
        let sql = object.body["sql"].as_str().unwrap_or_default();
        let names = Names { body: Some(&object.body), ..self.clone() };
        let (mut bound, query) = bound(sql, &names, &self.found.catalog)
            .map_err(|e| if is_of_views(&e) { e } else { self.others() })?;
        let declared = object.body["columns"].as_array().into_iter().flatten();
        let declared: Vec<&str> = declared.filter_map(|column| column["name"].as_str()).collect();
        let types = bound.columns(query);
        if declared.len() != types.len() {
            return Err(self.others());
        }
        let seen = bound.query(query).output().iter().filter(|target| !target.hidden);
        let collations = seen.map(|target| bound.collation(target.value).unwrap_or(0));
        let column = |(name, ((_, ty), collation)): (&str, ((_, TypeRef), _))| Column {
            name: name.into(),
            ty: TypeRef { oid: super::shown_type(ty.oid), ..ty },
            collation,
            dropped: false,
        };
        let relation = Arc::new(Relation {
            oid,
            row: self.row_of(oid, name),
            name: name.name.as_str().into(),
            kind: b'v',
            columns: declared
                .into_iter()
                .zip(types.into_iter().zip(collations))
                .map(column)
                .collect(),
            key: Vec::new(),
        });
        self.note_row(&relation);
        let owner = match is_of_invoker(&object.body) {
            true => None,
            false => Some(self.view.judge.rights().owner(crate::rights::Key::of(oid))),
        };
        let mut needs = {
            let (known, others) = (self.found.known.borrow(), self.found.others.borrow());
            needs::of_query(&bound, query, &known, &others, owner)
        };
        let deeper = match self.printing {
            true => Depth::default(),
            false => self.guard_view(&mut bound, owner, &mut needs),
        };
        let others = self.found.others.borrow();
        let (weight, inner) = others.weigh(&bound)?;
        let own = crate::parse::depth_of(sql);
        let depth = own.of_view().plus(inner).plus(deeper);
        depth.check().map_err(|e| of_sql(&e))?;
        let secured = others.reads_secured(&bound);
        let (query, checked) = (Arc::new((bound, query)), Checked::of(&object.body));
        let (schema, barrier) = (name.schema.clone(), is_barrier(&object.body));
        let bodied = Bodied {
            query,
            owner,
            schema,
            relation,
            needs,
            weight,
            depth,
            checked,
            secured,
            barrier,
        };
        Ok(bodied)
    }
}

/// An error that says something of a view, and not that its query is of the other class.
pub fn is_of_views(error: &Error) -> bool {
    match error.state {
        "42P17" | state::TOO_COMPLEX | state::CANCELLED | state::OUT_OF_MEMORY => true,
        // PostgreSQL refuses it too: it reads temporary tables of other sessions.
        state::UNSUPPORTED => !error.unserved,
        _ => false,
    }
}

fn bound(sql: &str, names: &Names<'_>, catalog: &Catalog) -> Result<(Bound, QueryId)> {
    let tree = grammar::parse(sql)?;
    let [written] = &tree.statements[..] else { return Err(Error::unserved("one query")) };
    bind::bind(&tree, &written.statement, names, catalog, &[])
}

/// What the steps of a statement read: tables of the engine, views, and the system's catalogs.
pub struct Sources<'a> {
    /// Tables of the engine.
    pub known: &'a Known,
    /// What else.
    pub others: &'a Others,
    /// What the statement sees.
    pub view: &'a View,
    /// The types that it names.
    pub catalog: &'a Arc<Catalog>,
}

impl Tables for Sources<'_> {
    fn facts(&self, of: Read) -> Facts {
        if self.others.sequences.contains_key(&of.relation) {
            return sequences::facts();
        }
        if self.others.transitions.contains(&of.relation) {
            return transition::facts(self.view, of.relation);
        }
        match self.others.system.get(&of.relation) {
            Some(definition) => catalogs::facts(definition),
            None => self.known.facts(of),
        }
    }

    fn scan(
        &self,
        of: Read,
        columns: &[i32],
        restrictions: Vec<Restriction>,
        wanted: &Wanted,
    ) -> Result<Scanned> {
        let is_table = self.known.handle(of.relation).is_some();
        debug_assert!(is_table || !columns.contains(&VERSION), "it has no versions");
        if columns.contains(&CTID) && !is_table {
            return Err(Error::unserved("ctid of what is no table"));
        }
        if let Some(sequence) = self.others.sequences.get(&of.relation) {
            let plan = sequences::scan(sequence, of.relation, columns)?;
            return Ok(Scanned { plan, ordered: false });
        }
        if self.others.transitions.contains(&of.relation) {
            let plan = transition::scan(self.view, of.relation, columns)?;
            return Ok(Scanned { plan, ordered: false });
        }
        match self.others.system.get(&of.relation) {
            Some(_) if columns.contains(&ROW_ID) => {
                Err(Error::unserved("locking rows of the system's catalogs"))
            }
            Some(definition) => {
                let plan = catalogs::scan(definition, self.view, self.catalog, columns)?;
                Ok(Scanned { plan, ordered: false })
            }
            None => self.known.scan(of, columns, restrictions, wanted),
        }
    }

    fn locker(&self, of: Read, strength: LockStrength, wait: LockWait) -> Result<Locker> {
        if let Some(sequence) = self.others.sequences.get(&of.relation) {
            return Err(sequences::no_locks(sequence));
        }
        match self.others.system.contains_key(&of.relation) {
            true => Err(Error::unserved("locking rows of the system's catalogs")),
            false => Ok(self.known.locker(of, strength, wait)),
        }
    }

    fn view(&self, relation: Oid) -> Result<Option<BoundView>> {
        Ok(self.others.views.get(&relation).map(|view| Arc::clone(&view.query)))
    }
}
