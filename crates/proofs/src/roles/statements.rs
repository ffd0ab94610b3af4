//! What do roles try?
//!
//! A grammar of statements over few names, so that they meet: what exists is drawn more often than what does not.
//! Statements are drawn from a seed and a [`World`] alone.

use onlap_base::Rng;

use super::POSTGRES;
use super::world::{Kind, UNSPENT, World, bare, schema_of};

/// Names of roles.
const ROLES: [&str; 7] = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus"];
/// Names of schemas next to `public`.
const SCHEMAS: [&str; 3] = ["north", "south", "west"];
/// Names of relations, before the ending of their kind.
const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
/// Columns of tables; views have the first.
const COLUMNS: [&str; 3] = ["a", "b", "c"];
const TABLE_RIGHTS: [&str; 8] =
    ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "ALL"];
const COLUMN_RIGHTS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "REFERENCES"];

/// DROP OWNED, as postgres: to others PostgreSQL refuses it where a grant is not theirs to take away, and what it
/// says then depends on the order of its dependencies.
const DROP_OWNED: &str = "RESET SESSION AUTHORIZATION; RESET ROLE; DROP OWNED BY";

/// A statement and what is known of it.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Who runs it.
    pub role: String,
    /// Its text.
    pub sql: String,
    /// Its rows have to be the same.
    pub rows: bool,
    /// Sessions have to begin anew when it is done: a role has gone or has another name.
    pub disconnects: bool,
    /// Which names come and go.
    pub effect: Effect,
}

/// Which names a statement makes, changes or drops.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say what each is; two names are from and to")]
pub enum Effect {
    None,
    Begin(usize),
    End { commit: bool },
    Role(String),
    NoRole(String),
    RoleNamed(String, String),
    Schema(String),
    NoSchema(String),
    Relation(Kind, String),
    NoRelation(String),
    RelationNamed(String, String),
}

/// What postgres makes before the first statement.
pub fn first(world: &mut World) -> Vec<String> {
    let mut texts = Vec::new();
    let mut make = |sql: String, effect: Effect| {
        let drawn = Drawn { role: POSTGRES.into(), sql, rows: false, disconnects: false, effect };
        world.note(&drawn, true);
        texts.push(drawn.sql);
    };
    make(format!("CREATE TABLE {UNSPENT} (a int)"), Effect::None);
    for (at, role) in ROLES.iter().take(5).enumerate() {
        let option = ["", " NOINHERIT", " CREATEROLE", "", " CREATEDB"][at];
        make(format!("CREATE ROLE {role} LOGIN{option}"), Effect::Role((*role).into()));
    }
    make("GRANT CREATE ON SCHEMA public TO ada".into(), Effect::None);
    make("GRANT CREATE ON DATABASE postgres TO bob".into(), Effect::None);
    for (schema, owner) in [("north", "ada"), ("south", "bob")] {
        let sql = format!("CREATE SCHEMA {schema} AUTHORIZATION {owner}");
        make(sql, Effect::Schema(schema.into()));
        make(format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO PUBLIC"), Effect::None);
    }
    texts
}

/// Draws the next statement.
pub fn draw(rng: &mut Rng, world: &mut World) -> Drawn {
    let turn = world.turn();
    let mut draw = Draw { rng, world };
    if let Some((role, ends)) = turn {
        if ends {
            let commit = draw.rng.chance(0.5);
            let sql = if commit { "COMMIT" } else { "ROLLBACK" };
            return Drawn {
                role,
                sql: sql.into(),
                rows: false,
                // Roles may have gone.
                disconnects: commit,
                effect: Effect::End { commit },
            };
        }
        let mut drawn = draw.statement();
        if drawn.sql.starts_with(DROP_OWNED) {
            drawn.sql = "RESET ROLE".into();
        }
        drawn.role = role;
        // Sessions of others begin anew at the commit.
        drawn.disconnects = false;
        return drawn;
    }
    if draw.rng.chance(0.03) {
        let (role, statements) = (draw.actor(), 3 + draw.rng.index(5));
        let effect = Effect::Begin(statements);
        return Drawn { role, sql: "BEGIN".into(), rows: false, disconnects: false, effect };
    }
    draw.statement()
}

struct Draw<'a> {
    rng: &'a mut Rng,
    world: &'a World,
}

