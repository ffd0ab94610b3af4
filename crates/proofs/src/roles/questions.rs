//! What do the systems say about rights?
//!
//! Queries whose answers have to be the same in both: they name roles and objects, never OIDs.

use super::world::{Kind, UNSPENT, World};

/// All questions about a world.
pub fn all(world: &World) -> Vec<String> {
    let roles = "pg_roles r WHERE r.rolname NOT LIKE 'pg\\_%'";
    let mut relations: Vec<&str> =
        world.all_relations().iter().filter(|r| r.0 != Kind::Index).map(|r| r.1.as_str()).collect();
    relations.push(UNSPENT);
    let names = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("('{name}')")).collect();
        quoted.join(", ")
    };
    let ours = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";
    let exploded = |names: &str, list: &str, from: &str| {
        format!(
            "SELECT nspname, {}, pg_get_userbyid((x).grantor), pg_get_userbyid((x).grantee), (x).privilege_type, \
             (x).is_grantable FROM (SELECT {names}, aclexplode({list}) AS x FROM {from} WHERE {ours}) AS s",
            if names.contains("AS name") { "name" } else { "relname" }
        )
    };
    let cross = |function: &str, objects: &[&str], privileges: &[&str]| {
        format!(
            "SELECT rolname, o, p, {function}(rolname, o, p) FROM (VALUES {}) AS a(o), (VALUES {}) AS b(p), {roles} \
             AND to_regclass(o) IS NOT NULL",
            names(objects),
            names(privileges)
        )
    };
    let mut schemas: Vec<&str> = world.schemas().iter().map(String::as_str).collect();
    schemas.push("public");
    let sequences = world.relations(Kind::Sequence);
    let mut all = vec![
        cross(
            "has_table_privilege",
            &relations,
            &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"],
        ),
        cross("has_any_column_privilege", &relations, &["SELECT", "UPDATE"]),
        cross("has_table_privilege", &relations, &["SELECT WITH GRANT OPTION"]),
        format!(
            "SELECT rolname, o, p, has_schema_privilege(rolname, o, p) FROM (VALUES {}) AS a(o), \
             (VALUES ('USAGE'), ('CREATE')) AS b(p), {roles} AND to_regnamespace(o) IS NOT NULL",
            names(&schemas)
        ),
        "SELECT r.rolname, g.rolname, p, pg_has_role(r.rolname, g.rolname, p) FROM pg_roles r, pg_roles g, (VALUES \
         ('MEMBER'), ('USAGE')) AS b(p) WHERE r.rolname NOT LIKE 'pg\\_%' AND g.rolname NOT LIKE 'pg\\_%'"
            .to_string(),
        "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin FROM pg_roles WHERE rolname \
         NOT LIKE 'pg\\_%'"
            .to_string(),
        "SELECT m.rolname, g.rolname, a.admin_option FROM pg_auth_members a JOIN pg_roles m ON m.oid = a.member JOIN \
         pg_roles g ON g.oid = a.roleid WHERE m.rolname NOT LIKE 'pg\\_%'"
            .to_string(),
        format!(
            "SELECT n.nspname, c.relname, c.relkind, pg_get_userbyid(c.relowner) FROM pg_class c JOIN pg_namespace n \
             ON n.oid = c.relnamespace WHERE {ours} AND c.relkind IN ('r', 'v', 'S')"
        ),
        exploded("n.nspname, c.relname", "coalesce(c.relacl, CASE c.relkind WHEN 'S' THEN acldefault('s', c.relowner) ELSE acldefault('r', c.relowner) END)", "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"),
        exploded("n.nspname, n.nspname AS name", "coalesce(n.nspacl, acldefault('n', n.nspowner))", "pg_namespace n"),
        exploded(
            "n.nspname, c.relname || '.' || attname AS name",
            "a.attacl",
            "pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace",
        ),
    ];
    if !sequences.is_empty() {
        let sequences: Vec<&str> = sequences.into_iter().map(String::as_str).collect();
        all.push(cross("has_sequence_privilege", &sequences, &["USAGE", "SELECT", "UPDATE"]));
    }
    all
}
