//! What does a running PostgreSQL answer to a case?

use std::collections::HashMap;
use std::io;

use super::{Case, Construct, MADE, TYPES, column, tree};
use crate::described::{Describer, Description};

/// A PostgreSQL with the types and columns that cases name.
#[derive(Debug)]
pub struct Judge {
    describer: Describer,
    known: HashMap<u32, u32>,
}

impl Judge {
    /// Statements that make the types and columns.
    pub fn setup() -> String {
        let made: Vec<_> = MADE.iter().map(|(_, _, sql)| format!("{sql};\n")).collect();
        let columns: Vec<_> = TYPES.iter().map(|t| format!("{} {t}", &column(t)[2..])).collect();
        let columns = columns.join(", ");
        format!("{}create table t ({columns}); create table a ({columns});", made.concat())
    }

    /// Asks the server at a port, which has carried out [`Judge::setup`]; `oids` are what it calls the types of
    /// [`MADE`] and, each behind it, its array type.
    ///
    /// # Errors
    /// The server is not there.
    pub fn new(port: u16, oids: &[u32]) -> io::Result<Judge> {
        let ours = MADE.iter().flat_map(|(_, oid, _)| [*oid, *oid + 1]);
        let known = oids.iter().copied().zip(ours).collect();
        Ok(Judge { describer: Describer::connect(port)?, known })
    }

    /// The query that gives the OIDs for [`Judge::new`], one per line.
    pub fn oids() -> String {
        let names: Vec<_> =
            MADE.iter().enumerate().map(|(i, (n, ..))| format!("({i}, '{n}')")).collect();
        format!(
            "select unnest(array[t.oid, t.typarray]) from (values {}) v(i, n), pg_type t \
             where t.typname = v.n order by v.i",
            names.join(",")
        )
    }

    /// Describes statements.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn describe(&mut self, cases: &[Case]) -> io::Result<Vec<Description>> {
        self.describer.describe(&cases.iter().map(Case::sql).collect::<Vec<_>>())
    }

    /// What it answers in short: type and tree, or `E` and the SQLSTATE.
    pub fn short(&self, case: &Case, answer: &Description) -> String {
        if let Some(refusal) = &answer.error {
            return format!("E{}", refusal.state);
        }
        let name = |oid: u32| self.known.get(&oid).copied().unwrap_or(oid);
        let tree = match case {
            Case::Common(Construct::Union | Construct::Values, _) => String::new(),
            // Which operator, not what the list is made of.
            Case::In(..) => {
                let tree = tree::short(&answer.tree, &name);
                tree.split('(').next().unwrap_or("").to_owned()
            }
            _ => tree::short(&answer.tree, &name),
        };
        match answer.columns.first() {
            None => tree,
            Some((oid, -1)) => format!("{} {tree}", name(*oid)),
            Some((oid, modifier)) => format!("{}/{modifier} {tree}", name(*oid)),
        }
    }
}
