//! By which operators are values of a type found equal, and ordered?
//!
//! PostgreSQL asks its default operator classes. These are told from the operators: a class of trees has `<`, `=` and `>`
//! over one type, and its equality can be merged; a class of hashes has an equality that can be hashed.

use super::Binder;
use crate::catalog::{CastContext, CastMethod, Catalog, Kind, oids};
use crate::{Error, Oid, Result};

/// The operators of a type; 0 for one that there is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) less: Oid,
    pub(super) equal: Oid,
    pub(super) greater: Oid,
}

impl Binder<'_> {
    /// The operators of the default classes.
    pub(super) fn orders(&self, oid: Oid) -> Orders {
        let (catalog, base) = (self.catalog, self.catalog.base_type(oid));
        if let Some(own) = declared(catalog, base) {
            return own;
        }
        if let Some(found) = through_cast(catalog, base) {
            return found;
        }
        let any = |of: Oid| declared(catalog, of).unwrap_or_default();
        if let Some(element) = catalog.element(base) {
            let (all, of) = (any(oids::ANYARRAY), self.orders(element));
            return both(all, of);
        }
        match catalog.get_type(base).map(|found| found.kind) {
            Some(Kind::Enum) => any(oids::ANYENUM),
            Some(Kind::Range) => any(oids::ANYRANGE),
            Some(Kind::Multirange) => any(oids::ANYMULTIRANGE),
            Some(Kind::Composite) => self.of_composite(base),
            _ => Orders::default(),
        }
    }

    /// Rows are compared where all their columns are.
    fn of_composite(&self, base: Oid) -> Orders {
        let all = declared(self.catalog, oids::RECORD).unwrap_or_default();
        let Some(of) = self.schema.composite(base) else { return all };
        let columns = of.columns.iter().filter(|column| !column.dropped);
        columns.fold(all, |all, column| both(all, self.orders(column.ty.oid)))
    }

    /// The operators of equality and of an order that goes up, for GROUP BY and its like.
    pub(super) fn group_orders(&self, oid: Oid) -> Result<Orders> {
        let found = self.orders(oid);
        match found.equal {
            0 => Err(no_equality(self.catalog, oid)),
            _ => Ok(found),
        }
    }

    /// The same where an order must be there.
    pub(super) fn sort_orders(&self, oid: Oid) -> Result<Orders> {
        let found = self.orders(oid);
        match found.less == 0 || found.greater == 0 {
            true => Err(no_order(self.catalog, oid)),
            false => Ok(found),
        }
    }

    /// The equality that belongs to an operator that orders, and whether it orders downwards.
    pub(super) fn order_of_operator(&self, operator: Oid) -> Option<(Oid, bool)> {
        let found = self.catalog.operator(operator)?;
        let (equality, down) = match found.name {
            "<" | "~<~" | "#<#" => ("=", false),
            ">" | "~>~" | "#>#" => ("=", true),
            "*<" => ("*=", false),
            "*>" => ("*=", true),
            _ => return None,
        };
        let equal = self.catalog.operator_exact(equality, found.left, found.right)?;
        let lesser = self.catalog.operator_exact("<", found.left, found.right);
        (equal.can_merge || equality == "*=" && lesser.is_some()).then_some((equal.oid, down))
    }
}

fn both(all: Orders, of: Orders) -> Orders {
    let ordered = of.less != 0;
    Orders {
        less: if ordered { all.less } else { 0 },
        equal: if of.equal != 0 { all.equal } else { 0 },
        greater: if ordered { all.greater } else { 0 },
    }
}

/// Operators that are declared over the type itself.
fn declared(catalog: &Catalog, oid: Oid) -> Option<Orders> {
    let of = |name| catalog.operator_exact(name, oid, oid);
    let equal = of("=")?;
    // Those of hstore have names of their own.
    match (of("<").or_else(|| of("#<#")), of(">").or_else(|| of("#>#"))) {
        (Some(less), Some(greater)) if equal.can_merge => {
            Some(Orders { less: less.oid, equal: equal.oid, greater: greater.oid })
        }
        _ if equal.can_hash => Some(Orders { less: 0, equal: equal.oid, greater: 0 }),
        _ => None,
    }
}

/// Operators of a type whose values have the same bits; a preferred type comes first.
fn through_cast(catalog: &Catalog, oid: Oid) -> Option<Orders> {
    let casts = catalog.types().filter_map(|target| {
        let cast = catalog.cast(oid, target.oid)?;
        let plain = cast.method == CastMethod::Binary && cast.context == CastContext::Implicit;
        let found = declared(catalog, target.oid).filter(|_| plain)?;
        Some((target.preferred, found))
    });
    casts.max_by_key(|(preferred, _)| *preferred).map(|(_, found)| found)
}

pub(super) fn no_order(catalog: &Catalog, oid: Oid) -> Error {
    let text = format!("could not identify an ordering operator for type {}", catalog.shown(oid));
    Error::new("42883", text).hint("Use an explicit ordering operator or modify the query.")
}

fn no_equality(catalog: &Catalog, oid: Oid) -> Error {
    let text = format!("could not identify an equality operator for type {}", catalog.shown(oid));
    Error::new("42883", text)
}
