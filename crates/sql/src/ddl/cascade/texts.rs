//! Which kept texts name something?
//!
//! Where it is asked for a few things, texts that may name them are bound each time. Where it is asked often, all are bound once.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use super::Object;
use super::uses::Edge;
use crate::catalog::oids;
use crate::ddl::kept::{self, Used, Wanted};
use crate::error::Result;
use crate::view::View;

/// What a question costs for which texts are taken apart.
pub const DEAR: u32 = 16;
/// From this sum on all texts are bound at once.
const OFTEN: u32 = 128;

/// What texts name.
#[derive(Default)]
pub struct Texts {
    asked: Cell<u32>,
    all: OnceCell<All>,
}

/// What all of them name of what databases made.
#[derive(Default)]
struct All {
    users: HashMap<u32, Vec<(Object, u32)>>,
    unbound: Vec<Used>,
}

impl All {
    fn of(view: &View) -> Result<All> {
        let wanted = Wanted { may: &|_, _| true, is: &|oid| oid >= oids::FIRST_OWN };
        let mut all = All::default();
        for used in kept::users(view, &wanted)? {
            for oid in &used.oids {
                let users = all.users.entry(*oid).or_default();
                users.push((used.user.clone(), used.order));
            }
            if used.oids.is_empty() {
                all.unbound.push(used);
            }
        }
        Ok(all)
    }
}

impl Texts {
    /// What has a text that names something; which texts may, and what it costs to ask for it.
    ///
    /// # Errors
    /// The transaction has ended; `57014`.
    pub fn naming(
        &self,
        view: &View,
        oid: u32,
        (may, price): (&dyn Fn(&str, bool) -> bool, u32),
    ) -> Result<Vec<Edge>> {
        if price == 0 {
            return Ok(Vec::new());
        }
        self.asked.set(self.asked.get().saturating_add(price));
        if self.asked.get() < OFTEN {
            let wanted = Wanted { may, is: &|named| named == oid };
            return Ok(kept::users(view, &wanted)?.into_iter().map(Edge::from).collect());
        }
        if self.all.get().is_none() {
            let _ = self.all.set(All::of(view)?);
        }
        let Some(all) = self.all.get() else { return Ok(Vec::new()) };
        let users = all.users.get(&oid).into_iter().flatten();
        let mut found: Vec<Edge> =
            users.map(|(user, order)| Edge::to(user.clone(), *order)).collect();
        let named = |used: &&Used| used.unbound.iter().any(|(text, is)| may(text, *is));
        let unbound = all.unbound.iter().filter(named);
        found.extend(unbound.map(|used| Edge::to(used.user.clone(), used.order)));
        Ok(found)
    }
}
