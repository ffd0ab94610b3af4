use super::*;

const RUNS: &str = r#"{"time":"2026-01-02T03:04:05Z","commit":"aa","rig":"crash","result":"ok","counts":{"recoveries":1200}}
{"time":"2026-01-03T03:04:05Z","commit":"bb","rig":"crash","result":"seed 3: lost","counts":{"recoveries":7}}
{"time":"2026-01-04T03:04:05Z","commit":"cc","rig":"crash","result":"ok","counts":{"recoveries":800}}
"#;

fn files(page: &str, log: &str) -> Vec<SourceFile> {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
    vec![file(PATH, page), file(LOG, log)]
}

#[test]
fn runs_that_found_nothing_add_up() {
    let empty = format!("before\n{BEGIN}{END}after\n");
    assert_eq!(check(&files(&empty, RUNS)).len(), 1, "the table is stale");
    let page = page(&files(&empty, RUNS)).unwrap();
    assert!(
        page.contains("| simulated recoveries | 20,000 | 2,000 | 500,000 | 2; 2026-01-04, cc |")
    );
    assert!(page.starts_with("before\n") && page.ends_with("after\n"));
    assert!(check(&files(&page, RUNS)).is_empty());
}

#[test]
fn a_broken_log_is_named() {
    let empty = format!("{BEGIN}{END}");
    assert!(page(&files(&empty, "{")).unwrap_err().contains("benchmarks/proofs.jsonl:1"));
    assert!(page(&files("no place", "")).is_err());
}

#[test]
fn digits_come_in_groups() {
    assert_eq!(
        (grouped(0), grouped(999), grouped(1_234_567)),
        ("0".into(), "999".into(), "1,234,567".into())
    );
}
