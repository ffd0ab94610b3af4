//! How do indexes, constraints and defaults read as SQL?
//!
//! As PostgreSQL prints them: clients compare these texts, and pg_dump writes them out.

use onlap::expr::{Comparison, Function, Operation};
use onlap::{
    Action, ColumnDefault, ColumnId, ColumnSchema, DataType, Expr, ForeignKeySchema, IndexSchema,
    TableSchema, Time, Value, convert,
};

use onlap_kernels::gin::Class;
use onlap_pg::bound::collation_name;
use onlap_pg::catalog::Catalog;
use onlap_pg::print::Look;

use super::model::{Model, index_name};
use crate::catalog::names::quote;
use crate::catalog::storage::{KEYS, Storage};
use crate::catalog::{Kind, oids};
use crate::ddl::generated;
use crate::formulas::{self, Shown};
use crate::types::names;
use crate::view::View;

/// A column's name in SQL.
pub fn column_name(table: &TableSchema, id: ColumnId) -> String {
    let found = table.columns.iter().find(|column| column.id == id);
    found.map_or_else(String::new, |column| quote(&column.name))
}

/// A part of an index's key in SQL.
fn key_part(table: &TableSchema, id: ColumnId, look: Look, shown: Shown<'_>) -> String {
    let Some(derived) = table.derived(id) else { return column_name(table, id) };
    let program = formulas::program_of(derived);
    let printed = program.and_then(|of| of.element(&names_of(table), look, shown));
    printed.unwrap_or_else(|_| derived.column.name.clone())
}

/// What is kept of an index of gin; `None` of other indexes.
pub fn gin(table: &TableSchema, index: &IndexSchema) -> Option<formulas::Program> {
    let part = index.key.first().filter(|_| index.multi_entry)?;
    formulas::program_of(table.derived(part.column)?).ok()
}

/// An operator class, with its schema where its name alone does not mean it.
pub fn class_name(class: Class, catalog: &Catalog) -> String {
    let name = crate::ddl::gin::name_of(class);
    match catalog.created(class.oid()).filter(|created| !created.seen) {
        Some(created) => format!("{}.{name}", quote(&created.schema)),
        None => name.to_string(),
    }
}

/// How an index of gin goes on behind ON: the method, the key, what WITH says.
fn gin_key(table: &TableSchema, index: &IndexSchema, key: &str, catalog: &Catalog) -> String {
    let Some(formulas::Gin { class, options, .. }) = gin(table, index).and_then(|of| of.gin) else {
        return format!("USING gin ({key})");
    };
    let mut text = match class {
        Class::Arrays | Class::Documents | Class::Words => format!("USING gin ({key})"),
        class => format!("USING gin ({key} {})", class_name(class, catalog)),
    };
    if !options.is_empty() {
        let all = options.iter().map(|(name, value)| format!("{}={}", quote(name), option(value)));
        text += &format!(" WITH ({})", all.collect::<Vec<_>>().join(", "));
    }
    text
}

/// As PostgreSQL writes the value of an option: as a word if it can be one.
fn option(value: &str) -> String {
    match quote(value) == value {
        true => value.to_string(),
        false => format!("'{}'", value.replace('\'', "''")),
    }
}

/// What a derived column is, without the parentheses of a key.
pub fn derived(table: &TableSchema, id: ColumnId, look: Look, shown: Shown<'_>) -> Option<String> {
    let program = formulas::program_of(table.derived(id)?).ok()?;
    program.print(&names_of(table), look, shown).ok()
}

/// The names of a table's columns, not quoted.
fn names_of(table: &TableSchema) -> impl Fn(u32) -> Option<String> + '_ {
    |id| table.columns.iter().find(|c| c.id.0 == id).map(|c| c.name.clone())
}

/// Column names in SQL, with commas.
pub fn column_list(table: &TableSchema, ids: impl IntoIterator<Item = ColumnId>) -> String {
    ids.into_iter().map(|id| column_name(table, id)).collect::<Vec<_>>().join(", ")
}

