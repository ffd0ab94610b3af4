//! How many came out the same, and what do the others come from?

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onlap_testkit::simple::Outcome;

use super::judge::Verdict;
use super::roots::normal;
use super::run::Judged;

/// Examples that are shown of each group.
const EXAMPLES: usize = 4;
const SHOWN_ROWS: usize = 12;
/// Characters of a statement or a row that are shown.
const SHOWN: usize = 300;

/// What came of many statements.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All statements.
    pub judged: Vec<Judged>,
    /// Statements that were not sent.
    pub skipped: usize,
    /// Scripts that are not there.
    pub missing: Vec<String>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Statements that PostgreSQL answers, EXPLAIN left out.
    pub answered: usize,
    /// Of them, those that Onlap answers the same.
    pub same: usize,
    /// Of them, those with other rows, or with the same in another order.
    pub other_rows: usize,
    /// Statements that PostgreSQL refuses.
    pub refused: usize,
    /// Of them, those that Onlap accepts.
    pub accepted: usize,
    /// Of those that both refuse, those with the same SQLSTATE.
    pub same_state: usize,
    /// Of those with the same SQLSTATE, those with the same message, and those that say the same throughout: detail, hint,
    /// position and names of objects.
    pub same_words: (usize, usize),
    /// EXPLAIN that PostgreSQL answers, and that Onlap answers too.
    pub explains: (usize, usize),
    /// Internal errors and lost connections of Onlap.
    pub internal: usize,
}

impl Figures {
    fn of<'a>(judged: impl Iterator<Item = &'a Judged>) -> Figures {
        let mut figures = Figures::default();
        for one in judged {
            let is_internal =
                one.ours.state().starts_with("XX") && one.ours.state() != one.theirs.state();
            figures.internal += usize::from(is_internal || one.verdict == Verdict::Died);
            if one.is_explain() && one.verdict.is_answered() {
                figures.explains.0 += 1;
                figures.explains.1 += usize::from(one.verdict == Verdict::Explained);
                continue;
            }
            figures.answered += usize::from(one.verdict.is_answered());
            figures.refused += usize::from(!one.verdict.is_answered());
            match one.verdict {
                Verdict::Same => figures.same += 1,
                Verdict::OtherRows | Verdict::OtherOrder => figures.other_rows += 1,
                Verdict::Accepted => figures.accepted += 1,
                Verdict::SameError => {
                    figures.same_state += 1;
                    figures.same_words.0 += usize::from(one.ours.error == one.theirs.error);
                    figures.same_words.1 += usize::from(one.ours.said == one.theirs.said);
                }
                _ => {}
            }
        }
        figures
    }

    fn told(&self) -> String {
        let share = |n: usize, of: usize| 100.0 * n as f64 / (of.max(1)) as f64;
        let both = self.refused - self.accepted;
        format!(
            "{} of {} answered the same ({:.1} %), {} other rows; {} refused, {} accepted, {} of {both} with the same SQLSTATE ({:.1} %), of them {:.1} % with the same message and {:.1} % the same throughout; {} of {} explained; {} internal",
            self.same,
            self.answered,
            share(self.same, self.answered),
            self.other_rows,
            self.refused,
            self.accepted,
            self.same_state,
            share(self.same_state, both),
            share(self.same_words.0, self.same_state),
            share(self.same_words.1, self.same_state),
            self.explains.1,
            self.explains.0,
            self.internal,
        )
    }
}

impl Judged {
    fn is_explain(&self) -> bool {
        self.text.trim_start().to_lowercase().starts_with("explain")
    }

    fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

impl Report {
    /// Adds what came of a script.
    pub fn add(&mut self, judged: Vec<Judged>, skipped: usize) {
        self.judged.extend(judged);
        self.skipped += skipped;
    }

    /// What is counted of all scripts.
    pub fn figures(&self) -> Figures {
        Figures::of(self.judged.iter())
    }

    /// In a line.
    pub fn summary(&self) -> String {
        let missing = match &self.missing[..] {
            [] => String::new(),
            names => format!("; not there: {}", names.join(", ")),
        };
        format!("{}; {} skipped{missing}", self.figures().told(), self.skipped)
    }

