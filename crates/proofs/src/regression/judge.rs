//! Are two answers to a statement the same?

use onlap_testkit::simple::Outcome;

/// What came of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// The same rows and the same tag.
    Same,
    /// The same SQLSTATE.
    SameError,
    /// Both answer an EXPLAIN: plans are not compared.
    Explained,
    /// Other rows.
    OtherRows,
    /// The same rows in another order, where the statement has one.
    OtherOrder,
    /// The same rows with another tag, with other names or types of columns.
    OtherShape,
    /// Onlap alone refuses.
    Refused,
    /// PostgreSQL alone refuses.
    Accepted,
    /// Both refuse, with another SQLSTATE.
    OtherError,
    /// Onlap ended the connection.
    Died,
}

impl Verdict {
    /// Whether PostgreSQL answered.
    pub fn is_answered(self) -> bool {
        use Verdict::*;
        matches!(self, Same | Explained | OtherRows | OtherOrder | OtherShape | Refused | Died)
    }

    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same answer",
            Verdict::SameError => "same error",
            Verdict::Explained => "explained",
            Verdict::OtherRows => "other rows",
            Verdict::OtherOrder => "other order",
            Verdict::OtherShape => "other tag, names or types",
            Verdict::Refused => "refused",
            Verdict::Accepted => "accepted",
            Verdict::OtherError => "other error",
            Verdict::Died => "connection lost",
        }
    }
}

/// Compares Onlap's answer with PostgreSQL's.
pub fn judge(text: &str, ordered: bool, ours: &Outcome, theirs: &Outcome) -> Verdict {
    match (ours.state(), theirs.state()) {
        ("", "") => {}
        ("", _) => return Verdict::Accepted,
        (_, "") => return Verdict::Refused,
        (a, b) if a == b => return Verdict::SameError,
        _ => return Verdict::OtherError,
    }
    if is_explain(text) {
        return Verdict::Explained;
    }
    let as_written = ours.rows == theirs.rows && ours.copied == theirs.copied;
    if !as_written && (sorted(ours) != sorted(theirs) || ours.copied != theirs.copied) {
        return Verdict::OtherRows;
    }
    if !as_written && ordered {
        return Verdict::OtherOrder;
    }
    match ours.tags == theirs.tags && ours.columns == theirs.columns {
        true => Verdict::Same,
        false => Verdict::OtherShape,
    }
}

fn is_explain(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(7).collect();
    start.eq_ignore_ascii_case("explain")
}

fn sorted(outcome: &Outcome) -> Vec<&Vec<Option<String>>> {
    let mut rows: Vec<_> = outcome.rows.iter().collect();
    rows.sort();
    rows
}
