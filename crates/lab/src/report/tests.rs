use super::comparison::{Verdict, ratios};
use super::*;

pub(super) fn run(engine: &str, ips: f64, debt: u64) -> RunReport {
    let step = StepReport {
        step: "l.i1".into(),
        rows: 10,
        seconds: 2.0,
        ips: Some(ips),
        cpu_us_per_insert: Some(1.0),
        merge_debt_bytes: Some(debt),
        index_bytes_per_insert: [("pdc".to_owned(), ips / 2.0)].into(),
        device: Some(DeviceIo { reads: 5, writes: 20, read_bytes: 4096, write_bytes: 10 << 10 }),
        interval_ips: (0..40).map(|i| (ips as u64) * (i % 7)).collect(),
        interval_max_us: (0..40).map(|i| 100 + i * i).collect(),
        ..StepReport::default()
    };
    RunReport {
        workload: "ibench".into(),
        engine: engine.into(),
        config: vec!["memory=1".into()],
        patterns: [("pdc".to_owned(), "(inf)".to_owned())].into(),
        steps: vec![step],
        ..RunReport::default()
    }
}

pub(super) fn comparison() -> Comparison {
    let runs = vec![
        run("onlap", 3000.0, 30),
        run("peer", 500.0, 0),
        run("onlap", 1000.0, 10),
        run("peer", 1500.0, 0),
        run("onlap", 2000.0, 20),
    ];
    Comparison { command: "onlap bench ibench".into(), runs, ..Comparison::default() }
}

#[test]
fn medians_and_ratios() {
    let report = comparison();
    let entries = report.entries().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].steps[0].ips, Some(2000.0));
    assert_eq!(entries[0].steps[0].merge_debt_bytes, Some(20));
    assert_eq!(entries[0].steps[0].index_bytes_per_insert["pdc"], 1000.0);
    let spread = entries[0].spread("l.i1", |s| s.ips).unwrap();
    assert_eq!((spread.least, spread.median, spread.most), (1000.0, 2000.0, 3000.0));
    let ratios = ratios(&entries);
    let rate = &ratios[0].lines[0];
    assert_eq!((rate.metric, rate.ratio.median), ("inserts/s", 2.0));
    assert_eq!(rate.ratio.least, 1000.0 / 1500.0);
    assert!(!rate.is_loss());
    assert_eq!(rate.verdict(), Verdict::BetterInNoise);
    assert_eq!(Comparison::from_json(&report.to_json()).unwrap(), report);
}

#[test]
fn runs_of_several_machines_say_which() {
    let mut report = comparison();
    let here = report.runs[0].environment.line();
    assert_eq!(report.machines().join(" and "), here);
    report.runs[1].environment.cpu = "another".into();
    let there = report.runs[1].environment.line();
    assert_eq!(report.machines(), [format!("onlap, peer: {here}"), format!("peer: {there}")]);
    assert!(markdown::table(&report).unwrap().contains(&format!("peer: {there}")));
}

#[test]
fn what_a_step_does_not_have_is_not_in_the_json() {
    let json = comparison().to_json();
    assert!(json.contains("\"merge_debt_bytes\": 0") && !json.contains("qps"), "{json}");
}

#[test]
fn answers_that_differ_are_told() {
    let mut report = comparison();
    for run in &mut report.runs {
        run.answers = [("rows".to_owned(), 10)].into();
    }
    assert!(report.disagreements().is_empty());
    report.runs[1].answers.insert("rows".into(), 11);
    assert_eq!(report.disagreements(), ["rows: 11 of peer, 10 of onlap"]);
}

#[test]
fn tables_align() {
    let cells = |r: &[&str]| r.iter().map(|s| (*s).to_owned()).collect();
    let text = text_table(&[cells(&["a", "bb"]), cells(&["ccc", "1"])]);
    assert_eq!(text, "a    bb\nccc   1\n");
    let steps = print_steps("onlap", &run("onlap", 2_000_000.0, 5).steps);
    assert!(steps.contains("2,000,000"), "{steps}");
}

#[test]
fn published_columns_are_divided_by_rows() {
    let report = comparison();
    let text = print_entries("ibench", &report.entries().unwrap());
    let header = text.lines().find(|l| l.contains(" wkbpi ")).unwrap();
    let names: Vec<&str> = header.split_whitespace().collect();
    let line = text.lines().skip_while(|l| *l != header).nth(1).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    let of = |name: &str| cells[1 + names.iter().position(|n| *n == name).unwrap()];
    assert_eq!((of("wpi"), of("rpi"), of("wkbpi"), of("wps")), ("2.0000", "0.5000", "1.000", "10"));
}

#[test]
fn a_case_has_one_table_whatever_the_order_of_runs() {
    let mut report = comparison();
    report.runs.truncate(4);
    for (run, clients) in report.runs.iter_mut().zip([1, 1, 16, 16]) {
        run.settings.clients = clients;
    }
    report.runs.sort_by_key(|run| run.engine.clone());
    let text = markdown::table(&report).unwrap();
    assert_eq!(text.matches("**16 clients**").count(), 1, "{text}");
    assert_eq!(text.matches("**1 clients**").count(), 1, "{text}");
    let page = html::page(&report).unwrap();
    assert_eq!(page.matches("<h3>16 clients</h3>").count(), 1);
}

#[test]
fn losses_are_marked() {
    let mut report = comparison();
    let text = markdown::table(&report).unwrap();
    assert!(text.contains("| l.i1 | inserts/s | 2,000 | 1,000 |"), "{text}");
    report.runs[3].steps[0].ips = Some(9000.0);
    let text = markdown::table(&report).unwrap();
    assert!(text.contains("| **2,000** |"), "{text}");
}

#[test]
fn storage_speeds_are_one_table() {
    let mut report = comparison();
    assert!(!markdown::table(&report).unwrap().contains("As storage slows"));
    report.runs.truncate(4);
    let limits = ["1000x16KiB", "1000x16KiB", "10000x16KiB", "10000x16KiB"];
    for ((run, limit), qps) in report.runs.iter_mut().zip(limits).zip([900.0, 100.0, 1000.0, 500.0])
    {
        run.settings.io_limit = Some(limit.into());
        run.steps[0].qps = Some(qps);
    }
    let text = markdown::table(&report).unwrap();
    assert!(text.contains("| step | storage | figure | onlap | peer | onlap / peer |"), "{text}");
    assert!(text.contains("| l.i1 | 1000x16KiB | queries/s | 900 | 100 | 9.00 |"), "{text}");
    assert!(text.contains("| l.i1 | 10000x16KiB | queries/s | 1,000 | 500 | 2.00 |"), "{text}");
    let page = html::page(&report).unwrap();
    assert_eq!(page.matches("As storage slows").count(), 1);
    let printed = print_entries("ibench", &report.entries().unwrap());
    assert!(printed.contains("as storage slows") && printed.contains("9.00"), "{printed}");

    report.runs[3].steps.clear();
    let text = markdown::table(&report).unwrap();
    assert!(text.contains("| 10000x16KiB | queries/s | 1,000 | - | - |"), "{text}");
}
