//! Which index does a scan read, and in which range?
//!
//! A pure choice from the conditions on single columns: an equality on each of the first columns
//! of an index, then at most one range. A unique index with its whole key wins; then more columns with
//! equality; then a range. Filters are judged again above the scan, so a range may be wider than they are.

use std::ops::Range;

use onlap::{IndexSchema, KeyRange, RowId, TableSchema, Value};

/// How rows are reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// All rows in the order of their ids.
    Table,
    /// Rows with ids in a range, in their order.
    Rows(Range<RowId>),
    /// A range of an index.
    Index {
        /// The index's name.
        name: String,
        /// The part of it.
        range: KeyRange,
        /// From the last key to the first.
        reverse: bool,
    },
}

/// A condition on one column that an index can use.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Position of the column in the table.
    pub column: usize,
    /// What it is compared with.
    pub op: BoundOp,
    /// The other side, in the column's type.
    pub value: Value,
}

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundOp {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The index of all rows and of plain columns that is best for some bounds.
pub fn best<'a>(schema: &'a TableSchema, bounds: &[Bound]) -> Option<(&'a IndexSchema, Choice)> {
    let plain = schema.indexes.iter().filter(|index| is_plain(schema, index));
    // Only the range of the best is made: what it is to be compared by needs no values.
    let scored = plain.filter_map(|index| Some((index, score_of(schema, index, bounds)?)));
    let (index, _) = scored.max_by_key(|(_, score)| *score)?;
    Some((index, range_of(schema, index, bounds)?))
}

/// Whether an index has all rows, and nothing in its key is calculated.
pub fn is_plain(schema: &TableSchema, index: &IndexSchema) -> bool {
    let own = |part: &onlap::KeyPart| schema.derived(part.column).is_none();
    index.ready && index.filter.is_none() && index.key.iter().all(own)
}

/// The index that is best for some bounds, where derived columns (by position in the table) are true in all wanted rows: partial indexes of such
/// rows count too.
pub fn best_of<'a>(
    schema: &'a TableSchema,
    bounds: &[Bound],
    implied: &[usize],
) -> Option<(&'a IndexSchema, Choice)> {
    let usable = schema.indexes.iter().filter(|index| is_usable(schema, index, implied));
    let choices = usable.filter_map(|index| Some((index, choice_of(schema, index, bounds)?)));
    choices.max_by_key(|(_, choice)| choice.score)
}

/// Whether an index has all wanted rows, each once.
pub fn is_usable(schema: &TableSchema, index: &IndexSchema, implied: &[usize]) -> bool {
    !index.multi_entry && has_rows(schema, index, implied)
}

/// Whether an index has all wanted rows that it may have.
pub fn has_rows(schema: &TableSchema, index: &IndexSchema, implied: &[usize]) -> bool {
    let filter = schema.filter_position(index);
    index.ready && (index.filter.is_none() || filter.is_some_and(|at| implied.contains(&at)))
}

/// Whether a partial index, or one with several entries for a row, may have fewer rows than any other way to the same ones.
pub fn has_partial(schema: &TableSchema) -> bool {
    schema.indexes.iter().any(|index| (index.filter.is_some() || index.multi_entry) && index.ready)
}

/// The range of an index, which is all of a partial one where bounds say nothing of its first column.
pub fn choice_of(schema: &TableSchema, index: &IndexSchema, bounds: &[Bound]) -> Option<Choice> {
    let found = range_of(schema, index, bounds);
    let partial = index.filter.is_some();
    let mut choice = match found {
        None if partial => Choice { range: KeyRange::all(), ..Choice::default() },
        found => found?,
    };
    choice.score.3 = partial;
    Some(choice)
}

/// How good an index is: whole unique key, columns with equality, ends of a range, whether it leaves rows out.
pub type Score = (bool, usize, usize, bool);

/// What an index does for some bounds.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Compared between indexes.
    pub score: Score,
    /// The rows in it meet the bounds of [`Choice::used`], and no others do.
    pub range: KeyRange,
    /// Positions of the bounds that the range stands for.
    pub used: Vec<usize>,
    /// So many columns of the key have one value.
    pub equal: usize,
}

