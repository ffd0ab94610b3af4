//! Who may do what?

use serde_json::{Value as Json, json};

use super::objects::Object;

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
    /// SCRAM-SHA-256 verifier of its password.
    pub verifier: Option<String>,
}

impl Role {
    /// The role that is there from the first start.
    pub fn postgres() -> Role {
        Role {
            oid: super::oids::POSTGRES,
            name: "postgres".into(),
            superuser: true,
            login: true,
            createdb: true,
            createrole: true,
            verifier: None,
        }
    }

    /// Reads an object.
    pub fn of(name: &str, object: &Object) -> Role {
        let flag = |word: &str| object.body[word].as_bool().unwrap_or(false);
        let oid = match name {
            "postgres" => super::oids::POSTGRES,
            _ => super::oids::of_object(object.number),
        };
        Role {
            oid,
            name: name.to_string(),
            superuser: flag("superuser"),
            login: flag("login"),
            createdb: flag("createdb"),
            createrole: flag("createrole"),
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
            "verifier": self.verifier,
        })
    }
}
