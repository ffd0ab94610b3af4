use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_session_ends_by_itself() {
    let sessions = Sessions::default();
    let token = sessions.begin_at("a", Secret::Trusted, 0);
    assert_eq!(token.len(), 43);
    let idle = IDLE.as_secs() * SECOND;
    // Used in time, it goes on, but not for ever.
    let mut now = 0;
    while now + idle <= LASTS.as_secs() * SECOND {
        now += idle;
        assert_eq!(sessions.find_at(&token, now).map(|h| h.role.clone()), Some("a".into()));
    }
    assert!(sessions.find_at(&token, LASTS.as_secs() * SECOND + 1).is_none());
    let token = sessions.begin_at("a", Secret::Trusted, 0);
    assert!(sessions.find_at(&token, idle + 1).is_none());
    assert!(sessions.find_at(&token, 1).is_none(), "it is gone");
    assert!(sessions.find_at("", 1).is_none());
}

#[test]
fn there_are_so_many() {
    let sessions = Sessions::default();
    let tokens: Vec<_> =
        (0..MOST as u64).map(|at| sessions.begin_at("a", Secret::Trusted, at)).collect();
    assert!(sessions.find_at(&tokens[0], 1000).is_some());
    let newest = sessions.begin_at("b", Secret::Trusted, 1001);
    assert_eq!(sessions.0.lock().len(), MOST);
    assert!(sessions.find_at(&tokens[0], 1002).is_some(), "it was used last");
    assert!(sessions.find_at(&tokens[1], 1002).is_none(), "it was idle for longest");
    sessions.end(&newest);
    assert!(sessions.find_at(&newest, 1003).is_none());
}
