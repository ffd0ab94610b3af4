//! How does a qualified name become a name of the engine?
//!
//! `public` of the database `postgres` is where programs that embed the engine create their tables, so
//! names there stay as they are: `t`. Other schemas stand before the name, `s.t`, and other databases
//! before that, `d/s.t`. A dot, slash or percent sign in a part is written as `%2E`, `%2F`, `%25`.

/// The database that is there from the first start.
pub const DEFAULT_DATABASE: &str = "postgres";
/// The schema that is there in every database.
pub const PUBLIC: &str = "public";

/// What a statement calls the schema of its session's temporary objects.
pub const TEMPORARY: &str = "pg_temp";

/// The schema of a session's temporary objects.
pub fn temporary(pid: i32) -> String {
    format!("{TEMPORARY}_{pid}")
}

/// The session whose temporary objects are in a schema.
pub fn temporary_of(schema: &str) -> Option<i32> {
    schema.strip_prefix(TEMPORARY)?.strip_prefix('_')?.parse().ok()
}

/// What stands for a schema among names that transactions hold; no relation has such a name.
pub fn of_schema(database: &str, schema: &str) -> String {
    format!("//{}/{}", escape(database), escape(schema))
}

/// A name with its schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The schema.
    pub schema: String,
    /// The object.
    pub name: String,
}

impl Name {
    /// A name in a schema.
    pub fn new(schema: impl Into<String>, name: impl Into<String>) -> Name {
        Name { schema: schema.into(), name: name.into() }
    }

    /// Whether it is of something that ends with its session.
    pub fn is_temporary(&self) -> bool {
        temporary_of(&self.schema).is_some()
    }

    /// The engine's name.
    pub fn engine(&self, database: &str) -> String {
        match (database, self.schema.as_str()) {
            (DEFAULT_DATABASE, PUBLIC) => escape(&self.name),
            (DEFAULT_DATABASE, schema) => format!("{}.{}", escape(schema), escape(&self.name)),
            (database, schema) => {
                format!("{}/{}.{}", escape(database), escape(schema), escape(&self.name))
            }
        }
    }

    /// Database and name of an engine's name.
    pub fn of_engine(name: &str) -> (String, Name) {
        let (database, rest) = match name.split_once('/') {
            Some((database, rest)) => (unescape(database), rest),
            None => (DEFAULT_DATABASE.to_string(), name),
        };
        let (schema, name) = match rest.split_once('.') {
            Some((schema, name)) => (unescape(schema), name),
            None => (PUBLIC.to_string(), rest),
        };
        (database, Name { schema, name: unescape(name) })
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

fn escape(part: &str) -> String {
    part.replace('%', "%25").replace('.', "%2E").replace('/', "%2F")
}

fn unescape(part: &str) -> String {
    part.replace("%2F", "/").replace("%2E", ".").replace("%25", "%")
}

/// An identifier as SQL text has it, quoted where it must be.
pub fn quote(ident: &str) -> String {
    onlap_pg::print::name(ident).into_owned()
}
