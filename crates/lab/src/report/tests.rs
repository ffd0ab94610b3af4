use super::*;

fn run(ips: f64, debt: u64) -> RunReport {
    let step = StepReport {
        step: "l.i1".into(),
        rows: 10,
        ips: Some(ips),
        cpu_us_per_insert: Some(1.0),
        merge_debt_bytes: Some(debt),
        index_bytes_per_insert: [("pdc".to_owned(), ips / 2.0)].into(),
        ..StepReport::default()
    };
    RunReport {
        environment: Environment::default(),
        workload: "ibench".into(),
        engine: "onlap".into(),
        settings: Settings::default(),
        steps: vec![step],
    }
}

#[test]
fn medians_and_ratios() {
    let runs = vec![run(3.0, 30), run(1.0, 10), run(2.0, 20)];
    let peer = vec![run(0.5, 0), run(1.5, 0)];
    let report = Report::of(runs, peer).unwrap();
    assert_eq!(report.steps[0].ips, Some(2.0));
    assert_eq!(report.steps[0].merge_debt_bytes, Some(20));
    assert_eq!(report.steps[0].index_bytes_per_insert["pdc"], 1.0);
    assert_eq!(report.runs.len(), 3);
    let versus = report.versus.as_ref().unwrap();
    assert_eq!(versus.steps[0].ips, Some(1.0));
    assert_eq!(versus.ratios[0].ips, Some(2.0));
    assert_eq!(versus.ratios[0].qps, None);
    let read: Report = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(read, report);
}

#[test]
fn what_a_step_does_not_have_is_not_in_the_json() {
    let json = Report::of(vec![run(1.0, 0)], Vec::new()).unwrap().to_json();
    assert!(json.contains("\"merge_debt_bytes\": 0") && !json.contains("qps"), "{json}");
    assert!(!json.contains("\"runs\""), "one run is its own median");
}

#[test]
fn tables_align() {
    let cells = |r: &[&str]| r.iter().map(|s| (*s).to_owned()).collect();
    let text = text_table(&[cells(&["a", "bb"]), cells(&["ccc", "1"])]);
    assert_eq!(text, "a    bb\nccc   1\n");
    let steps = print_steps("onlap", &run(2_000_000.0, 5).steps);
    assert!(steps.contains("2,000,000"), "{steps}");
}
