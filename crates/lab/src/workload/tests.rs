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