/// One column of an index, of those in the order in which they were declared.
pub fn index_column(
    table: &TableSchema,
    index: &IndexSchema,
    at: usize,
    (look, storage): (Look, &Storage),
    shown: Shown<'_>,
) -> Option<String> {
    let id = match storage.order(index.key.len()).get(at) {
        Some(at) => index.key[*at].column,
        None => *index.include.get(at - index.key.len())?,
    };
    Some(key_part(table, id, look, shown))
}

/// CREATE INDEX.
pub fn index(
    table: &TableSchema,
    index: &IndexSchema,
    on: &str,
    (look, storage): (Look, &Storage),
    shown: Shown<'_>,
) -> String {
    let unique = if index.is_unique() { "UNIQUE " } else { "" };
    let key = elements(table, index, (look, storage), shown);
    let name = quote(&index_name(table, index));
    let rest = match index.multi_entry {
        false => format!("USING {} ({})", method_of(storage), key.join(", ")),
        true => gin_key(table, index, &key.join(", "), shown.catalog),
    };
    let mut text = format!("CREATE {unique}INDEX {name} ON {on} {rest}");
    if !index.include.is_empty() {
        text += &format!(" INCLUDE ({})", column_list(table, index.include.iter().copied()));
    }
    if index.nulls_equal() {
        text += " NULLS NOT DISTINCT";
    }
    text += &with(storage);
    if let Some(condition) = index.filter.and_then(|id| derived(table, id, look, shown)) {
        text += &format!(" WHERE {condition}");
    }
    text
}

/// What PostgreSQL calls the kind of an index that has an order.
pub fn method_of(storage: &Storage) -> &str {
    storage.declared.as_ref().map_or("btree", |of| &of.method)
}

/// The parts of an index's key in the order in which they were declared.
fn elements(
    table: &TableSchema,
    index: &IndexSchema,
    (look, storage): (Look, &Storage),
    shown: Shown<'_>,
) -> Vec<String> {
    let class = |at: usize| {
        let declared = storage.declared.iter().flat_map(|of| &of.parts);
        let class = declared.filter(|part| part.at == at).find_map(|part| part.class.as_ref());
        class.map(|class| format!(" {class}"))
    };
    let element = |at: usize| {
        let part = &index.key[at];
        let descending = if part.descending { " DESC" } else { "" };
        let nulls = match (storage.nulls.contains(&at), part.descending) {
            (true, true) => " NULLS LAST",
            (true, false) => " NULLS FIRST",
            _ => "",
        };
        let said = storage.collation(at).filter(|part| part.said);
        let collate = said.map(|part| format!(" COLLATE {}", quote(collation_name(part.oid))));
        let part = key_part(table, part.column, look, shown);
        let (collate, class) = (collate.unwrap_or_default(), class(at).unwrap_or_default());
        format!("{part}{collate}{class}{descending}{nulls}")
    };
    storage.order(index.key.len()).into_iter().map(element).collect()
}

/// What WITH says of an index.
fn with(storage: &Storage) -> String {
    let is_known = |said: &&String| said.split_once('=').is_none_or(|(name, _)| name != KEYS);
    let options: Vec<&String> = storage.options.iter().filter(is_known).collect();
    if options.is_empty() {
        return String::new();
    }
    let written = |said: &String| {
        let (name, value) = said.split_once('=').unwrap_or((said, ""));
        format!("{}={}", quote(name), option(value))
    };
    let all: Vec<String> = options.into_iter().map(written).collect();
    format!(" WITH ({})", all.join(", "))
}

