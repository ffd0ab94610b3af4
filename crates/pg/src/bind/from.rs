//! FROM: tables, queries and functions, and which names they bring.

use super::level::{Clause, Item, Seen};
use super::{Around, At, Binder, Relation};
use crate::ast::{self, Alias, From, Name};
use crate::bound::{Entry, EntryKind, JoinTree};
use crate::{Error, Oid, Result, TypeRef};

/// An item of FROM as it was bound.
pub(super) struct Made {
    pub(super) tree: JoinTree,
    /// The names of its columns, and what they stand for.
    pub(super) top: Item,
    /// The names that it brings.
    pub(super) items: Vec<Item>,
}

impl Binder<'_> {
    /// FROM: what is joined, with the names of all items seen in the end.
    pub(super) fn whole_from(&mut self, list: &[ast::FromId]) -> Result<Vec<JoinTree>> {
        let mut trees = Vec::with_capacity(list.len());
        for id in list {
            let mut made = self.item_of_from(*id)?;
            self.check_conflicts(&self.level_ref().items, &made.items)?;
            lateral_only(&mut made.items, true, true);
            trees.push(made.tree);
            self.level().items.append(&mut made.items);
        }
        lateral_only(&mut self.level().items, false, true);
        Ok(trees)
    }

    pub(super) fn item_of_from(&mut self, id: ast::FromId) -> Result<Made> {
        self.deeper(|b| match b.tree.from(id) {
            From::Relation(relation) => b.relation_item(relation),
            From::Sample(relation, sample) => b.sample(relation, sample),
            From::Query { lateral, query, alias } => b.query_item(*lateral, *query, alias),
            From::Functions { lateral, rows_from, calls, ordinality, alias, columns } => {
                let form = super::functions::Form {
                    lateral: *lateral,
                    rows_from: *rows_from,
                    ordinality: *ordinality,
                };
                b.function_item(form, calls, alias.as_ref(), columns)
            }
            From::Join(join) => b.join(join),
        })
    }

    fn relation_item(&mut self, relation: &ast::Relation) -> Result<Made> {
        let number = match self.cte_entry(relation)? {
            Some(number) => number,
            None => self.table_entry(relation)?,
        };
        Ok(self.made(number))
    }

    /// An entry alone as an item of FROM.
    pub(super) fn made(&mut self, number: usize) -> Made {
        let top = self.item_of(number);
        Made { tree: JoinTree::Entry(number), items: vec![top.clone()], top }
    }

    /// The entry of a table, and what it is.
    pub(super) fn table_entry(&mut self, relation: &ast::Relation) -> Result<usize> {
        let of = self.open(relation)?;
        self.relation_entry(&of, relation, true)
    }

    /// The entry of a relation that was looked up.
    pub(super) fn relation_entry(
        &mut self,
        of: &Relation,
        relation: &ast::Relation,
        in_from: bool,
    ) -> Result<usize> {
        let (mut names, mut types) = (Vec::new(), Vec::new());
        let mut given = relation.alias.iter().flat_map(|alias| alias.columns.iter());
        let mut written = Vec::new();
        for column in &of.columns {
            if column.dropped {
                names.push(Name::from(""));
                types.push(TypeRef::new(0));
                continue;
            }
            let own = given.next();
            written.extend(own.cloned());
            names.push(own.unwrap_or(&column.name).clone());
            types.push(column.ty);
        }
        let last = relation.name.last().expect("a name");
        let name = relation.alias.as_ref().map_or(last, |alias| &alias.name).clone();
        self.check_aliases(&name, written.len() + given.count(), written.len())?;
        let kind = EntryKind::Relation {
            oid: of.oid,
            kind: of.kind,
            inherited: !relation.only,
            own: of.columns.iter().map(|column| column.name.clone()).collect(),
            sample: None,
        };
        let alias =
            relation.alias.as_ref().map(|alias| (alias.name.clone(), alias.columns.clone()));
        let entry =
            Entry { kind, alias, name, names, types, lateral: false, in_from, guards: Vec::new() };
        let number = self.add_entry(entry, of.row, of.key.clone());
        self.set_collations(number, of.columns.iter().map(|column| column.collation).collect());
        Ok(number)
    }

    fn check_aliases(&self, name: &str, written: usize, there: usize) -> Result<()> {
        if written <= there {
            return Ok(());
        }
        let text = format!(
            "table \"{name}\" has {there} columns available but {written} columns specified"
        );
        Err(Error::new("42P10", text))
    }

    /// The relation of a name; one that rows can be read from.
    pub(super) fn open(&self, relation: &ast::Relation) -> Result<std::sync::Arc<Relation>> {
        let place = Some(relation.place);
        let name = relation.name.last().expect("a name");
        if let Some(found) = self.schema.relation(&relation.name).at(place)? {
            let what = match found.kind {
                b'i' | b'I' => "an index",
                b'c' => "a composite type",
                _ => return Ok(found),
            };
            let text = format!("\"{}\" is {what}", found.name);
            return Err(Error::new("42809", text)).at(place);
        }
        let text = format!("relation \"{}\" does not exist", relation.name.join("."));
        let error = Error::new("42P01", text);
        let later = |level: &super::level::Level| level.later.contains(name);
        Err(match relation.name.len() == 1 && self.levels.iter().any(later) {
            true => error
                .detail(format!(
                    "There is a WITH item named \"{name}\", but it cannot be referenced from this \
                     part of the query."
                ))
                .hint(
                    "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.",
                ),
            false => error,
        })
        .at(place)
    }

    fn sample(
        &mut self,
        relation: &ast::Relation,
        ast::Sample { method, args, repeatable, place }: &ast::Sample,
    ) -> Result<Made> {
        let number = match self.cte_entry(relation)? {
            Some(number) => number,
            None => self.table_entry(relation)?,
        };
        let is_table = matches!(
            self.level().entries[number - 1].kind,
            EntryKind::Relation { kind: b'r' | b'm' | b'p', .. }
        );
        if !is_table {
            let text = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(Error::new("0A000", text).at(relation.place));
        }
        let name = method.last().expect("a name");
        let found = self.catalog.procs_named(name).find(|proc| {
            // tsm_handler
            proc.result == 3310 && proc.arguments[..] == [2281]
        });
        let Some(found) = found else {
            let text = format!("tablesample method {name} does not exist");
            return Err(Error::new("42704", text).at(*place));
        };
        if args.len() != 1 {
            let text = format!("tablesample method {name} requires 1 argument, not {}", args.len());
            return Err(Error::new("2202H", text).at(*place));
        }
        let mut made_args = Vec::new();
        for arg in args {
            let value = self.expr_in(*arg, Clause::FromFunction)?;
            let value = self.specific(value, 700, "TABLESAMPLE")?;
            self.derive_collations(&[value])?;
            made_args.push(value);
        }
        let repeatable = match repeatable {
            Some(seed) => {
                let seed = self.expr_in(*seed, Clause::FromFunction)?;
                let seed = self.specific(seed, 701, "REPEATABLE")?;
                self.derive_collations(&[seed])?;
                Some(seed)
            }
            None => None,
        };
        let oid = found.oid;
        if let EntryKind::Relation { sample, .. } = &mut self.level().entries[number - 1].kind {
            *sample = Some(Box::new((oid, made_args, repeatable)));
        }
        Ok(self.made(number))
    }

    fn query_item(&mut self, lateral: bool, query: ast::QueryId, alias: &Alias) -> Result<Made> {
        let level = self.level();
        let before = (
            std::mem::replace(&mut level.clause, Clause::FromQuery),
            std::mem::replace(&mut level.lateral, lateral),
        );
        let query = self.query(query, Around::default());
        let level = self.level();
        (level.clause, level.lateral) = before;
        let query = query?;
        let names: Vec<Name> = self.names_of_query(query);
        let types = self.columns_of_query(query);
        let names = self.named_by(alias, names)?;
        let entry = Entry {
            kind: EntryKind::Query(query),
            alias: Some((alias.name.clone(), alias.columns.clone())),
            name: alias.name.clone(),
            names,
            types,
            lateral,
            in_from: true,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        Ok(self.made(number))
    }

    /// Names of columns: those that were written, then their own.
    pub(super) fn named_by(&self, alias: &Alias, own: Vec<Name>) -> Result<Vec<Name>> {
        self.check_aliases(&alias.name, alias.columns.len(), own.len())?;
        let rest = own.into_iter().skip(alias.columns.len());
        Ok(alias.columns.iter().cloned().chain(rest).collect())
    }

    /// The names of the columns that a query gives.
    pub(super) fn names_of_query(&self, query: crate::bound::QueryId) -> Vec<Name> {
        let targets = self.out.query(query).output().iter().filter(|target| !target.hidden);
        targets.map(|target| target.name.clone().unwrap_or_default()).collect()
    }

    /// The entry of a query of WITH, if the name means one.
    fn cte_entry(&mut self, relation: &ast::Relation) -> Result<Option<usize>> {
        let [name] = &relation.name[..] else { return Ok(None) };
        let Some((up, at)) = self.cte_named(name) else { return Ok(None) };
        let level = self.levels.len() - 1 - up;
        let known = &mut self.levels[level].ctes[at];
        if !known.under_way {
            known.cte.references += 1;
            if known.gives_nothing {
                let text = format!("WITH query \"{name}\" does not have a RETURNING clause");
                return Err(Error::new("0A000", text).at(relation.place));
            }
        }
        let own = known.under_way;
        let (names, mut types) = (known.cte.names.clone(), known.cte.types.clone());
        let mut collations = known.collations.clone();
        let added = if own { known.added.clone() } else { Vec::new() };
        let mut names = match &relation.alias {
            Some(alias) => self.named_by(alias, names)?,
            None => names,
        };
        for (name, ty) in added {
            names.push(name);
            types.push(ty);
            collations.push(self.catalog.collation(ty.oid));
        }
        let alias = relation.alias.as_ref();
        let entry = Entry {
            kind: EntryKind::Cte { name: name.clone(), up: up as u32, own },
            alias: alias.map(|alias| (alias.name.clone(), alias.columns.clone())),
            name: alias.map_or(name, |alias| &alias.name).clone(),
            names,
            types,
            lateral: false,
            in_from: true,
            guards: Vec::new(),
        };
        let number = self.add_entry(entry, 0, Vec::new());
        self.set_collations(number, collations);
        Ok(Some(number))
    }

    /// The query of WITH that a name means: levels up, and its number there.
    pub(super) fn cte_named(&self, name: &str) -> Option<(usize, usize)> {
        self.levels.iter().rev().enumerate().find_map(|(up, level)| {
            level.ctes.iter().position(|known| *known.cte.name == *name).map(|at| (up, at))
        })
    }

    /// Adds an entry, with the type of its rows and the columns of its key.
    pub(super) fn add_entry(&mut self, entry: Entry, row: Oid, key: Vec<i32>) -> usize {
        let level = self.level();
        level.entries.push(entry);
        level.rows.push(row);
        level.keys.push(key);
        level.collations.push(None);
        level.entries.len()
    }

    /// Says which collations the columns of an entry have.
    pub(super) fn set_collations(&mut self, number: usize, collations: Vec<Oid>) {
        self.level().collations[number - 1] = Some(collations.into());
    }

    /// The names that an entry brings.
    pub(super) fn item_of(&self, number: usize) -> Item {
        let entry = &self.level_ref().entries[number - 1];
        let seen = |(at, ty): (usize, &TypeRef)| Seen {
            entry: if ty.oid == 0 { 0 } else { number },
            column: at as i32 + 1,
            ty: *ty,
            called: (number, at as i32 + 1),
        };
        Item {
            entry: number,
            name: entry.name.clone(),
            names: entry.names.clone(),
            columns: entry.types.iter().enumerate().map(seen).collect(),
            name_seen: true,
            columns_seen: true,
            lateral_only: false,
            lateral_ok: true,
            merged: false,
            target: false,
        }
    }

    /// An entry's names are seen.
    pub(super) fn see(&mut self, number: usize) {
        let item = self.item_of(number);
        self.level().items.push(item);
    }

    /// A name may be given once; two tables of different schemas may share theirs.
    pub(super) fn check_conflicts(&self, some: &[Item], others: &[Item]) -> Result<()> {
        let entries = &self.level_ref().entries;
        let plain = |item: &Item| match (&entries[item.entry - 1].kind, item.merged) {
            (EntryKind::Relation { oid, .. }, false) => {
                entries[item.entry - 1].alias.is_none().then_some(*oid)
            }
            _ => None,
        };
        for other in others.iter().filter(|item| item.name_seen) {
            for one in some.iter().filter(|item| item.name_seen && item.name == other.name) {
                match (plain(one), plain(other)) {
                    (Some(a), Some(b)) if a != b => {}
                    _ => {
                        let text =
                            format!("table name \"{}\" specified more than once", other.name);
                        return Err(Error::new("42712", text));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Names are seen from now on by LATERAL alone, or by all.
pub(super) fn lateral_only(items: &mut [Item], only: bool, ok: bool) {
    for item in items {
        item.lateral_only = only;
        item.lateral_ok = ok;
    }
}