impl Choice {
    /// Whether the whole key of a unique index is given.
    pub fn is_one_row(&self) -> bool {
        self.score.0
    }
}

/// The bounds that give the first columns of an index one value each.
fn equalities<'a>(
    schema: &'a TableSchema,
    index: &'a IndexSchema,
    bounds: &'a [Bound],
) -> impl Iterator<Item = usize> + 'a {
    let of = move |part: &'a onlap::KeyPart| {
        let column = schema.position(part.column)?;
        bounds.iter().position(|b| b.column == column && b.op == BoundOp::Equal)
    };
    index.key.iter().map_while(of)
}

/// Those values.
pub fn prefix_of(schema: &TableSchema, index: &IndexSchema, bounds: &[Bound]) -> Vec<Value> {
    equalities(schema, index, bounds).map(|at| bounds[at].value.clone()).collect()
}

/// [`Choice::score`] of [`range_of`].
fn score_of(schema: &TableSchema, index: &IndexSchema, bounds: &[Bound]) -> Option<Score> {
    let equal = equalities(schema, index, bounds).count();
    if equal == index.key.len() {
        return Some((index.unique, equal, 0, false));
    }
    let column = schema.position(index.key[equal].column)?;
    let (mut lower, mut upper) = (false, false);
    for bound in bounds.iter().filter(|bound| bound.column == column) {
        match bound.op {
            BoundOp::Equal => {}
            BoundOp::Less | BoundOp::LessOrEqual => upper = true,
            BoundOp::Greater | BoundOp::GreaterOrEqual => lower = true,
        }
    }
    let ends = usize::from(lower) + usize::from(upper);
    (equal > 0 || ends > 0).then_some((false, equal, ends, false))
}

/// The range of an index that bounds leave, if they say anything of its first column.
pub fn range_of(schema: &TableSchema, index: &IndexSchema, bounds: &[Bound]) -> Option<Choice> {
    let position = |i: usize| schema.position(index.key[i].column);
    let mut used: Vec<usize> = equalities(schema, index, bounds).collect();
    let prefix: Vec<Value> = used.iter().map(|at| bounds[*at].value.clone()).collect();
    let equal = prefix.len();
    if equal == index.key.len() {
        let range = KeyRange::eq(prefix);
        return Some(Choice { score: (index.unique, equal, 0, false), range, used, equal });
    }
    let (column, descending) = (position(equal)?, index.key[equal].descending);
    let with = |value: &Value| {
        let mut key = prefix.clone();
        key.push(value.clone());
        key
    };
    let mut range = KeyRange::all();
    let (mut lower, mut upper) = (false, false);
    for (i, bound) in bounds.iter().enumerate().filter(|(_, b)| b.column == column) {
        let taken = match bound.op {
            BoundOp::Equal => continue,
            BoundOp::Less | BoundOp::LessOrEqual => &mut upper,
            BoundOp::Greater | BoundOp::GreaterOrEqual => &mut lower,
        };
        // A second bound on the same side is judged on the rows.
        if std::mem::replace(taken, true) {
            continue;
        }
        used.push(i);
        let key = with(&bound.value);
        range = range.and(match (bound.op, descending) {
            (BoundOp::Less, false) | (BoundOp::Greater, true) => KeyRange::before(key),
            (BoundOp::LessOrEqual, false) | (BoundOp::GreaterOrEqual, true) => KeyRange::to(key),
            (BoundOp::Greater, false) | (BoundOp::Less, true) => KeyRange::after(key),
            _ => KeyRange::from(key),
        });
    }
    let found = lower || upper;
    // NULL is in no comparison; it sorts last, and first in a descending column: it is left out by what bounds values from above.
    if found && !upper {
        let null = with(&Value::Null);
        range = range.and(match descending {
            false => KeyRange::before(null),
            true => KeyRange::after(null),
        });
    }
    // Where values are bounded from below both ends are there by now, and all between them begins with these values.
    if equal > 0 && !lower {
        range = range.and(KeyRange::eq(prefix));
    }
    let score = (false, equal, usize::from(lower) + usize::from(upper), false);
    (equal > 0 || found).then_some(Choice { score, range, used, equal })
}
