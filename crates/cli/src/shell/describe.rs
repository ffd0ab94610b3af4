//! With which statements are tables and all else described?
//!
//! psql's commands, each with a statement about the catalogs: lists of a kind of objects ([`families`]), and what there is to say of one
//! relation ([`relation`]). What PostgreSQL has and Onlap has not gives lists without rows.
//!
//! Pure functions.

pub(super) use families::commands;

mod families;
mod relation;
#[cfg(test)]
mod tests;
/// Statements behind a command without its backslash; `None` where it is none.
pub(super) fn statements(command: &str, name: &str) -> Option<Vec<String>> {
    let name = name.trim().trim_end_matches(';').trim_end();
    match command {
        "sf" | "sf+" => return Some(vec![definition("pg_get_functiondef", "regproc", name)]),
        "sv" | "sv+" => return Some(vec![definition("pg_get_viewdef", "regclass", name)]),
        "z" => return listed("dp", "", name).map(|sql| vec![sql]),
        _ => {}
    }
    let base = command.trim_end_matches(['+', 'S']);
    let marks = &command[base.len()..];
    if base == "d" && !name.is_empty() && !name.contains(['*', '?']) {
        return Some(relation::one(name));
    }
    listed(base, marks, name).map(|sql| vec![sql])
}

/// The list of a family: which kinds, whether the system's too, and what is like a pattern.
fn listed(command: &str, marks: &str, pattern: &str) -> Option<String> {
    let of = families::find(command)?;
    let (schema, name) = of.named;
    let mut conditions: Vec<String> = Vec::new();
    if !of.only.is_empty() {
        conditions.push(of.only.to_string());
    }
    // Of operators of families and the like the second word narrows it further; the shell looks at the first.
    let pattern = pattern.split_whitespace().next().unwrap_or("");
    if pattern.is_empty() {
        if !of.own.is_empty() && !marks.contains('S') {
            conditions.push(of.own.to_string());
        }
    } else {
        let (of_schema, of_name) = patterns(pattern);
        conditions.push(format!("{name}::text OPERATOR(pg_catalog.~) {}", literal(&of_name)));
        if let Some(of_schema) = of_schema.filter(|_| !schema.is_empty()) {
            let like = literal(&of_schema);
            conditions.push(format!("{schema}::text OPERATOR(pg_catalog.~) {like}"));
        }
    }
    let more = if marks.contains('+') { of.more } else { "" };
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    Some(format!("SELECT {}{more} FROM {}{condition} ORDER BY {}", of.columns, of.from, of.order))
}

/// What a pattern means as regular expressions, of the schema where one is named and of the name: `*` and `?` stand for anything and
/// for a character, quotes keep what is in them, and all else is written as it is folded.
fn patterns(pattern: &str) -> (Option<String>, String) {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    let mut characters = pattern.chars().peekable();
    while let Some(c) = characters.next() {
        let part = parts.last_mut().expect("there is one");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '*' if !quoted => part.push_str(".*"),
            '?' if !quoted => part.push('.'),
            '.' if !quoted => parts.push(String::new()),
            c if c.is_alphanumeric() || c == '_' => match quoted {
                true => part.push(c),
                false => part.extend(c.to_lowercase()),
            },
            c => part.extend(['\\', c]),
        }
    }
    let whole = |part: String| format!("^({part})$");
    let name = parts.pop().expect("there is one");
    (parts.pop().map(whole), whole(name))
}

/// The text that makes a function or a view.
fn definition(function: &str, kind: &str, name: &str) -> String {
    format!("SELECT pg_catalog.{function}({}::pg_catalog.{kind}) AS \"Definition\"", literal(name))
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
            " WHERE {0} IN (table_name, index_name) OR table_name LIKE '%.' || {0} \
             OR kind = 'unfinished'",
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

/// A text as SQL has it, whatever the session's settings say of backslashes.
pub(super) fn literal(text: &str) -> String {
    let text = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!(" E'{}'", text.replace('\\', "\\\\")),
        false => format!("'{text}'"),
    }
}
