//! WITH: its queries, in which order they are bound, and which of them are recursive.

use super::level::KnownCte;
use super::recursion::Recursion;
use super::{Around, At, Binder};
use crate::ast::{self, CteBody, Name, With};
use crate::bound::{Cte, CteKind, DEFAULT_COLLATION, Query, QueryId, collation_name};
use crate::catalog::oids;
use crate::{Error, Oid, Result, TypeRef};

impl Binder<'_> {
    /// The queries of WITH, which the level then has.
    pub(super) fn with(&mut self, with: Option<&With>, made: &mut Query) -> Result<()> {
        let Some(with) = with else { return Ok(()) };
        made.recursive = with.recursive;
        for (at, cte) in with.ctes.iter().enumerate() {
            if let Some(again) = with.ctes[at + 1..].iter().find(|other| other.name == cte.name) {
                let text = format!("WITH query name \"{}\" specified more than once", cte.name);
                return Err(Error::new("42712", text).at(again.place));
            }
            made.changes_within |= matches!(cte.body, CteBody::Statement(_));
        }
        if !with.recursive {
            self.level().later = with.ctes.iter().map(|cte| cte.name.clone()).collect();
            for cte in &with.ctes {
                let known = known(cte, false);
                // Its own name is not seen in it.
                let bound = self.cte(cte, None)?;
                self.level().later.remove(0);
                self.check_recursive(cte)?;
                self.add_cte(known, bound)?;
            }
            return Ok(());
        }
        let recursion = Recursion::of(self.tree, &with.ctes)?;
        recursion.check(self.tree)?;
        let order = recursion.order;
        for at in &order {
            let known = known(&with.ctes[*at], recursion.recursive[*at]);
            self.level().ctes.push(known);
        }
        for (place, at) in order.into_iter().enumerate() {
            if recursion.recursive[at] {
                self.level().ctes[place].added = self.added_columns(&with.ctes[at])?;
            }
            let bound = self.cte(&with.ctes[at], Some(place))?;
            self.settle_cte(place, bound, &with.ctes[at])?;
        }
        Ok(())
    }

    fn cte(&mut self, cte: &ast::Cte, place: Option<usize>) -> Result<QueryId> {
        let at = place.filter(|place| self.level_ref().ctes[*place].cte.recursive);
        match &cte.body {
            CteBody::Query(query) => self.query(*query, Around { cte: at, ..Around::default() }),
            CteBody::Statement(of) if matches!(**of, ast::Statement::Merge(_)) => {
                Err(Error::new("0A000", "MERGE not supported in WITH query").at(cte.place))
            }
            CteBody::Statement(statement) => {
                let made = self.statement(statement)?;
                match self.levels.len() - self.around {
                    1 => Ok(made),
                    _ => {
                        let text = "WITH clause containing a data-modifying statement must be at \
                                    the top level";
                        Err(Error::new("0A000", text).at(cte.place))
                    }
                }
            }
        }
    }

    /// A query that was bound is seen from now on.
    fn add_cte(&mut self, mut known: KnownCte, query: QueryId) -> Result<()> {
        known.cte.query = query;
        known.under_way = false;
        self.level().ctes.push(known);
        let at = self.level_ref().ctes.len() - 1;
        self.name_columns(at, query)
    }

    fn name_columns(&mut self, at: usize, query: QueryId) -> Result<()> {
        let names = self.names_of_query(query);
        let types = self.columns_of_query(query);
        let collations = self.collations_of_query(query);
        let of = self.out.query(query);
        let gives_nothing = of.modify.is_some() && of.output().is_empty();
        let level = self.levels.len() - 1;
        self.set_columns(level, at, names, types, collations)?;
        self.level().ctes[at].gives_nothing = gives_nothing;
        Ok(())
    }

    /// The names and types of a query's columns, by what it gives and how it was named.
    fn set_columns(
        &mut self,
        level: usize,
        at: usize,
        names: Vec<Name>,
        mut types: Vec<TypeRef>,
        mut collations: Vec<Oid>,
    ) -> Result<()> {
        let known = &mut self.levels[level].ctes[at];
        let (there, given) = (names.len(), known.cte.aliases.len());
        if there < given {
            let text = format!(
                "WITH query \"{}\" has {there} columns available but {given} columns specified",
                known.cte.name
            );
            return Err(Error::new("42P10", text).at(known.place));
        }
        if known.cte.recursive {
            let columns = types.iter_mut().zip(&mut collations);
            for (ty, collation) in columns.filter(|(ty, _)| ty.oid == oids::UNKNOWN) {
                (*ty, *collation) = (TypeRef::new(oids::TEXT), DEFAULT_COLLATION);
            }
        }
        let rest = names.into_iter().skip(given);
        known.cte.names = known.cte.aliases.iter().cloned().chain(rest).collect();
        known.cte.types = types;
        known.collations = collations;
        Ok(())
    }

    /// The columns of a recursive query, by its first part. Says whether it is one.
    pub(super) fn recursive_columns(
        &mut self,
        cte: usize,
        first: usize,
        types: &[TypeRef],
        collations: &[Oid],
    ) -> Result<bool> {
        let crate::bound::EntryKind::Query(query) = self.level_ref().entries[first - 1].kind else {
            return Ok(false);
        };
        let names = self.names_of_query(query);
        let level = self.levels.len() - 2;
        self.set_columns(level, cte, names, types.to_vec(), collations.to_vec())?;
        Ok(true)
    }

    /// A query of WITH RECURSIVE was bound.
    fn settle_cte(&mut self, at: usize, query: QueryId, written: &ast::Cte) -> Result<()> {
        let known = &mut self.level().ctes[at];
        known.cte.query = query;
        known.under_way = false;
        if !known.cte.recursive {
            self.check_recursive(written)?;
            return self.name_columns(at, query);
        }
        let wanted: Vec<(TypeRef, Oid)> =
            known.cte.types.iter().copied().zip(known.collations.iter().copied()).collect();
        let targets: Vec<_> =
            self.out.query(query).targets.iter().filter(|t| !t.hidden).cloned().collect();
        for (number, (target, (wanted, collation))) in targets.iter().zip(wanted).enumerate() {
            let ty = self.out.ty(target.value);
            if ty != wanted {
                let (one, other) = (self.shown_type(wanted), self.shown_type(ty));
                let text = format!(
                    "recursive query \"{}\" column {} has type {one} in non-recursive term but \
                     type {other} overall",
                    written.name,
                    number + 1
                );
                let hint = "Cast the output of the non-recursive term to the correct type.";
                return Err(Error::new("42804", text).hint(hint)).at(self.start_of(target.value));
            }
            let own = self.out.collation(target.value).unwrap_or(0);
            if own != collation {
                let text = format!(
                    "recursive query \"{}\" column {} has collation \"{}\" in non-recursive term \
                     but collation \"{}\" overall",
                    written.name,
                    number + 1,
                    collation_name(collation),
                    collation_name(own)
                );
                let hint = "Use the COLLATE clause to set the collation of the non-recursive term.";
                return Err(Error::new("42P21", text).hint(hint)).at(self.start_of(target.value));
            }
        }
        self.search_and_cycle(at, query, written)
    }
}

fn known(cte: &ast::Cte, recursive: bool) -> KnownCte {
    let kind = match cte.materialized {
        None => CteKind::Default,
        Some(true) => CteKind::Materialized,
        Some(false) => CteKind::Inline,
    };
    let cte_made = Cte {
        name: cte.name.clone(),
        aliases: cte.columns.clone(),
        kind,
        query: QueryId::PENDING,
        recursive,
        references: 0,
        names: Vec::new(),
        types: Vec::new(),
        search: None,
        cycle: None,
    };
    let added = Vec::new();
    KnownCte {
        cte: cte_made,
        under_way: true,
        collations: Vec::new(),
        added,
        gives_nothing: false,
        place: cte.place,
    }
}
