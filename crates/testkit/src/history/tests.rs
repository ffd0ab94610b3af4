use super::*;

/// Notes a commit with the given times instead of the clock's.
fn commit(history: &History, began: u64, ended: u64, csn: Csn, rows: u64) {
    history.noted.lock().unwrap().commits.push(Commit { began, ended, csn, rows });
}

#[test]
fn a_possible_history_passes() {
    let history = History::new();
    let began = history.begin();
    history.committed(began, 1, 10);
    let (one, two) = (history.begin(), history.begin());
    history.committed(two, 2, 5);
    history.committed(one, 3, 7);
    let began = history.begin();
    history.counted(began, history.begin(), 3, 22);
    assert_eq!(history.check(), Ok(()));
}

#[test]
fn a_number_given_twice_is_found() {
    let history = History::new();
    commit(&history, 0, 1, 7, 1);
    commit(&history, 2, 3, 7, 1);
    assert!(history.check().unwrap_err().contains("two commits"));
}

#[test]
fn numbers_against_time_are_found() {
    let history = History::new();
    commit(&history, 0, 1, 2, 1);
    commit(&history, 0, 9, 3, 1);
    commit(&history, 2, 3, 1, 1);
    assert!(history.check().unwrap_err().contains("acknowledged before"));
}

#[test]
fn snapshots_that_miss_foresee_or_miscount_are_found() {
    let with_snapshot = |began, ended, csn, rows| {
        let history = History::new();
        commit(&history, 10, 11, 1, 4);
        commit(&history, 20, 21, 2, 4);
        history.counted(began, ended, csn, rows);
        history.check()
    };
    assert_eq!(with_snapshot(12, 13, 1, 4), Ok(()));
    assert_eq!(with_snapshot(15, 25, 2, 8), Ok(()));
    assert!(with_snapshot(22, 23, 1, 4).unwrap_err().contains("misses"));
    assert!(with_snapshot(12, 13, 2, 8).unwrap_err().contains("covers"));
    assert!(with_snapshot(12, 13, 1, 3).unwrap_err().contains("should count 4"));
}