/// The exclusion constraint that an index is of.
pub fn exclusion(
    table: &TableSchema,
    index: &IndexSchema,
    (look, storage): (Look, &Storage),
    shown: Shown<'_>,
) -> String {
    let operators = storage.declared.iter().flat_map(|of| &of.parts).map(|part| {
        let found = shown.catalog.operator(part.operator);
        let name = found.map_or("=", |operator| operator.name);
        let created = shown.catalog.created(part.operator).filter(|created| !created.seen);
        created.map_or(name.to_string(), |of| format!("OPERATOR({}.{name})", quote(&of.schema)))
    });
    let parts = elements(table, index, (look, storage), shown).into_iter().zip(operators);
    let parts: Vec<String> = parts.map(|(part, with)| format!("{part} WITH {with}")).collect();
    let mut text = format!("EXCLUDE USING {} ({})", method_of(storage), parts.join(", "));
    if !index.include.is_empty() {
        text += &format!(" INCLUDE ({})", column_list(table, index.include.iter().copied()));
    }
    text += &with(storage);
    if let Some(condition) = index.filter.and_then(|id| derived(table, id, look, shown)) {
        text += &format!(" WHERE ({condition})");
    }
    text + time(index.time())
}

/// When a constraint is judged.
fn time(time: Time) -> &'static str {
    match time {
        Time::Statement => "",
        Time::Deferrable => " DEFERRABLE",
        Time::Deferred => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// The constraint that a primary key or unique index stands for.
pub fn key(table: &TableSchema, index: &IndexSchema) -> String {
    let word = match (index.is_primary(), index.nulls_equal()) {
        (true, _) => "PRIMARY KEY",
        (false, false) => "UNIQUE",
        (false, true) => "UNIQUE NULLS NOT DISTINCT",
    };
    let columns = column_list(table, index.key.iter().map(|k| k.column));
    let mut text = format!("{word} ({columns})");
    if !index.include.is_empty() {
        text += &format!(" INCLUDE ({})", column_list(table, index.include.iter().copied()));
    }
    text + time(index.time())
}

/// A foreign key.
pub fn foreign_key(model: &Model, table: &TableSchema, key: &ForeignKeySchema) -> String {
    let columns = column_list(table, key.columns.iter().copied());
    let parent = model.relation(oids::of_table(key.parent));
    let (name, parent_columns) = match parent.and_then(|p| Some((p, p.table()?))) {
        Some((relation, parent)) => {
            let index = parent.indexes.iter().find(|i| i.id == key.parent_index);
            let ids = index.into_iter().flat_map(|i| i.key.iter().map(|k| k.column));
            (model.display(relation), column_list(parent, ids))
        }
        None => (String::new(), String::new()),
    };
    let mut text = format!("FOREIGN KEY ({columns}) REFERENCES {name}({parent_columns})");
    if key.full {
        text += " MATCH FULL";
    }
    for (when, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        match action {
            Action::NoAction => {}
            Action::Restrict => text += &format!(" ON {when} RESTRICT"),
            Action::Cascade => text += &format!(" ON {when} CASCADE"),
            Action::SetNull => text += &format!(" ON {when} SET NULL"),
            Action::SetDefault => text += &format!(" ON {when} SET DEFAULT"),
        }
    }
    if !key.set_columns.is_empty() {
        text += &format!(" ({})", column_list(table, key.set_columns.iter().copied()));
    }
    text += time(key.time);
    if key.unproven {
        text += " NOT VALID";
    }
    text
}

/// A condition as a statement would say it: constants have the type of what they are compared with.
pub fn condition(table: &TableSchema, expr: &Expr) -> String {
    let part = |e: &Expr| condition(table, e);
    let all = |parts: &[Expr], word: &str| {
        let parts: Vec<String> = parts.iter().map(part).collect();
        format!("({})", parts.join(word))
    };
    match expr {
        Expr::Column(id) => column_name(table, *id),
        Expr::Constant(value) => constant(value),
        Expr::Compare(op, a, b) => format!("({} {} {})", part(a), comparison(*op), part(b)),
        Expr::And(parts) => all(parts, " AND "),
        Expr::Or(parts) => all(parts, " OR "),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(e) => format!("({} IS NOT NULL)", part(e)),
            Expr::Between(..) | Expr::In(..) | Expr::Like(..) => ranged(table, inner, "NOT "),
            Expr::Compare(Comparison::Distinct, a, b) => {
                format!("({} IS NOT DISTINCT FROM {})", part(a), part(b))
            }
            e => format!("(NOT {})", part(e)),
        },
        Expr::IsNull(e) => format!("({} IS NULL)", part(e)),
        Expr::Arithmetic(op, a, b) => format!("({} {} {})", part(a), operation(*op), part(b)),
        Expr::Negate(e) => format!("(- {})", part(e)),
        Expr::Between(..) | Expr::In(..) | Expr::Like(..) => ranged(table, expr, ""),
        Expr::Call(function, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(part).collect();
            format!("{}({})", function_name(*function), arguments.join(", "))
        }
        Expr::Formula(program, reads) => written(table, program, reads),
    }
}

