//! Which column or relation does a name mean?

use super::level::{Clause, Item, Level, Seen};
use super::{At, Binder};
use crate::ast::{Name, Path};
use crate::bound::{Entry, EntryKind, Expr, ExprId};
use crate::catalog::oids;
use crate::{Error, Result, TypeRef};

/// The system's columns of tables: name, number, type.
pub(crate) const SYSTEM: [(&str, i32, u32); 6] = [
    ("ctid", -1, 27),
    ("xmin", -2, 28),
    ("cmin", -3, 29),
    ("xmax", -4, 28),
    ("cmax", -5, 29),
    ("tableoid", -6, 26),
];

impl Binder<'_> {
    /// A column reference of one to four parts.
    pub(super) fn column_of_query(&mut self, path: &Path, place: Option<u32>) -> Result<ExprId> {
        if self.level_ref().clause == Clause::Default {
            let text = "cannot use column reference in DEFAULT expression";
            return Err(Error::new("0A000", text)).at(place);
        }
        let (qualifier, column) = match &path[..] {
            // What a domain's condition calls the value that it judges.
            [name] if &**name == "value" && self.value.is_some() => {
                let ty = self.value.expect("it is there");
                let up = self.levels.len() as u32 - 1;
                return Ok(self.out.add(Expr::Var { entry: 1, column: 1, up }, ty, place));
            }
            [column] => return self.column_alone(column, place),
            [relation, column] => (std::slice::from_ref(relation), column),
            [_, _, column] => (&path[..2], column),
            [_, _, _, column] => {
                self.check_database(path, place)?;
                (&path[1..3], column)
            }
            _ => {
                let text = "improper qualified name (too many dotted names): ";
                return Err(Error::new("42601", format!("{text}{}", path.join(".")))).at(place);
            }
        };
        let Some((up, at)) = self.item_named(qualifier, place)? else {
            return Err(self.missing_relation(qualifier)).at(place);
        };
        if let Some(found) = self.column_of(up, at, column, place)? {
            return Ok(found);
        }
        // `t.f` may be a function of the row.
        let row = self.whole_row(up, at, place);
        if let Some(found) = self.field_or_function(row, column, place)? {
            return Ok(found);
        }
        let relation = qualifier.last().expect("a name");
        Err(self.missing_column(Some(relation), column).at(place)?).at(place)
    }

    fn column_alone(&mut self, column: &Name, place: Option<u32>) -> Result<ExprId> {
        if let Some(found) = self.find_column(column, place)? {
            return Ok(found);
        }
        if let Some((up, at)) = self.item_named(std::slice::from_ref(column), place)? {
            return Ok(self.whole_row(up, at, place));
        }
        Err(self.missing_column(None, column).at(place)?).at(place)
    }

    /// A column by its name alone, at the innermost level that has it.
    fn find_column(&mut self, column: &str, place: Option<u32>) -> Result<Option<ExprId>> {
        self.find_column_within(column, self.levels.len(), place)
    }

    /// A column by its name alone of the query that is being bound.
    pub(super) fn find_column_here(
        &mut self,
        column: &str,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        self.find_column_within(column, 1, place)
    }

    fn find_column_within(
        &mut self,
        column: &str,
        levels: usize,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        for up in 0..levels {
            let level = &self.levels[self.levels.len() - 1 - up];
            let mut found = None;
            for (at, item) in level.items.iter().enumerate() {
                if !item.columns_seen || item.lateral_only && !level.lateral {
                    continue;
                }
                let Some(seen) = self.scan(up, at, column).at(place)? else { continue };
                if found.is_some() {
                    return Err(ambiguous(column)).at(place);
                }
                check_lateral(item).at(place)?;
                found = Some((seen, item.entry));
            }
            if let Some((seen, _)) = found {
                return Ok(Some(self.var(seen, up, place)));
            }
        }
        Ok(None)
    }

    /// A column of a relation that was named.
    pub(super) fn column_of(
        &mut self,
        up: usize,
        at: usize,
        column: &str,
        place: Option<u32>,
    ) -> Result<Option<ExprId>> {
        let found = self.scan(up, at, column).at(place)?;
        Ok(found.map(|seen| self.var(seen, up, place)))
    }

    fn scan(&self, up: usize, at: usize, column: &str) -> Result<Option<Seen>> {
        let level = &self.levels[self.levels.len() - 1 - up];
        let item = &level.items[at];
        let mut found = None;
        for (name, seen) in item.names.iter().zip(&item.columns) {
            if **name == *column && seen.entry != 0 {
                if found.is_some() {
                    return Err(ambiguous(column));
                }
                found = Some(*seen);
            }
        }
        if found.is_some() || item.merged {
            return Ok(found);
        }
        let EntryKind::Relation { kind: b'r' | b'm' | b'p' | b't' | b'S', .. } =
            level.entries[item.entry - 1].kind
        else {
            return Ok(None);
        };
        let system = SYSTEM.iter().find(|(name, ..)| *name == column);
        if system.is_some() && column != "tableoid" && self.level_ref().clause == Clause::MergeWhen
        {
            let text = format!("cannot use system column \"{column}\" in MERGE WHEN condition");
            return Err(Error::new("42P10", text));
        }
        Ok(system.map(|(_, number, ty)| Seen {
            entry: item.entry,
            column: *number,
            ty: TypeRef::new(*ty),
            called: (item.entry, *number),
        }))
    }

    pub(super) fn var(&mut self, seen: Seen, up: usize, place: Option<u32>) -> ExprId {
        let var = Expr::Var { entry: seen.entry, column: seen.column, up: up as u32 };
        let made = self.out.add(var, seen.ty, place);
        if seen.called != (seen.entry, seen.column) {
            self.out.note_column(made, seen.called);
        }
        made
    }

    /// The item that a relation's name means: levels up, and its number there.
    pub(super) fn item_named(
        &self,
        qualifier: &[Name],
        place: Option<u32>,
    ) -> Result<Option<(usize, usize)>> {
        let name = qualifier.last().expect("a name");
        let relation = match qualifier.len() {
            1 => None,
            _ => match self.schema.relation(qualifier).ok().flatten() {
                Some(relation) => Some(relation.oid),
                None => return Ok(None),
            },
        };
        for up in 0..self.levels.len() {
            let level = &self.levels[self.levels.len() - 1 - up];
            let mut found = None;
            for (at, item) in level.items.iter().enumerate() {
                if !item.name_seen || item.lateral_only && !level.lateral {
                    continue;
                }
                let is_it = match relation {
                    None => item.name == *name,
                    Some(wanted) => {
                        let entry = &level.entries[item.entry - 1];
                        entry.alias.is_none()
                            && matches!(entry.kind, EntryKind::Relation { oid, .. } if oid == wanted)
                    }
                };
                if !is_it {
                    continue;
                }
                if found.is_some() {
                    let text = format!("table reference \"{name}\" is ambiguous");
                    return Err(Error::new("42P09", text)).at(place);
                }
                check_lateral(item).at(place)?;
                found = Some((up, at));
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The whole row of an item.
    pub(super) fn whole_row(&mut self, up: usize, at: usize, place: Option<u32>) -> ExprId {
        let level = &self.levels[self.levels.len() - 1 - up];
        let item = &level.items[at];
        if item.merged {
            let (columns, names) = (item.columns.clone(), item.names.clone());
            let fields = columns.into_iter().map(|seen| self.var(seen, up, place)).collect();
            return self.out.add(Expr::Row(fields, names), TypeRef::new(oids::RECORD), place);
        }
        let entry = &level.entries[item.entry - 1];
        let number = item.entry;
        let (column, ty) = match &entry.kind {
            EntryKind::Relation { .. } => (0, TypeRef::new(level.row_of(number))),
            EntryKind::Functions { calls, ordinality: false } if calls.len() == 1 => {
                let ty = self.out.ty(calls[0].call);
                let scalar = calls[0].defined.is_empty()
                    && !self.catalog.is_composite(ty.oid)
                    && ty.oid != oids::RECORD;
                match scalar {
                    true => (1, entry.types[0]),
                    false if calls[0].defined.is_empty() => (0, TypeRef::new(ty.oid)),
                    false => (0, TypeRef::new(oids::RECORD)),
                }
            }
            _ => (0, TypeRef::new(oids::RECORD)),
        };
        let var = Expr::Var { entry: number, column, up: up as u32 };
        self.out.add(var, ty, place)
    }

    /// What a star in front of which a relation may be stands for: names and columns.
    pub(super) fn star(&mut self, up: usize, at: usize, place: Option<u32>) -> Vec<(Name, ExprId)> {
        let level = &self.levels[self.levels.len() - 1 - up];
        let item = &level.items[at];
        let all: Vec<(Name, Seen)> = item
            .names
            .iter()
            .cloned()
            .zip(item.columns.iter().copied())
            .filter(|(_, seen)| seen.entry != 0 && !self.is_added(level, *seen))
            .collect();
        all.into_iter().map(|(name, seen)| (name, self.var(seen, up, place))).collect()
    }

    /// Whether a column is one of SEARCH or CYCLE within the recursive query itself.
    fn is_added(&self, level: &Level, seen: Seen) -> bool {
        let entry = level.entries.get(seen.entry - 1);
        let Some(Entry { kind: EntryKind::Cte { name, own: true, .. }, .. }) = entry else {
            return false;
        };
        let mut under_way = self.levels.iter().rev().flat_map(|level| &level.ctes);
        let known = under_way.find(|known| known.under_way && known.cte.name == *name);
        known.is_some_and(|known| seen.column as usize > known.cte.types.len())
    }

    /// Whether an entry has this column of the system's.
    pub(super) fn is_system_column(&self, entry: &Entry, column: &str) -> bool {
        let table =
            matches!(entry.kind, EntryKind::Relation { kind: b'r' | b'm' | b'p' | b't', .. });
        table && SYSTEM.iter().any(|(name, ..)| *name == column)
    }
}

/// The number of a column of the system's.
pub(super) fn system_number(name: &str) -> Option<i32> {
    SYSTEM.iter().find(|(own, ..)| *own == name).map(|(_, number, _)| *number)
}

/// The name of a column of the system's.
pub(super) fn system_name(number: i32) -> &'static str {
    SYSTEM.iter().find(|(_, own, _)| *own == number).map_or("", |(name, ..)| name)
}

fn ambiguous(column: &str) -> Error {
    Error::new("42702", format!("column reference \"{column}\" is ambiguous"))
}

fn check_lateral(item: &Item) -> Result<()> {
    if !item.lateral_only || item.lateral_ok {
        return Ok(());
    }
    let text = format!("invalid reference to FROM-clause entry for table \"{}\"", item.name);
    let error = Error::new("42P10", text);
    Err(match item.target {
        true => error.hint(format!(
            "There is an entry for table \"{}\", but it cannot be referenced from this part of the \
             query.",
            item.name
        )),
        false => {
            error.detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
        }
    })
}
