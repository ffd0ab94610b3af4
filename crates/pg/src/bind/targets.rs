//! What does a query give, and under which names?

use super::level::Clause;
use super::{At, Binder};
use crate::ast::{self, Expr as Raw, Name, Path, SqlValue, Step, XmlOp};
use crate::bound::{Expr, ExprId, Target};
use crate::catalog::oids;
use crate::{Error, Result};

/// Columns of a row that is made.
pub(super) const COLUMNS_MAX: usize = 1664;

/// Columns that a star stands for.
pub(super) type Columns = Vec<(Name, ExprId)>;

impl Binder<'_> {
    /// A list of targets, stars in it expanded.
    pub(super) fn targets(&mut self, list: &[ast::Target], clause: Clause) -> Result<Vec<Target>> {
        let mut made = Vec::new();
        let before = std::mem::replace(&mut self.level().clause, clause);
        for target in list {
            // PostgreSQL counts at the end of its analysis; the rest of the list would only take time.
            if made.len() > COLUMNS_MAX && clause != Clause::Returning {
                break;
            }
            if let Some(columns) = self.stars(target.value)? {
                for (name, value) in columns {
                    made.push(self.target(value, Some(name), false));
                }
                continue;
            }
            let value = self.expr(target.value)?;
            let name = match &target.name {
                Some(name) => name.clone(),
                None => self.figured(target.value),
            };
            made.push(self.target(value, Some(name), false));
        }
        self.level().clause = before;
        if made.len() > COLUMNS_MAX {
            let text = match clause {
                Clause::Returning => {
                    format!("number of columns ({}) exceeds limit ({COLUMNS_MAX})", made.len())
                }
                _ => format!("target lists can have at most {COLUMNS_MAX} entries"),
            };
            return Err(Error::new("54011", text));
        }
        Ok(made)
    }

    /// A target with the next number.
    pub(super) fn target(&mut self, value: ExprId, name: Option<Name>, hidden: bool) -> Target {
        let number = self.level().targets;
        self.level().targets += 1;
        Target { value, number, name, reference: 0, hidden }
    }

    /// The columns of `*`, `t.*`, `(row).*`; none where it is another expression.
    pub(super) fn stars(&mut self, id: ast::ExprId) -> Result<Option<Columns>> {
        let tree = self.tree;
        let place = tree.place(id);
        match tree.expr(id) {
            Raw::Star(path) if path.is_empty() => self.all_columns(place).map(Some),
            Raw::Star(path) => {
                if let Some(row) = self.starred_variable(path, place)? {
                    return self.row_columns(row).map(Some);
                }
                let (up, at) = self.starred_item(path, place)?;
                Ok(Some(self.star(up, at, place)))
            }
            Raw::Steps(base, steps) if matches!(steps.last(), Some(Step::Star)) => {
                let value = self.steps(*base, &steps[..steps.len() - 1], place)?;
                self.row_columns(value).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn all_columns(&mut self, place: Option<u32>) -> Result<Columns> {
        let items = &self.level().items;
        let seen: Vec<usize> = (0..items.len()).filter(|at| items[*at].columns_seen).collect();
        if seen.is_empty() {
            let text = "SELECT * with no tables specified is not valid";
            return Err(Error::new("42601", text)).at(place);
        }
        Ok(seen.into_iter().flat_map(|at| self.star(0, at, place)).collect())
    }

    /// The item that stands before a star.
    fn starred_item(&mut self, path: &Path, place: Option<u32>) -> Result<(usize, usize)> {
        let qualifier = match path.len() {
            1 | 2 => &path[..],
            3 => {
                // A database before it, as of a column with four parts.
                let whole: Path = path.iter().cloned().chain(["*".into()]).collect();
                self.check_database(&whole, place)?;
                &path[1..]
            }
            _ => {
                let text = "improper qualified name (too many dotted names): ";
                let text = format!("{text}{}.*", path.join("."));
                return Err(Error::new("42601", text)).at(place);
            }
        };
        match self.item_named(qualifier, place)? {
            Some(found) => Ok(found),
            None => Err(self.missing_relation(qualifier)).at(place),
        }
    }

    /// `t.*` as one value.
    pub(super) fn row_of_star(&mut self, path: &Path, place: Option<u32>) -> Result<ExprId> {
        if let Some(row) = self.starred_variable(path, place)? {
            return Ok(row);
        }
        let (up, at) = self.starred_item(path, place)?;
        Ok(self.whole_row(up, at, place))
    }

    /// The fields of a row that an expression gives.
    fn row_columns(&mut self, value: ExprId) -> Result<Columns> {
        let place = self.out.place(value);
        if let Expr::Var { entry, column: 0, up } = *self.out.expr(value) {
            let level = &self.levels[self.levels.len() - 1 - up as usize];
            let is_it = |item: &super::level::Item| item.entry == entry && !item.merged;
            if let Some(at) = level.items.iter().position(is_it) {
                return Ok(self.star(up as usize, at, place));
            }
        }
        let ty = self.out.ty(value).oid;
        let Some(fields) = self.fields_of(value) else {
            let text = match ty {
                oids::RECORD => "record type has not been registered".into(),
                _ => format!("type {} is not composite", self.catalog.shown(ty)),
            };
            return Err(Error::new("42809", text));
        };
        let mut made = Vec::new();
        for (at, field) in fields.into_iter().enumerate() {
            if field.ty.oid != 0 {
                let one = self.add_field(value, at as i32 + 1, &field, place);
                made.push((field.name, one));
            }
        }
        Ok(made)
    }

    /// The name that a column gets from its expression.
    pub(super) fn figured(&self, id: ast::ExprId) -> Name {
        self.figured_name(id).map_or_else(|| "?column?".into(), |(name, _)| name)
    }

    /// A name, and whether it is better than that of a cast around it.
    pub(super) fn figured_name(&self, id: ast::ExprId) -> Option<(Name, bool)> {
        let strong = |name: &str| Some((Name::from(name), true));
        match self.tree.expr(id) {
            Raw::Column(path) => path.last().map(|name| (name.clone(), true)),
            Raw::Star(path) => path.last().map(|name| (name.clone(), true)),
            Raw::Steps(base, steps) => {
                let fields = steps.iter().rev().filter_map(|step| match step {
                    Step::Field(name) => Some(name.clone()),
                    _ => None,
                });
                match fields.into_iter().next() {
                    Some(name) => Some((name, true)),
                    None => self.figured_name(*base),
                }
            }
            Raw::Call(call) => call.name.last().map(|name| (name.clone(), true)),
            Raw::NullIf(..) => strong("nullif"),
            Raw::Cast(value, ty) => match self.figured_name(*value) {
                Some((name, true)) => Some((name, true)),
                _ => ty.name.last().map(|name| (name.clone(), false)),
            },
            Raw::Collate(value, _) => self.figured_name(*value),
            Raw::Grouping(_) => strong("grouping"),
            Raw::Exists(_) => strong("exists"),
            Raw::ArrayQuery(_) | Raw::Array(_) => strong("array"),
            Raw::Query(_) => {
                let query = self.queries.get(&id)?;
                let name = self.out.query(*query).targets.first()?.name.clone()?;
                Some((name, true))
            }
            Raw::Case(_, _, otherwise) => match otherwise.and_then(|id| self.figured_name(id)) {
                Some((name, true)) => Some((name, true)),
                _ => Some(("case".into(), false)),
            },
            Raw::Row(..) => strong("row"),
            Raw::Coalesce(_) => strong("coalesce"),
            Raw::Greatest(_) => strong("greatest"),
            Raw::Least(_) => strong("least"),
            Raw::SqlValue(value, _) => strong(sql_value_name(*value)),
            Raw::Xml(xml) if xml.op != XmlOp::IsDocument => {
                strong(&xml.op.word().to_ascii_lowercase())
            }
            _ => None,
        }
    }
}

fn sql_value_name(value: SqlValue) -> &'static str {
    match value {
        SqlValue::CurrentDate => "current_date",
        SqlValue::CurrentTime => "current_time",
        SqlValue::CurrentTimestamp => "current_timestamp",
        SqlValue::LocalTime => "localtime",
        SqlValue::LocalTimestamp => "localtimestamp",
        SqlValue::CurrentRole => "current_role",
        SqlValue::CurrentUser => "current_user",
        SqlValue::SessionUser => "session_user",
        SqlValue::User => "user",
        SqlValue::CurrentCatalog => "current_catalog",
        SqlValue::CurrentSchema => "current_schema",
    }
}
