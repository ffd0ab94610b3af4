use serde_json::json;

use super::Changing;
use crate::catalog::Kind;
use crate::catalog::objects::{Object, Pending};

fn change(names: &[&str], version: u32) -> Pending {
    let mut pending = Pending::default();
    for name in names {
        let body = json!({ "version": version });
        pending.note(Kind::Option, name, Some(Object { number: 1, body }));
    }
    pending
}

#[test]
fn an_older_commit_that_comes_later_undoes_nothing() {
    let mut changing = Changing::default();
    assert_eq!(changing.newer(8, &change(&["a"], 2)).changes().len(), 1);
    let late = changing.newer(7, &change(&["a", "b"], 1));
    let names: Vec<&str> = late.changes().iter().map(|change| change.1.as_str()).collect();
    assert_eq!(names, ["b"]);
    // What a later commit removed stays away.
    let mut gone = Pending::default();
    gone.note(Kind::Option, "b", None);
    assert_eq!(changing.newer(9, &gone).changes().len(), 1);
    assert!(changing.newer(8, &change(&["b"], 1)).is_empty());
}