    /// The whole of it.
    pub fn text(&self) -> String {
        let mut text = format!("# All\n\n{}\n\n# By script\n\n", self.summary());
        let mut files: Vec<&str> = self.judged.iter().map(|one| one.file.as_str()).collect();
        files.dedup();
        for file in files {
            let figures = Figures::of(self.judged.iter().filter(|one| one.file == file));
            let _ = writeln!(text, "{file}: {}", figures.told());
        }
        self.roots(&mut text);
        let own = |one: &Judged| one.ours.error.as_ref().map(|(s, t)| format!("{s} {}", normal(t)));
        let their =
            |one: &Judged| one.theirs.error.as_ref().map(|(s, t)| format!("{s} {}", normal(t)));
        self.groups(&mut text, Verdict::Died, |one| own(one).unwrap_or_default());
        self.groups(&mut text, Verdict::Refused, |one| own(one).unwrap_or_default());
        self.groups(&mut text, Verdict::Accepted, |one| their(one).unwrap_or_default());
        self.groups(&mut text, Verdict::OtherError, |one| {
            format!(
                "{} | PostgreSQL: {}",
                own(one).unwrap_or_default(),
                their(one).unwrap_or_default()
            )
        });
        let words = |one: &&Judged| one.ours.said != one.theirs.said;
        self.groups_of(&mut text, "other words", Verdict::SameError, words, |one| {
            let pairs = one.ours.said.iter().zip(&one.theirs.said);
            let other = pairs.filter(|(ours, theirs)| ours != theirs);
            let told = |(ours, theirs): (&(char, String), &(char, String))| {
                format!("{}: {} | PostgreSQL: {}", ours.0, normal(&ours.1), normal(&theirs.1))
            };
            other.map(told).collect::<Vec<_>>().join("; ")
        });
        for verdict in [Verdict::OtherRows, Verdict::OtherOrder, Verdict::OtherShape] {
            self.each(&mut text, verdict);
        }
        text
    }

    /// Errors by how many differences come from them.
    fn roots(&self, text: &mut String) {
        let mut roots: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for one in &self.judged {
            if let Some(root) = &one.root
                && matches!(
                    one.verdict,
                    Verdict::Refused | Verdict::OtherRows | Verdict::OtherError
                )
            {
                let own = one.ours.error.as_ref().map(|(s, t)| format!("{s} {}", normal(t)));
                let counts = roots.entry(root).or_default();
                match own.as_ref() == Some(root) {
                    true => counts.0 += 1,
                    false => counts.1 += 1,
                }
            }
        }
        let mut roots: Vec<_> = roots.into_iter().collect();
        roots.sort_by_key(|(_, (own, later))| std::cmp::Reverse(own + later));
        text.push_str("\n# Roots: statements in all, and those after the first that miss what it would have made\n\n");
        for (root, (own, later)) in roots {
            let _ = writeln!(text, "{:5} {later:5} {root}", own + later);
        }
    }

    fn groups(&self, text: &mut String, verdict: Verdict, key: impl Fn(&Judged) -> String) {
        self.groups_of(text, verdict.name(), verdict, |_| true, key);
    }

    fn groups_of(
        &self,
        text: &mut String,
        name: &str,
        verdict: Verdict,
        is_one: impl Fn(&&Judged) -> bool,
        key: impl Fn(&Judged) -> String,
    ) {
        let mut groups: BTreeMap<String, Vec<&Judged>> = BTreeMap::new();
        let all = self.judged.iter().filter(|one| one.verdict == verdict);
        for one in all.filter(is_one) {
            groups.entry(key(one)).or_default().push(one);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
        let count: usize = groups.iter().map(|(_, all)| all.len()).sum();
        let _ = writeln!(text, "\n# {name}: {count}\n");
        for (key, all) in groups {
            let _ = writeln!(text, "{:5} {key}", all.len());
            for one in all.iter().take(EXAMPLES) {
                let said = one.ours.error.as_ref().map_or("", |(_, text)| text);
                let _ = writeln!(text, "        {} {} -- {said}", one.place(), short(&one.text));
            }
        }
    }

    fn each(&self, text: &mut String, verdict: Verdict) {
        let all: Vec<_> = self.judged.iter().filter(|one| one.verdict == verdict).collect();
        let _ = writeln!(text, "\n# {}: {}\n", verdict.name(), all.len());
        for one in all {
            let root = one.root.as_ref().map_or(String::new(), |root| format!(" (after {root})"));
            let _ = writeln!(text, "{} {}{root}", one.place(), short(&one.text));
            let _ = writeln!(text, "  Onlap {}", shown(&one.ours, &one.theirs, verdict));
            let _ = writeln!(text, "  PostgreSQL {}", shown(&one.theirs, &one.ours, verdict));
        }
    }
}

fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN).collect()
}

/// An answer, with the rows that the other one has not.
fn shown(one: &Outcome, other: &Outcome, verdict: Verdict) -> String {
    let mut text = one.tags.join(", ");
    if verdict == Verdict::OtherShape {
        let columns = one.columns.iter().map(|(name, oid)| format!("{name}:{oid}"));
        return format!("{text} ({})", columns.collect::<Vec<_>>().join(", "));
    }
    if one.copied != other.copied {
        text.push_str(&String::from_utf8_lossy(&one.copied));
    }
    let own =
        |row: &&Vec<Option<String>>| verdict == Verdict::OtherOrder || !other.rows.contains(row);
    for row in one.rows.iter().filter(own).take(SHOWN_ROWS) {
        let values: Vec<&str> = row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect();
        let _ = write!(text, "\n    {}", short(&values.join(" | ")));
    }
    text
}
