//! Which roles are there, and what is kept of one?

use serde_json::{Value as Json, json};

use super::objects::Object;
use super::oids;

/// Roles that every database has, by OID: none may connect, and none may be changed.
pub const PREDEFINED: &[(u32, &str)] = &[
    (oids::PG_DATABASE_OWNER, "pg_database_owner"),
    (oids::PG_READ_ALL_DATA, "pg_read_all_data"),
    (oids::PG_WRITE_ALL_DATA, "pg_write_all_data"),
    (oids::PG_MONITOR, "pg_monitor"),
    (oids::PG_READ_ALL_SETTINGS, "pg_read_all_settings"),
    (oids::PG_READ_ALL_STATS, "pg_read_all_stats"),
    (oids::PG_STAT_SCAN_TABLES, "pg_stat_scan_tables"),
    (oids::PG_SIGNAL_BACKEND, "pg_signal_backend"),
    (oids::PG_CHECKPOINT, "pg_checkpoint"),
];

/// Which of them is in which: role, member.
pub const PREDEFINED_MEMBERS: &[(u32, u32)] = &[
    (oids::PG_READ_ALL_SETTINGS, oids::PG_MONITOR),
    (oids::PG_READ_ALL_STATS, oids::PG_MONITOR),
    (oids::PG_STAT_SCAN_TABLES, oids::PG_MONITOR),
];

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its OID.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// May do everything.
    pub superuser: bool,
    /// May connect.
    pub login: bool,
    /// May create databases.
    pub createdb: bool,
    /// May create roles.
    pub createrole: bool,
    /// Has the rights of the roles it is in, without SET ROLE.
    pub inherit: bool,
    /// Is asked for no policies of tables.
    pub bypassrls: bool,
    /// SCRAM-SHA-256 verifier of its password.
    pub verifier: Option<String>,
}

impl Role {
    /// The role that is there from the first start.
    pub fn postgres() -> Role {
        Role {
            oid: oids::POSTGRES,
            name: "postgres".into(),
            superuser: true,
            login: true,
            createdb: true,
            createrole: true,
            inherit: true,
            bypassrls: true,
            verifier: None,
        }
    }

    /// One of [`PREDEFINED`].
    pub fn predefined(oid: u32, name: &str) -> Role {
        Role {
            oid,
            name: name.into(),
            superuser: false,
            login: false,
            createdb: false,
            createrole: false,
            inherit: true,
            bypassrls: false,
            verifier: None,
        }
    }

    /// Whether it came with the database.
    pub fn is_builtin(&self) -> bool {
        self.oid < oids::FIRST_OWN
    }

    /// Reads an object.
    pub fn of(name: &str, object: &Object) -> Role {
        let flag = |word: &str| object.body[word].as_bool().unwrap_or(false);
        let oid = match name {
            "postgres" => oids::POSTGRES,
            _ => oids::of_object(object.number),
        };
        Role {
            oid,
            name: name.to_string(),
            superuser: flag("superuser"),
            login: flag("login"),
            createdb: flag("createdb"),
            createrole: flag("createrole"),
            inherit: object.body["inherit"].as_bool().unwrap_or(true),
            bypassrls: object.body["bypassrls"].as_bool().unwrap_or(name == "postgres"),
            verifier: object.body["verifier"].as_str().map(str::to_string),
        }
    }

    /// What is kept of it.
    pub fn body(&self) -> Json {
        json!({
            "superuser": self.superuser,
            "login": self.login,
            "createdb": self.createdb,
            "createrole": self.createrole,
            "inherit": self.inherit,
            "bypassrls": self.bypassrls,
            "verifier": self.verifier,
        })
    }
}