impl Draw<'_> {
    fn one_of(&mut self, words: &[&str]) -> String {
        (*self.rng.pick(words)).to_string()
    }

    fn actor(&mut self) -> String {
        match self.world.roles() {
            roles if !roles.is_empty() && !self.rng.chance(0.12) => {
                self.rng.pick(roles).to_string()
            }
            _ => POSTGRES.into(),
        }
    }

    fn role(&mut self) -> String {
        match self.world.roles() {
            roles if !roles.is_empty() && !self.rng.chance(0.03) => {
                self.rng.pick(roles).to_string()
            }
            _ => self.one_of(&ROLES),
        }
    }

    fn grantee(&mut self) -> String {
        if self.rng.chance(0.15) { "PUBLIC".into() } else { self.role() }
    }

    fn schema(&mut self) -> String {
        match self.world.schemas() {
            schemas if !schemas.is_empty() && !self.rng.chance(0.15) => {
                self.rng.pick(schemas).to_string()
            }
            _ => "public".into(),
        }
    }

    /// A relation of a kind that exists, or a name without one.
    fn existing(&mut self, kind: Kind) -> String {
        let known = self.world.relations(kind);
        match known.is_empty() || self.rng.chance(0.03) {
            true => format!("{}.nowhere", self.schema()),
            false => (*self.rng.pick(&known)).clone(),
        }
    }

    /// A name for something new; it may be taken. Kinds have endings of their own, so that a statement does not
    /// meet another kind under a name: what it does then is no matter of rights.
    fn fresh(&mut self, kind: Kind) -> String {
        format!("{}.{}", self.schema(), self.bare(kind))
    }

    fn bare(&mut self, kind: Kind) -> String {
        let ending = match kind {
            Kind::Table => "",
            Kind::View => "_v",
            Kind::Sequence => "_q",
            Kind::Index => "_i",
        };
        format!("{}{ending}", self.one_of(&NAMES))
    }

    fn readable(&mut self) -> String {
        let kind = if self.rng.chance(0.35) { Kind::View } else { Kind::Table };
        self.existing(kind)
    }

    fn column(&mut self) -> String {
        self.one_of(&COLUMNS)
    }

    fn number(&mut self) -> u64 {
        self.rng.below(6)
    }

    fn statement(&mut self) -> Drawn {
        let mut role = self.actor();
        let (sql, effect) = match self.rng.below(100) {
            0..20 => (self.read(), Effect::None),
            20..40 => (self.write(), Effect::None),
            40..45 => (self.numbers(), Effect::None),
            45..65 => (self.grant(), Effect::None),
            65..70 => (self.membership(), Effect::None),
            70..79 => self.create(),
            79..84 => self.drop(),
            84..93 => self.alter(),
            93..97 => self.roles(),
            _ => (self.session(), Effect::None),
        };
        if sql.starts_with(DROP_OWNED) {
            role = POSTGRES.into();
        }
        let reads = sql.starts_with("SELECT") && !sql.contains("val(");
        let names_roles = matches!(effect, Effect::NoRole(_) | Effect::RoleNamed(..));
        Drawn { role, rows: reads, disconnects: names_roles, effect, sql }
    }

    fn read(&mut self) -> String {
        let (from, column) = (self.readable(), self.column());
        let other = self.readable();
        match self.rng.below(10) {
            0 => format!("SELECT * FROM {from}"),
            1 => format!("SELECT count(*) FROM {from}"),
            2 => format!("SELECT a FROM {from} WHERE {column} = 1"),
            3 => format!("SELECT x.a FROM {from} x JOIN {other} y ON x.a = y.a"),
            4 => format!("SELECT a FROM {from} WHERE a IN (SELECT a FROM {other})"),
            5 => format!("SELECT 1 FROM {from} LIMIT 1"),
            6 => format!("SELECT max({column}) FROM {from}"),
            7 => format!("SELECT a FROM {} WHERE a = 1 FOR UPDATE", self.existing(Kind::Table)),
            _ => format!("SELECT {column} FROM {from}"),
        }
    }

    fn write(&mut self) -> String {
        let (table, other) = (self.existing(Kind::Table), self.readable());
        let (column, n) = (self.column(), self.number());
        match self.rng.below(16) {
            0..3 => format!("INSERT INTO {table} (a, b) VALUES ({n}, 1) ON CONFLICT DO NOTHING"),
            3 => format!("INSERT INTO {table} (a) VALUES ({n}) ON CONFLICT (a) DO NOTHING"),
            4 => format!(
                "INSERT INTO {table} (a, b) VALUES ({n}, 1) ON CONFLICT (a) DO UPDATE SET {column} = 2"
            ),
            5 => {
                format!("INSERT INTO {table} (a) VALUES ({}) RETURNING {column}", 100 + n)
            }
            6 => {
                format!("INSERT INTO {table} (a) SELECT a + 10 FROM {other} ON CONFLICT DO NOTHING")
            }
            7 => format!("UPDATE {table} SET b = 3"),
            8 => format!("UPDATE {table} SET b = {n} WHERE a = 1"),
            9 => format!("UPDATE {table} SET c = {column} WHERE b = 1"),
            10 => format!("UPDATE {table} SET b = 4 RETURNING {column}"),
            11 => format!("UPDATE {table} SET c = 5 FROM {other} y WHERE y.a = {}.a", bare(&table)),
            12 => format!("DELETE FROM {table}"),
            13 => format!("DELETE FROM {table} WHERE {column} = {n}"),
            14 => format!("DELETE FROM {table} WHERE a = {n} RETURNING a"),
            _ => format!("TRUNCATE {table}"),
        }
    }

    fn numbers(&mut self) -> String {
        let sequence = self.existing(Kind::Sequence);
        match self.rng.below(3) {
            0 => format!("SELECT setval('{sequence}', 7)"),
            _ => format!("SELECT nextval('{sequence}')"),
        }
    }

    fn grant(&mut self) -> String {
        let grants = self.rng.chance(0.62);
        let what = match self.rng.below(12) {
            0..4 => {
                let rights = self.one_of(&TABLE_RIGHTS);
                format!("{rights} ON {}", self.readable())
            }
            4..6 => format!("SELECT, UPDATE ON {}", self.existing(Kind::Table)),
            6..8 => {
                let (right, column) = (self.one_of(&COLUMN_RIGHTS), self.column());
                format!("{right} ({column}) ON {}", self.existing(Kind::Table))
            }
            8 => {
                let right = self.one_of(&["USAGE", "SELECT", "UPDATE", "ALL"]);
                format!("{right} ON SEQUENCE {}", self.existing(Kind::Sequence))
            }
            9 => format!("SELECT ON ALL TABLES IN SCHEMA {}", self.schema()),
            _ => {
                let right = self.one_of(&["USAGE", "CREATE", "ALL"]);
                format!("{right} ON SCHEMA {}", self.schema())
            }
        };
        let grantee = self.grantee();
        let option = self.rng.chance(0.25);
        if self.rng.chance(0.06) && !what.contains('(') && what.contains("TABLES") {
            let what = what.split(" IN ").next().unwrap_or(&what).replace("ALL TABLES", "TABLES");
            let schema = self.schema();
            let verb = if grants { "GRANT" } else { "REVOKE" };
            let to = if grants { "TO" } else { "FROM" };
            return format!(
                "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} {verb} {what} {to} {grantee}"
            );
        }
        match (grants, option) {
            (true, true) if grantee != "PUBLIC" => {
                format!("GRANT {what} TO {grantee} WITH GRANT OPTION")
            }
            (true, _) => format!("GRANT {what} TO {grantee}"),
            (false, true) => format!("REVOKE GRANT OPTION FOR {what} FROM {grantee} CASCADE"),
            (false, false) => {
                let cascade = if self.rng.chance(0.6) { " CASCADE" } else { "" };
                format!("REVOKE {what} FROM {grantee}{cascade}")
            }
        }
    }

    fn membership(&mut self) -> String {
        let (group, member) = (self.role(), self.role());
        match self.rng.below(6) {
            0 => format!("GRANT {group} TO {member} WITH ADMIN OPTION"),
            1..4 => format!("GRANT {group} TO {member}"),
            4 => format!("REVOKE ADMIN OPTION FOR {group} FROM {member}"),
            _ => format!("REVOKE {group} FROM {member}"),
        }
    }

    fn create(&mut self) -> (String, Effect) {
        let name = self.fresh(Kind::Table);
        match self.rng.below(14) {
            0..5 => (
                format!("CREATE TABLE {name} (a int PRIMARY KEY, b int, c int)"),
                Effect::Relation(Kind::Table, name),
            ),
            5..8 => {
                let name = self.fresh(Kind::View);
                let sql = format!("CREATE VIEW {name} AS SELECT a FROM {}", self.readable());
                (sql, Effect::Relation(Kind::View, name))
            }
            8 => {
                let known = self.world.relations(Kind::View);
                let view = match known.is_empty() {
                    true => self.fresh(Kind::View),
                    false => (*self.rng.pick(&known)).clone(),
                };
                let sql = format!(
                    "CREATE OR REPLACE VIEW {view} AS SELECT a FROM {}",
                    self.existing(Kind::Table)
                );
                (sql, Effect::Relation(Kind::View, view))
            }
            9 => {
                let name = self.fresh(Kind::Sequence);
                (format!("CREATE SEQUENCE {name}"), Effect::Relation(Kind::Sequence, name))
            }
            10 => {
                let table = self.existing(Kind::Table);
                let index = format!("{}.{}", schema_of(&table), self.bare(Kind::Index));
                let sql = format!("CREATE INDEX {} ON {table} (b)", bare(&index));
                (sql, Effect::Relation(Kind::Index, index))
            }
            11 => {
                // It goes at once: PostgreSQL looks at both ends with their owners' rights when rows change, and
                // refuses the change where an owner has revoked its own.
                let parent = self.existing(Kind::Table);
                let sql =
                    format!("CREATE TABLE {name} (a int REFERENCES {parent}); DROP TABLE {name}");
                (sql, Effect::None)
            }
            12 => {
                let sql = format!(
                    "CREATE TABLE {name} AS SELECT a, a AS b, a AS c FROM {}",
                    self.readable()
                );
                (sql, Effect::Relation(Kind::Table, name))
            }
            _ => {
                let schema = self.one_of(&SCHEMAS);
                let sql = match self.rng.chance(0.3) {
                    true => format!("CREATE SCHEMA {schema} AUTHORIZATION {}", self.role()),
                    false => format!("CREATE SCHEMA {schema}"),
                };
                (sql, Effect::Schema(schema))
            }
        }
    }

    fn drop(&mut self) -> (String, Effect) {
        let cascade = if self.rng.chance(0.5) { " CASCADE" } else { "" };
        let (word, kind) = match self.rng.below(9) {
            0..3 => ("TABLE", Kind::Table),
            3..5 => ("VIEW", Kind::View),
            5 => ("SEQUENCE", Kind::Sequence),
            6 => ("INDEX", Kind::Index),
            _ => {
                let schema = self.schema();
                if schema == "public" {
                    return self.create();
                }
                return (format!("DROP SCHEMA {schema}{cascade}"), Effect::NoSchema(schema));
            }
        };
        let name = self.existing(kind);
        (format!("DROP {word} {name}{cascade}"), Effect::NoRelation(name))
    }

    fn alter(&mut self) -> (String, Effect) {
        let (word, kind) = *self.rng.pick(&[
            ("TABLE", Kind::Table),
            ("TABLE", Kind::Table),
            ("VIEW", Kind::View),
            ("SEQUENCE", Kind::Sequence),
        ]);
        let name = self.existing(kind);
        match self.rng.below(12) {
            0..3 => (format!("ALTER {word} {name} OWNER TO {}", self.role()), Effect::None),
            // Sequences keep their names and schemas: that is not served.
            3..5 if kind != Kind::Sequence => {
                let to = self.bare(kind);
                let whole = format!("{}.{to}", schema_of(&name));
                (format!("ALTER {word} {name} RENAME TO {to}"), Effect::RelationNamed(name, whole))
            }
            5 if kind != Kind::Sequence => {
                let schema = self.schema();
                let whole = format!("{schema}.{}", bare(&name));
                (
                    format!("ALTER {word} {name} SET SCHEMA {schema}"),
                    Effect::RelationNamed(name, whole),
                )
            }
            6 => {
                let table = self.existing(Kind::Table);
                (format!("ALTER TABLE {table} ALTER COLUMN b SET DEFAULT 9"), Effect::None)
            }
            7 => {
                let table = self.existing(Kind::Table);
                (format!("COMMENT ON TABLE {table} IS 'said'"), Effect::None)
            }
            // The schema public stays: dropping it is not served, and DROP OWNED would.
            8 => {
                let schema = self.one_of(&SCHEMAS);
                (format!("ALTER SCHEMA {schema} OWNER TO {}", self.role()), Effect::None)
            }
            9 | 10 => {
                let sequence = self.existing(Kind::Sequence);
                (format!("ALTER SEQUENCE {sequence} INCREMENT BY 2"), Effect::None)
            }
            _ => {
                let index = self.existing(Kind::Index);
                let to = self.bare(Kind::Index);
                let whole = format!("{}.{to}", schema_of(&index));
                (format!("ALTER INDEX {index} RENAME TO {to}"), Effect::RelationNamed(index, whole))
            }
        }
    }

    fn roles(&mut self) -> (String, Effect) {
        let (role, other) = (self.role(), self.one_of(&ROLES));
        match self.rng.below(12) {
            0..3 => {
                let options = ["", " NOINHERIT", " CREATEROLE", " SUPERUSER", " CREATEDB"];
                let option = self.one_of(&options);
                (format!("CREATE ROLE {other} LOGIN{option}"), Effect::Role(other))
            }
            3..5 => (format!("DROP ROLE {role}"), Effect::NoRole(role)),
            5..7 => {
                (format!("ALTER ROLE {role} RENAME TO {other}"), Effect::RoleNamed(role, other))
            }
            7 => (format!("{DROP_OWNED} {role} CASCADE"), Effect::None),
            8 => (format!("REASSIGN OWNED BY {role} TO {other}"), Effect::None),
            _ => {
                let options = [
                    "NOINHERIT",
                    "INHERIT",
                    "CREATEROLE",
                    "NOCREATEROLE",
                    "NOSUPERUSER",
                    "NOSUPERUSER",
                    "SUPERUSER",
                    "PASSWORD NULL",
                    "CREATEDB",
                ];
                (format!("ALTER ROLE {role} {}", self.one_of(&options)), Effect::None)
            }
        }
    }

    fn session(&mut self) -> String {
        let role = self.role();
        match self.rng.below(8) {
            0..3 => format!("SET ROLE {role}"),
            3..6 => "RESET ROLE".into(),
            6 => format!("SET SESSION AUTHORIZATION {role}"),
            _ => "RESET SESSION AUTHORIZATION".into(),
        }
    }
}
