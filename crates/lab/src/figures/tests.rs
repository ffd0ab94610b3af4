use super::*;
use crate::report::StepReport;

/// A report that has every number a section may ask for.
fn plausible(plan: &Plan) -> RunReport {
    let step = |step: &crate::workload::Step| StepReport {
        step: step.name(),
        rows: plan.rows,
        ips: Some(if plan.engine == "onlap" { 1e6 } else { 1e5 }),
        cpu_us_per_insert: Some(if plan.secondary == 0 { 0.4 } else { 0.7 }),
        written_bytes_per_insert: Some(100.0),
        disk_bytes_per_row: Some(30.0),
        index_bytes_per_insert: Workload::Ibench
            .shape()
            .indexes
            .iter()
            .map(|i| (i.name.to_owned(), 15.0))
            .collect(),
        p1_over_p50: Some(0.95),
        last_tenth_over_first: Some(0.85),
        max_commit_ms: Some(500.0),
        qps: Some(5e5),
        read_calls_per_query: Some(1.0),
        scanned_per_second: Some(2e8),
        read_bytes_per_second: Some(1e9),
        device_read_bytes_per_second: Some(1e9),
        device_fdatasync_per_second: Some(1e3),
        recovery_us_per_row: Some(0.4),
        peak_rss_bytes: Some(plan.memory + (10 << 20)),
        ..StepReport::default()
    };
    RunReport {
        environment: Environment::default(),
        workload: plan.workload.name().to_owned(),
        engine: plan.engine.clone(),
        settings: plan.settings(),
        steps: plan.steps.iter().map(step).collect(),
        ..RunReport::default()
    }
}

fn plan() -> FigurePlan {
    FigurePlan {
        engine: "onlap".into(),
        rows: 1_000,
        repeat: 2,
        memory: 64 << 20,
        dir: None,
        sections: parse_sections(None).unwrap(),
        commit: String::new(),
    }
}

#[test]
fn every_section_gives_its_figures() {
    let report = run(&plan(), &mut |plan| {
        plan.check()?;
        Ok(plausible(plan))
    })
    .unwrap();
    let verdict = |work: &str| {
        let found = report.figures.iter().find(|f| f.work.contains(work));
        found.unwrap_or_else(|| panic!("no figure {work}")).verdict()
    };
    assert_eq!(verdict("longest commit"), "MISSED");
    assert_eq!(verdict("p1 / p50"), "target");
    assert_eq!(verdict("last tenth"), "floor");
    assert_eq!(verdict("marginal CPU"), "floor");
    assert_eq!(verdict("per index entry"), "floor");
    assert_eq!(verdict("one int column"), "floor");
    assert_eq!(verdict("point get by key, cached"), "floor");
    assert_eq!(verdict("cold, random keys"), "target");
    assert_eq!(verdict("peak resident"), "target");
    assert!(report.table().contains("10,000 rows: longest commit"), "{}", report.table());
}

#[test]
fn a_failing_section_is_a_figure_and_an_interruption_the_end() {
    let failing = |kind| move |_: &Plan| Err(Error::new(kind, "no"));
    let report = run(&plan(), &mut failing(ErrorKind::Io)).unwrap();
    assert!(report.figures.iter().all(|f| f.verdict() == "-"));
    assert!(report.figures[0].note.contains("failed"));
    let error = run(&plan(), &mut failing(ErrorKind::Cancelled)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn sections_are_chosen_by_name() {
    assert_eq!(parse_sections(Some("six, load")).unwrap(), [Section::Six, Section::Load]);
    assert!(parse_sections(Some("laod")).unwrap_err().message().contains("'load'"));
}
