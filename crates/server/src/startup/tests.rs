//! Is a client's wish understood?

use super::*;

fn start(version: u32, pairs: &[(&str, &str)]) -> Result<First, SqlError> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in pairs {
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    first(&body)
}

fn started(version: u32, pairs: &[(&str, &str)]) -> Start {
    match start(version, pairs) {
        Ok(First::Start(start)) => start,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_settings_and_options_are_found() {
    let options = r"-c a=1 -cb=x\ y --search-path=s\\z";
    let s = started(3 << 16, &[("user", "u"), ("application_name", "app"), ("options", options)]);
    assert_eq!((s.info.user.as_str(), s.info.database.as_str()), ("u", "u"));
    let pairs: Vec<String> = s.info.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(pairs, ["application_name=app", "a=1", "b=x y", r"search_path=s\z"]);
    let state = |pairs: &[(&str, &str)]| start(3 << 16, pairs).expect_err("wrong").state();
    assert_eq!(state(&[]), "28000");
    assert_eq!(state(&[("user", "u"), ("options", "-x")]), "42601");
    assert_eq!(state(&[("user", "u"), ("options", "-c")]), "42601");
    assert_eq!(state(&[("user", "u"), ("replication", "database")]), "0A000");
    assert_eq!(start(2 << 16, &[("user", "u")]).expect_err("old").state(), "0A000");
    assert!(first(b"").is_err() && first(&[0, 3, 0, 0]).is_err());
}

#[test]
fn newer_versions_are_negotiated_down() {
    let answer = |version, pairs: &[(&str, &str)]| {
        let mut reply = Reply::new();
        answer_version(&started(version, pairs), &mut reply);
        reply.bytes().clone()
    };
    let user = ("user", "u");
    assert!(answer(3 << 16, &[user]).is_empty() && answer(3 << 16 | 2, &[user]).is_empty());
    assert_eq!(answer(3 << 16 | 9, &[user]), b"v\0\0\0\x0c\0\x03\0\x02\0\0\0\0");
    let with_option = answer(3 << 16, &[user, ("_pq_.x", "1")]);
    assert_eq!(with_option, b"v\0\0\0\x13\0\x03\0\0\0\0\0\x01_pq_.x\0");
}
