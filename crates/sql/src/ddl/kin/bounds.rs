//! FOR VALUES: which rows does a partition have?

use onlap::{Row, Scan, convert};
use onlap_pg::ast::{Expr, Literal, PartitionBound, Said};
use onlap_pg::resolve::{Context, can_convert};

use super::keys::{name_of, types_of};
use super::{Parent, all_below};
use crate::catalog::extensions;
use crate::catalog::families::{Bound, Divided, Edge, Strategy};
use crate::change::Router;
use crate::columns::print_kept;
use crate::error::{Result, SqlError, state};
use crate::plan::TableHandle;
use crate::query::division::Limit;
use crate::query::family::{division, type_ref};
use crate::query::{self};
use crate::source::Source;
use crate::types::PgType;
use crate::view::View;

/// The bound that a statement says.
///
/// # Errors
/// One that does not go with the table's strategy; values that are none of its keys.
pub fn read(
    view: &View,
    source: Source<'_>,
    said: &PartitionBound,
    parent: &Parent,
    partition: &str,
) -> Result<Bound> {
    let schema = parent.table.schema();
    let families = view.objects.families();
    let divided = families.divided(schema.id).cloned();
    let divided = divided.ok_or_else(|| SqlError::defect("no partitioned table"))?;
    let bad = |text: &str| Err(SqlError::new(state::BAD_DEFINITION, text));
    let of = Reading { view, source, types: types_of(view, &schema, &divided), divided, schema };
    match (said, of.divided.strategy) {
        (PartitionBound::Default, Strategy::Hash) => {
            bad("a hash-partitioned table may not have a default partition")
        }
        (PartitionBound::Default, _) => Ok(Bound::Default),
        (PartitionBound::Hash(modulus, remainder), Strategy::Hash) => hash(*modulus, *remainder),
        (PartitionBound::List(values), Strategy::List) => of.list(values),
        (PartitionBound::Range(from, to), Strategy::Range) => of.range(from, to, partition),
        (_, strategy) => {
            let text = format!("invalid bound specification for a {} partition", strategy.word());
            bad(&text)
        }
    }
}

fn hash(modulus: i32, remainder: i32) -> Result<Bound> {
    let bad = |text: &str| Err(SqlError::new(state::BAD_DEFINITION, text));
    if modulus <= 0 {
        return bad("modulus for hash partition must be an integer value greater than zero");
    }
    if remainder < 0 {
        return bad(
            "remainder for hash partition must be an integer value greater than or equal to zero",
        );
    }
    if remainder >= modulus {
        return bad("remainder for hash partition must be less than modulus");
    }
    Ok(Bound::Hash(modulus as u64, remainder as u64))
}

/// Reads values of bounds.
struct Reading<'a> {
    view: &'a View,
    source: Source<'a>,
    types: Vec<PgType>,
    divided: Divided,
    schema: std::sync::Arc<onlap::TableSchema>,
}