/// A formula as it was written, where its columns are called as they were then; what no release wrote is shown as it is kept.
fn written(table: &TableSchema, program: &str, reads: &[ColumnId]) -> String {
    let Ok(kept) = formulas::program(program) else { return program.to_string() };
    let now = |at: u32| Some(column_of(table, *reads.get(at as usize)?)?.name.as_str());
    match kept.columns.iter().all(|(at, then, _)| now(*at) == Some(then)) {
        true => kept.sql,
        false => formula(table, (program, reads), (Look::PLAIN, Shown::to_all(formulas::all()))),
    }
}

/// A formula with the names of now.
pub fn formula(
    table: &TableSchema,
    (program, reads): (&str, &[ColumnId]),
    (look, shown): (Look, Shown<'_>),
) -> String {
    let name = |at: u32| Some(column_of(table, *reads.get(at as usize)?)?.name.clone());
    let kept = formulas::program(program);
    let text = kept.and_then(|kept| kept.print(&name, look, shown));
    text.unwrap_or_else(|_| program.to_string())
}

fn column_of(table: &TableSchema, id: ColumnId) -> Option<&onlap::ColumnSchema> {
    table.columns.iter().find(|column| column.id == id)
}

/// BETWEEN, IN and LIKE, with NOT before the word or without.
fn ranged(table: &TableSchema, expr: &Expr, not: &str) -> String {
    let part = |e: &Expr| condition(table, e);
    match expr {
        Expr::Between(e, low, high) => {
            format!("({} {not}BETWEEN {} AND {})", part(e), part(low), part(high))
        }
        Expr::In(e, list) => {
            let items: Vec<String> = list.iter().map(part).collect();
            format!("({} {not}IN ({}))", part(e), items.join(", "))
        }
        Expr::Like(e, pattern) => {
            format!("({} {not}LIKE {})", part(e), constant(&Value::Text(pattern.clone())))
        }
        other => part(other),
    }
}

/// A value as a literal that says no type.
fn constant(value: &Value) -> String {
    let ty = match value {
        Value::Null => return "NULL".to_string(),
        Value::Bool(b) => return b.to_string(),
        Value::Int(n) => return n.to_string(),
        Value::Text(_) => DataType::Text,
        Value::Float(_) => DataType::Float8,
        Value::Numeric(_) => DataType::Numeric(None),
        Value::Bytes(_) => DataType::Bytea,
        Value::Uuid(_) => DataType::Uuid,
        Value::Date(_) => DataType::Date,
        Value::Time(_) => DataType::Time,
        Value::Timestamp(_) => DataType::Timestamp,
    };
    let mut text = String::new();
    convert::format_text(ty, value, &mut text);
    match value {
        Value::Numeric(_) | Value::Float(_)
            if text
                .bytes()
                .all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'e' | b'+')) =>
        {
            text
        }
        _ => onlap_pg::print::text(&text),
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Distinct => "IS DISTINCT FROM",
    }
}

