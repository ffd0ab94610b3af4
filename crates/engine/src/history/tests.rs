use super::*;

#[test]
fn a_timeline_answers_for_every_step_and_forgets_what_no_history_needs() {
    let line = Timeline::default();
    line.push(1, 0);
    assert!(line.points().is_empty(), "nobody needs it");
    line.keep(3600 * 1_000_000);
    let second = |s: i64| s * 1_000_000;
    for csn in 1..=20_000u64 {
        line.push(csn, csn as i64 * 100_000);
    }
    assert!(line.points().len() <= 2300, "{} points", line.points().len());
    for s in 1..2000 {
        let csn = line.csn_at(second(s)).expect("inside");
        assert!((s as u64 * 10 - 10..=s as u64 * 10).contains(&csn), "{csn} at {s} s");
    }
    assert_eq!(line.csn_at(i64::MAX), Some(20_000));
    assert_eq!(line.csn_at(-1), None);
    let edit = line.unsaved(second(2000)).expect("all of it");
    line.saved(&edit);
    assert_eq!(line.unsaved(second(2000)), None);
    let Some(Edit::Timeline(upto, new)) = line.unsaved(second(2 * 3600)) else {
        panic!("the old is forgotten")
    };
    assert!(new.is_empty() && upto > 19_980, "{upto}");
    assert_eq!(line.points().len(), 1);
    // A clock that was set back does not turn the line around.
    line.push(30_000, 5);
    assert_eq!(line.csn_at(second(2001)), Some(30_000));
}

#[test]
fn saved_points_stay_as_they_are() {
    let line = Timeline::default();
    line.keep(1 << 40);
    line.push(1, 10);
    let edit = line.unsaved(20).expect("a point");
    line.saved(&edit);
    line.push(2, 11);
    line.push(3, 12);
    assert_eq!(line.points(), [(1, 10), (3, 12)]);
    assert_eq!(line.unsaved(20), Some(Edit::Timeline(0, vec![(3, 12)])));
}
