use super::*;

#[test]
fn steps_are_read_and_written() {
    let list = "l.i0,l.x,l.i1,l.i2,settle,q100.1,q0.2,qmax.1,c.2,get.cold,scan.1";
    let steps = parse_steps(list).unwrap();
    let names: Vec<String> = steps.iter().map(|s| s.name()).collect();
    assert_eq!(names.join(","), list);
    for bad in ["l.i3", "qx.1", "q.1", "c", "setle"] {
        let error = parse_steps(bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{bad}");
    }
    assert!(parse_steps("setle").unwrap_err().message().contains("did you mean 'settle'"));
}

#[test]
fn a_run_directory_is_empty_and_a_temporary_one_goes() {
    let dir = RunDir::create(None, "test").unwrap();
    let path = dir.path().to_owned();
    std::fs::write(path.join("x"), "y").unwrap();
    assert!(path.exists());
    drop(dir);
    assert!(!path.exists());
}

fn plan(engine: &str, workload: Workload, steps: &str) -> Plan {
    Plan {
        workload,
        engine: engine.into(),
        rows: 3_000,
        secondary: workload.shape().indexes.len(),
        commit_rows: None,
        clients: 1,
        seconds: Some(0.2),
        steps: parse_steps(steps).unwrap(),
        memory: 64 << 20,
        sync: SyncMode::Os,
        dir: None,
        api: Api::Batch,
        commit: "test".into(),
        around: Surroundings::default(),
    }
}

/// Every step of every workload, small.
fn every_step(engine: &str) {
    let cancel = AtomicBool::new(false);
    let all = |plan: &Plan| {
        let report = run(plan, &cancel, Progress::Silent).unwrap();
        assert_eq!(report.steps.len(), plan.steps.len());
        report
    };
    let ibench = "l.i0,l.x,l.i1,l.i2,settle,c.1,q0.1,q100.1,qmax.1,get,get.cold,scan.1,scan.cold";
    let report = all(&plan(engine, Workload::Ibench, ibench));
    let step = |name: &str| report.steps.iter().find(|s| s.step == name).unwrap();
    assert_eq!(step("l.i1").rows, 3_000);
    assert!(step("l.i1").ips.unwrap() > 0.0);
    assert!(step("l.i1").wal_bytes_per_insert.unwrap() > 20.0);
    assert!(step("settle").disk_bytes_per_row.unwrap() > 1.0);
    assert!(step("qmax.1").ips.unwrap() > step("q0.1").ips.unwrap());
    assert!(step("get").qps.unwrap() > 0.0);
    assert!(step("scan.cold").device_read_bytes_per_second.unwrap() > 0.0);

    let rows = Plan { api: Api::Row, clients: 3, ..plan(engine, Workload::Ibench, "l.i1,c.1") };
    assert_eq!(all(&rows).steps[0].rows, 3_000);
    let synced = Plan {
        sync: SyncMode::Fsync,
        commit_rows: Some(1),
        rows: 20,
        // However slow the disk.
        seconds: None,
        ..plan(engine, Workload::Ibench, "l.i1,fdatasync")
    };
    assert_eq!(all(&synced).steps[0].commits, Some(20));
    all(&plan(engine, Workload::Six, "l.i1,settle,c.1,c.2,u.1"));
    all(&plan(engine, Workload::Keyed, "l.i1,settle,get,get.cold"));
    let recovered = all(&plan(engine, Workload::Ibench, "recover"));
    assert_eq!(recovered.steps[0].rows, 3_000);
}

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb_takes_every_step() {
    every_step("rocksdb");
}

#[test]
fn onlap_takes_every_step() {
    every_step("onlap");
}
