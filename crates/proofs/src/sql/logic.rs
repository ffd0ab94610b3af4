//! Does a query agree with itself?
//!
//! Two checks that need no other system. *Partition*: rows are those for which a condition is true, those for which it is
//! false and those for which it is NULL, together. *Without an index*: a condition in WHERE, which may use indexes and move
//! below joins, finds as many rows as the same condition as a value.

use onlap_base::Rng;
use onlap_testkit::simple::Outcome;

use super::Control;
use super::judge::{Pair, is_defect};
use super::maker::{Maker, Scope};
use super::offer::Offer;
use super::world::World;

const BOOL: u32 = 16;

/// What came of a check.
pub enum Logic {
    /// It holds.
    Holds,
    /// One of its queries is refused.
    Refused,
    /// It does not hold, or the connection was lost.
    Broken(String),
}

/// Makes one check.
pub fn check(
    pair: &mut Pair,
    rng: &mut Rng,
    offer: &Offer,
    world: &World,
    control: Option<Control>,
) -> Logic {
    let mut maker = Maker::new(rng, offer, world);
    maker.scopes.push(Scope::default());
    let from = maker.from(1).text();
    let condition = maker.expr(BOOL, 2).text();
    let types: Vec<u32> = (0..2).map(|_| maker.type_in_sight()).collect();
    let columns: Vec<String> = types.iter().map(|ty| maker.leaf(*ty).text()).collect();
    let select = format!("select {} from {from}", columns.join(", "));
    let parts = match control {
        // The control's fault: the last part is left out.
        Some(Control::Logic) => vec![format!("({condition})"), format!("not ({condition})")],
        _ => vec![
            format!("({condition})"),
            format!("not ({condition})"),
            format!("({condition}) is null"),
        ],
    };
    let parts = parts.into_iter().map(|part| format!("{select} where {part}")).collect::<Vec<_>>();
    let whole = parts.join(" union all ");
    let counted = [
        format!("select count(*) from {from} where {condition}"),
        format!(
            "select count(*) filter (where s.c) from (select ({condition}) as c from {from}) s"
        ),
    ];
    match same(pair, &[select, whole]) {
        Logic::Holds => same(pair, &counted),
        other => other,
    }
}

fn same(pair: &mut Pair, texts: &[String; 2]) -> Logic {
    let mut answers = Vec::new();
    for text in texts {
        match pair.ask(text) {
            Err(e) => {
                let gone = pair.revive(text).err().unwrap_or_default();
                return Logic::Broken(format!("{text}\n  the connection was lost: {e} {gone}"));
            }
            Ok(outcome) if is_defect(&outcome) => {
                return Logic::Broken(format!("{text}\n  {:?}", outcome.error));
            }
            Ok(outcome) if outcome.error.is_some() => return Logic::Refused,
            Ok(outcome) => answers.push(sorted(outcome)),
        }
    }
    match answers[0] == answers[1] {
        true => Logic::Holds,
        false => Logic::Broken(format!(
            "{}\n  {:?}\n{}\n  {:?}",
            texts[0], answers[0], texts[1], answers[1]
        )),
    }
}

fn sorted(outcome: Outcome) -> Vec<Vec<Option<String>>> {
    let mut rows = outcome.rows;
    rows.sort();
    rows
}
