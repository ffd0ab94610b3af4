//! What do the catalogs say of policies?

use onlap_pg::print::Look;

use super::model::{Model, Relation};
use super::rows::{Datum, Rows};
use crate::catalog::policies::{self as kept, Policy, Text};
use crate::query::Printed;
use crate::row;
use crate::view::View;

/// OID of pg_policy.
pub const PG_POLICY: u32 = 3256;

fn of_database<'a>(view: &'a View, model: &'a Model) -> Vec<(Policy<'a>, &'a Relation)> {
    let with = |policy: Policy<'a>| Some((policy, model.relation(policy.relation)?));
    let mut all: Vec<_> = kept::all(&view.objects).filter_map(with).collect();
    all.sort_by_key(|(policy, _)| policy.oid());
    all
}

/// The rows of pg_policy.
pub fn policies(view: &View, model: &Model) -> Rows {
    let mut rows =
        Rows::of("oid polname polrelid polcmd polpermissive polroles polqual polwithcheck");
    let printed = Printed::new(view, model);
    for (of, relation) in of_database(view, model) {
        let roles: Vec<i64> = of.roles().into_iter().map(i64::from).collect();
        let text = |said: Option<Text<'_>>| said.map(|said| printed.policy(&of, said, Look::PLAIN));
        rows.push(row![
            of.oid(),
            of.name,
            relation.oid,
            of.command,
            of.permissive,
            roles,
            text(of.using),
            text(of.check),
        ]);
    }
    rows
}

/// The rows of pg_policies.
pub fn listed(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("schemaname tablename policyname permissive roles cmd qual with_check");
    let printed = Printed::new(view, model);
    let rights = view.judge.rights();
    let role = |oid: u32| match oid {
        kept::PUBLIC => "public".to_string(),
        oid => rights.name_of(oid),
    };
    for (of, relation) in of_database(view, model) {
        let mut roles: Vec<String> = of.roles().into_iter().map(role).collect();
        roles.sort();
        let text = |said: Option<Text<'_>>| said.map(|said| printed.policy(&of, said, Look::PLAIN));
        let command = match of.command {
            "r" => "SELECT",
            "a" => "INSERT",
            "w" => "UPDATE",
            "d" => "DELETE",
            _ => "ALL",
        };
        rows.push(row![
            &relation.name.schema,
            &relation.name.name,
            of.name,
            if of.permissive { "PERMISSIVE" } else { "RESTRICTIVE" },
            Datum::Texts(roles),
            command,
            text(of.using),
            text(of.check),
        ]);
    }
    rows
}