impl Reading<'_> {
    fn list(&self, values: &[Said]) -> Result<Bound> {
        let mut made: Vec<Option<String>> = Vec::with_capacity(values.len());
        for said in values {
            let value = self.value(said, 0)?;
            // What is said twice counts once.
            if !made.contains(&value) {
                made.push(value);
            }
        }
        Ok(Bound::List(made))
    }

    fn range(&self, from: &[Said], to: &[Said], partition: &str) -> Result<Bound> {
        let bad = |text: &str| Err(SqlError::new(state::BAD_DEFINITION, text));
        if from.len() != self.types.len() {
            return bad("FROM must specify exactly one value per partitioning column");
        }
        if to.len() != self.types.len() {
            return bad("TO must specify exactly one value per partitioning column");
        }
        let (from, to) = (self.edges(from)?, self.edges(to)?);
        let parent = TableHandle::new(self.view, self.table()?);
        let division = division(self.view, &parent)?.expect("it is partitioned");
        let catalog = self.view.objects.made_types().catalog();
        let (lower, upper): (Vec<Limit>, Vec<Limit>) =
            (division.limits(catalog, &from)?, division.limits(catalog, &to)?);
        if lower >= upper {
            let text = format!("empty range bound specified for partition \"{partition}\"");
            let detail = format!(
                "Specified lower bound {} is greater than or equal to upper bound {}.",
                shown(&from, &self.types),
                shown(&to, &self.types)
            );
            return Err(SqlError::new("42P17", text).detail(detail));
        }
        Ok(Bound::Range(from, to))
    }

    fn table(&self) -> Result<onlap::Table> {
        Ok(self.view.scope.tx()?.table(&self.schema.name)?)
    }

    fn edges(&self, said: &[Said]) -> Result<Vec<Edge>> {
        let mut made: Vec<Edge> = Vec::with_capacity(said.len());
        for (at, said) in said.iter().enumerate() {
            let edge = match self.source.tree.expr(said.expr) {
                Expr::Column(path) if path.len() == 1 && &*path[0] == "minvalue" => Edge::Min,
                Expr::Column(path) if path.len() == 1 && &*path[0] == "maxvalue" => Edge::Max,
                _ => match self.value(said, at)? {
                    Some(text) => Edge::Value(text),
                    None => {
                        let text = "cannot specify NULL in range bound";
                        return Err(SqlError::new("42P17", text));
                    }
                },
            };
            let wrong = |word: &str| {
                let text = format!("every bound following {word} must also be {word}");
                Err(SqlError::new(state::MISMATCH, text))
            };
            match made.last() {
                Some(Edge::Min) if edge != Edge::Min => return wrong("MINVALUE"),
                Some(Edge::Max) if edge != Edge::Max => return wrong("MAXVALUE"),
                _ => made.push(edge),
            }
        }
        Ok(made)
    }

    /// A value as it is kept; `None` for NULL.
    fn value(&self, said: &Said, at: usize) -> Result<Option<String>> {
        if let Expr::Column(_) = self.source.tree.expr(said.expr) {
            let text = "cannot use column reference in partition bound expression";
            return Err(self.source.at(SqlError::new(state::UNSUPPORTED, text), said.span.start));
        }
        let ty = self.types[at];
        let catalog = self.view.objects.made_types().catalog();
        let written = self.source.of(said.span);
        let bound = self.bound(&format!("SELECT {written}"))?;
        let given = bound.tree().0.columns(bound.tree().1)[0].1;
        let is_open = matches!(
            self.source.tree.expr(said.expr),
            Expr::Literal(Literal::Text(_) | Literal::Null)
        );
        if !is_open && !can_convert(catalog, given.oid, ty.oid, Context::Assignment) {
            let shown = catalog.shown_with(type_ref(ty));
            let name = name_of(&self.schema, &self.divided.keys[at]);
            let text =
                format!("specified value cannot be cast to type {shown} for column \"{name}\"");
            return Err(self.source.at(SqlError::new(state::MISMATCH, text), said.span.start));
        }
        let name = extensions::written(self.view, ty);
        let text = format!("SELECT ({written})::{name}");
        let bound = self.bound(&text)?;
        let mut batches = bound.batches(self.view, &text)?;
        let Some(batch) = batches.next()? else {
            return Err(SqlError::defect("a bound has no value"));
        };
        let repr = onlap_kernels::repr(catalog, ty.oid)
            .ok_or_else(|| SqlError::unsupported("a bound of this type"))?;
        let value = onlap_kernels::Datum::at(batch.column(0), repr, 0);
        if value.is_null() {
            return Ok(None);
        }
        print_kept(catalog, type_ref(ty), &value).map(Some)
    }

    fn bound(&self, text: &str) -> Result<query::Bound> {
        let bound = query::Bound::must(self.view, text, crate::parse::depth_of(text), &[])
            .map_err(SqlError::nowhere)?;
        let (tree, id) = bound.tree();
        let made = tree.query(id);
        let wrong = |state: &'static str, text: &str| Err(SqlError::new(state, text));
        if made.has_subqueries {
            return wrong("0A000", "cannot use subquery in partition bound");
        }
        if made.has_aggregates {
            return wrong("42803", "aggregate functions are not allowed in partition bound");
        }
        if made.has_windows {
            return wrong("42P20", "window functions are not allowed in partition bound");
        }
        if made.has_sets {
            return wrong("0A000", "set-returning functions are not allowed in partition bound");
        }
        Ok(bound)
    }
}

/// Edges as messages and catalogs show them.
pub fn shown(edges: &[Edge], types: &[PgType]) -> String {
    let one = |(edge, ty): (&Edge, &PgType)| match edge {
        Edge::Min => "MINVALUE".to_string(),
        Edge::Max => "MAXVALUE".to_string(),
        Edge::Value(text) => crate::system::partitions::literal(*ty, text),
    };
    format!("({})", edges.iter().zip(types).map(one).collect::<Vec<_>>().join(", "))
}

