use super::*;

#[test]
fn plans_are_checked_before_anything_starts() {
    let plan = |engine: &str, step: &str| ServedPlan {
        workload: Served::Linkbench,
        engine: engine.into(),
        rows: 1000,
        clients: 1,
        seconds: 1.0,
        steps: vec![step.into()],
        commit_rows: 100,
        memory: 64 << 20,
        sync: SyncMode::Os,
        dir: None,
        commit: "test".into(),
        around: Surroundings::default(),
    };
    plan("postgres", "2013.1").check().unwrap();
    let error = plan("postgres", "2013.7").check().unwrap_err();
    assert!(error.message().contains("did you mean '2013.1'"), "{error}");
    let error = plan("rocksdb", "load").check().unwrap_err();
    assert!(error.message().contains("onlap-wire"), "{error}");
}