fn operation(op: Operation) -> &'static str {
    match op {
        Operation::Add => "+",
        Operation::Subtract => "-",
        Operation::Multiply => "*",
        Operation::Divide => "/",
        Operation::Remainder => "%",
    }
}

fn function_name(function: Function) -> &'static str {
    match function {
        Function::Length => "length",
        Function::OctetLength => "octet_length",
        Function::Lower => "lower",
        Function::Upper => "upper",
        Function::Trim => "btrim",
        Function::Abs => "abs",
        Function::Coalesce => "COALESCE",
    }
}

/// A value as SQL text, with its type where the text alone does not say it.
pub fn literal(value: &Value, ty: Option<DataType>) -> String {
    let own = match value {
        Value::Null | Value::Text(_) => DataType::Text,
        Value::Bool(b) => return b.to_string(),
        Value::Int(n) if *n >= 0 => return n.to_string(),
        Value::Int(_) => DataType::Int4,
        Value::Float(_) => DataType::Float8,
        Value::Numeric(_) => DataType::Numeric(None),
        Value::Bytes(_) => DataType::Bytea,
        Value::Uuid(_) => DataType::Uuid,
        Value::Date(_) => DataType::Date,
        Value::Time(_) => DataType::Time,
        Value::Timestamp(_) => DataType::Timestamp,
    };
    let ty = ty.unwrap_or(own);
    // PostgreSQL leaves the length out: 'x'::character varying.
    let name = match ty {
        DataType::Varchar(_) => "character varying".to_string(),
        DataType::Char(_) => "bpchar".to_string(),
        DataType::Numeric(_) => "numeric".to_string(),
        ty => names::of_engine(ty),
    };
    if *value == Value::Null {
        return format!("NULL::{name}");
    }
    let mut text = String::new();
    let printed = if matches!(value, Value::Text(_)) { DataType::Text } else { ty };
    convert::format_text(printed, value, &mut text);
    match value {
        Value::Numeric(_) if !text.starts_with('-') => text,
        _ => format!("'{}'::{name}", text.replace('\'', "''")),
    }
}

/// A default that is cast to its column's type, which a database made, with the name that the type has in the search
/// path: the whole one is kept. `None` of others.
fn shortened(view: &View, table: &TableSchema, column: &ColumnSchema, sql: &str) -> Option<String> {
    let ty = view.objects.column_types().of_table(table.id)?.get(&column.id)?.ty;
    let made = view.objects.made_types();
    let shown = made.shown_to(view, ty.oid)?;
    let value = sql.strip_suffix(&format!("::{}", made.written(ty)))?;
    Some(format!("{value}::{shown}"))
}

/// A column's default.
pub fn default(
    view: &View,
    model: &Model,
    table: &TableSchema,
    column: &ColumnSchema,
) -> Option<String> {
    if let Ok(Some(sql)) = generated::shown(view, table, column.id) {
        return Some(sql);
    }
    let key = format!("{}:{}", table.id.0, column.id.0);
    if let Some(object) = view.objects.get(Kind::Default, &key) {
        let sql = object.body["sql"].as_str().or_else(|| object.body["written"].as_str())?;
        return Some(shortened(view, table, column, sql).unwrap_or_else(|| sql.to_string()));
    }
    if super::classes::identity(view, table, column).is_some() {
        return None;
    }
    kept_default(model, column, column.default.as_ref()?)
}

/// A default that the engine keeps.
pub fn kept_default(
    model: &Model,
    column: &ColumnSchema,
    default: &ColumnDefault,
) -> Option<String> {
    match default {
        ColumnDefault::Constant(value) => Some(literal(value, Some(column.ty))),
        ColumnDefault::NextVal(id) => {
            let name = model.display(model.sequence(*id)?);
            Some(format!("nextval('{}'::regclass)", name.replace('\'', "''")))
        }
    }
}
