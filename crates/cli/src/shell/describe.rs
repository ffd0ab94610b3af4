//! With which statements are tables described?

/// Statements behind a command without its backslash; `None` where it is none.
pub(super) fn statements(command: &str, name: &str) -> Option<Vec<String>> {
    let name = name.trim_end_matches(';');
    Some(match command.trim_end_matches(['+', 'S']) {
        "d" if !name.is_empty() => one(name),
        "d" => vec![relations("'r','p','v','S','i'", name)],
        "dt" => vec![relations("'r','p'", name)],
        "di" => vec![indexes(name)],
        "dv" => vec![relations("'v','m'", name)],
        "ds" => vec![relations("'S'", name)],
        "dn" => vec![
            "SELECT n.nspname AS \"Schema\", pg_catalog.pg_get_userbyid(n.nspowner) AS \"Owner\" \
             FROM pg_catalog.pg_namespace n \
             WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' ORDER BY 1"
                .to_string(),
        ],
        "du" | "dg" => vec![
            "SELECT rolname AS \"Role\", rolsuper AS \"Superuser\", rolcanlogin AS \"Login\" \
             FROM pg_catalog.pg_roles ORDER BY 1"
                .to_string(),
        ],
        "l" => vec![
            "SELECT datname AS \"Database\", pg_catalog.pg_get_userbyid(datdba) AS \"Owner\" \
             FROM pg_catalog.pg_database ORDER BY 1"
                .to_string(),
        ],
        _ => return None,
    })
}

/// What each index cost, and what it was good for.
pub(super) fn ledger(name: &str, for_programs: bool) -> String {
    let of = match name {
        "" => String::new(),
        name => format!(" WHERE {0} IN (table_name, index_name)", literal(name)),
    };
    let order = "ORDER BY schema_name, table_name, index_name";
    if for_programs {
        return format!("SELECT * FROM onlap_stat.indexes{of} {order}");
    }
    format!(
        "SELECT table_name AS \"Table\", index_name AS \"Index\", \
         pg_catalog.round(cpu_ns_per_row) AS \"CPU ns/row\", \
         pg_catalog.round(bytes_per_row::numeric, 1) AS \"Bytes/row\", \
         pg_catalog.pg_size_pretty(bytes_on_disk) AS \"On disk\", \
         pg_catalog.round((merge_share * 100)::numeric, 1) AS \"Merges %\", scans AS \"Scans\", \
         entries_read AS \"Entries read\", rows_not_read AS \"Rows not read\", \
         last_use AS \"Last use\", advice AS \"Advice\" \
         FROM onlap_stat.indexes{of} {order}"
    )
}

/// Indexes that are not needed, and those that are missing.
pub(super) fn advice(name: &str, for_programs: bool) -> String {
    let of = match name {
        "" => String::new(),
        name => format!(
            " WHERE {0} IN (table_name, index_name) OR table_name LIKE '%.' || {0}",
            literal(name)
        ),
    };
    let order = "ORDER BY saved_ms DESC NULLS LAST, table_name, index_name";
    if for_programs {
        return format!("SELECT * FROM onlap.advise(){of} {order}");
    }
    format!(
        "SELECT kind AS \"Kind\", sql AS \"SQL\", \
         pg_catalog.pg_size_pretty(bytes_on_disk) AS \"On disk\", \
         pg_catalog.round(cpu_ns_per_insert) AS \"CPU ns/row\", \
         pg_catalog.round(saved_ms::numeric, 1) AS \"Saves ms\", reason AS \"Because\" \
         FROM onlap.advise(){of} {order}"
    )
}

fn relations(kinds: &str, name: &str) -> String {
    format!(
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", CASE c.relkind WHEN 'r' THEN 'table' \
         WHEN 'p' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'view' WHEN 'S' THEN 'sequence' \
         WHEN 'i' THEN 'index' ELSE 'other' END AS \"Type\", \
         pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\" FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ({kinds}) AND {} \
         ORDER BY 1, 2",
        named(name)
    )
}

fn indexes(name: &str) -> String {
    format!(
        "SELECT n.nspname AS \"Schema\", t.relname AS \"Table\", c.relname AS \"Name\", \
         pg_catalog.pg_get_indexdef(i.indexrelid) AS \"Definition\" FROM pg_catalog.pg_index i \
         JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
         JOIN pg_catalog.pg_class t ON t.oid = i.indrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE {} ORDER BY 1, 2, 3",
        named(name)
    )
}

fn one(name: &str) -> Vec<String> {
    let table = format!("{}::regclass", literal(name));
    vec![
        format!(
            "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\", \
             CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"Nullable\", \
             pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS \"Default\" FROM pg_catalog.pg_attribute a \
             LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attrelid = {table} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
        ),
        format!(
            "SELECT c.relname AS \"Index\", pg_catalog.pg_get_indexdef(i.indexrelid) AS \"Definition\" \
             FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             WHERE i.indrelid = {table} ORDER BY 1"
        ),
        format!(
            "SELECT conname AS \"Constraint\", pg_catalog.pg_get_constraintdef(oid) AS \"Definition\" \
             FROM pg_catalog.pg_constraint WHERE conrelid = {table} ORDER BY 1"
        ),
    ]
}

/// Of the user's own, or like a name in which `*` stands for anything.
fn named(name: &str) -> String {
    match name {
        "" => "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')".to_string(),
        _ => {
            let (schema, name) = name.split_once('.').unwrap_or(("*", name));
            let like = |text: &str| literal(&text.replace('_', "\\_").replace('*', "%"));
            format!("c.relname LIKE {} AND n.nspname LIKE {}", like(name), like(schema))
        }
    }
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