/// Fails where a new partition would share rows with another.
///
/// # Errors
/// `42P17`.
pub fn check_overlap(view: &View, parent: &Parent, bound: &Bound, partition: &str) -> Result<()> {
    let handle = TableHandle::new(view, parent.table.clone());
    let division = division(view, &handle)?.expect("it is partitioned");
    let catalog = view.objects.made_types().catalog();
    let name = |at: usize| -> Result<String> {
        let id = division.parts()[at];
        let below = all_below(view, parent.table.schema().id)?;
        let found = below.iter().find(|table| table.schema().id == id);
        Ok(found.map_or_else(String::new, |table| super::name_of(table).name))
    };
    if let Bound::Hash(modulus, _) = bound {
        check_modulus(&division, *modulus, &name)?;
    }
    let Some(at) = division.overlaps(catalog, bound)? else { return Ok(()) };
    let other = name(at)?;
    let text = match bound {
        Bound::Default => {
            format!(
                "partition \"{partition}\" conflicts with existing default partition \"{other}\""
            )
        }
        _ => format!("partition \"{partition}\" would overlap partition \"{other}\""),
    };
    Err(SqlError::new("42P17", text))
}

fn check_modulus(
    division: &query::division::Division,
    modulus: u64,
    name: &dyn Fn(usize) -> Result<String>,
) -> Result<()> {
    let text = "every hash partition modulus must be a factor of the next larger modulus";
    let moduli: Vec<(u64, usize)> = division.moduli().collect();
    let below = moduli.iter().rev().find(|(known, _)| *known < modulus);
    let above = moduli.iter().find(|(known, _)| *known >= modulus);
    if let Some((known, at)) = below
        && !modulus.is_multiple_of(*known)
    {
        let detail = format!(
            "The new modulus {modulus} is not divisible by {known}, the modulus of existing \
             partition \"{}\".",
            name(*at)?
        );
        return Err(SqlError::new("42P17", text).detail(detail));
    }
    if let Some((known, at)) = above
        && !known.is_multiple_of(modulus)
    {
        let detail = format!(
            "The new modulus {modulus} is not a factor of {known}, the modulus of existing \
             partition \"{}\".",
            name(*at)?
        );
        return Err(SqlError::new("42P17", text).detail(detail));
    }
    Ok(())
}

/// Fails where a default partition has rows that a new partition is to have; `view` knows the new one, which was made or attached.
///
/// # Errors
/// `23514`.
pub fn judge_default(view: &View, parent: &Parent, made: bool) -> Result<()> {
    let handle = TableHandle::new(view, parent.table.clone());
    let division = division(view, &handle)?.expect("it is partitioned");
    let Some(id) = division.default() else { return Ok(()) };
    let tables = query::family::by_id(view)?;
    let Some(table) = tables.get(&id) else { return Ok(()) };
    let Some(found) = stranger(view, table)? else { return Ok(()) };
    // Where a partition is made PostgreSQL names the default one, and where one is attached the table that has the row.
    let name = super::name_of(if made { table } else { &found });
    let text = format!(
        "updated partition constraint for default partition \"{}\" would be violated by some row",
        name.name
    );
    Err(SqlError::new("23514", text).about_table(&name.schema, &name.name))
}

/// A partition, or one below it, that has a row that the partition may not have.
///
/// # Errors
/// Those of key expressions and of reading.
pub fn stranger(view: &View, table: &onlap::Table) -> Result<Option<onlap::Table>> {
    let target = TableHandle::new(view, table.clone());
    let Some(mut routes) = Router::of(view, &target)? else { return Ok(None) };
    let mut tables = all_below(view, target.schema.id)?;
    tables.push(table.clone());
    for table in tables {
        let schema = table.schema();
        let place = |column: &onlap::ColumnSchema| schema.position_by_name(&column.name);
        let places: Vec<Option<usize>> = target.schema.columns.iter().map(place).collect();
        let mut rows = view.scope.tx()?.scan(&table, Scan::all())?;
        while let Some(batch) = rows.next().transpose()? {
            view.scope.go_on()?;
            let value = |row: usize, place: &Option<usize>| match place {
                Some(at) => {
                    convert::read_value(schema.columns[*at].ty, &batch.columns.columns[*at], row)
                }
                None => onlap::Value::Null,
            };
            let row = |row: usize| -> Row { places.iter().map(|at| value(row, at)).collect() };
            let rows: Vec<Row> = (0..batch.len()).map(row).collect();
            if !routes.belong(&rows)? {
                return Ok(Some(table));
            }
        }
    }
    Ok(None)
}
