use std::process::Command;

use onlap_testkit::programs;

use super::*;
use crate::report::tests::{comparison, run};
use crate::workload::RunDir;

fn with_troubles() -> Comparison {
    let mut report = comparison();
    let mut dead = run("dead <peer>", 10.0, 0);
    dead.failure = Some("it died & left".into());
    dead.log_tail = "</script><b>last words</b>".into();
    report.runs.push(dead);
    report
}

#[test]
fn a_page_stands_alone_and_escapes() {
    let page = page(&with_troubles()).unwrap();
    for outside in ["src=", "href=\"http", "@import", "url(", "fetch("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("dead &lt;peer&gt;") && !page.contains("<b>last words</b>"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("worse") && page.contains("better in"));
}

/// Contrast of text on its ground, as WCAG 2 defines it.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |color: &str| {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&color[at..at + 2], 16).unwrap();
            let c = f64::from(value) / 255.0;
            if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn colours_can_be_read() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
    let themes: Vec<&str> = STYLE.match_indices("--ink:").map(|(at, _)| &STYLE[at..]).collect();
    assert_eq!(themes.len(), 3, "light, dark and print");
    for theme in themes {
        let theme = &theme[..theme.find('}').unwrap()];
        let colors: Vec<(&str, &str)> = theme
            .split(';')
            .filter_map(|pair| pair.trim().split_once(": "))
            .filter(|(_, color)| color.starts_with('#'))
            .collect();
        let paper = colors.iter().find(|(name, _)| *name == "--paper").unwrap().1;
        for (name, color) in &colors {
            if !matches!(*name, "--paper" | "--line") {
                assert!(contrast(color, paper) >= 4.5, "{name} {color} on {paper}");
            }
        }
    }
}

/// Loads the page in a browser: nothing fails, the charts are drawn, and a picture can be taken.
#[test]
fn a_browser_draws_the_charts() {
    if !programs::are_there(&[("chromium", "apt-get install chromium")]) {
        return;
    }
    let dir = RunDir::create(None, "page").unwrap();
    let file = dir.path().join("report.html");
    std::fs::write(&file, page(&with_troubles()).unwrap()).unwrap();
    let picture = dir.path().join("report.png");
    let (dom, said) = browse(&dir, &file, &["--dump-dom"]);
    let drawn = dom.split("data-drawn=\"").nth(1).and_then(|rest| rest.split('"').next());
    // Two courses, bars of what the runs have, and their ratios.
    assert!(drawn.and_then(|n| n.parse::<usize>().ok()) >= Some(8), "{drawn:?}\n{said}");
    assert!(dom.matches("class=\"course\"").count() >= 4 && dom.contains("class=\"error\""));
    assert!(!said.contains("CONSOLE"), "{said}");
    let shot = format!("--screenshot={}", picture.display());
    browse(&dir, &file, &[&shot, "--window-size=400,3000"]);
    let png = std::fs::read(&picture).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000);
    if let Some(keep) = std::env::var_os("ONLAP_SCREENSHOTS") {
        std::fs::create_dir_all(&keep).unwrap();
        std::fs::copy(&picture, std::path::Path::new(&keep).join("report.png")).unwrap();
    }
    keyboard_reaches_all(&dir, &file);
    // A page that fails is noticed.
    let broken = std::fs::read_to_string(&file).unwrap().replace("draw();", "undrawn();");
    std::fs::write(&file, broken).unwrap();
    let (dom, said) = browse(&dir, &file, &["--dump-dom"]);
    assert!(said.contains("CONSOLE") && !dom.contains("data-drawn"), "{said}");
}

/// Everything that can be used takes the focus, in the order of the page; the buttons save, the axis
/// changes, and a narrow page makes charts as narrow, with text of the same size.
fn keyboard_reaches_all(dir: &RunDir, file: &std::path::Path) {
    let probe = r##"<script>
        const usable = [...document.querySelectorAll("summary, select, button, [tabindex]")];
        const focused = usable.filter((e) => (e.focus(), document.activeElement === e)).length;
        const ordered = usable.every((e) => e.tabIndex === 0);
        let saved = [];
        URL.createObjectURL = (blob) => (saved.push(blob.type + blob.size), "#");
        for (const id of ["save-json", "save-csv"]) document.getElementById(id).click();
        const before = document.querySelector("figure").innerHTML;
        const axis = document.getElementById("axis");
        axis.value = "log";
        axis.dispatchEvent(new Event("change"));
        const changed = before !== document.querySelector("figure").innerHTML;
        const chart = document.querySelector("figure svg");
        const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
        const wide = document.documentElement.scrollWidth <= innerWidth;
        document.title = JSON.stringify({ usable: usable.length, focused, ordered, saved, changed, wide,
            readable: scale > 0.85 });
        </script></body>"##;
    let page = std::fs::read_to_string(file).unwrap().replace("</body>", probe);
    let probed = file.with_file_name("probed.html");
    std::fs::write(&probed, page).unwrap();
    for window in ["--window-size=1280,900", "--window-size=500,900"] {
        let (dom, said) = browse(dir, &probed, &["--dump-dom", window]);
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        let found: Value =
            serde_json::from_str(title.unwrap()).unwrap_or_else(|_| panic!("{said}"));
        assert!(found["usable"].as_u64() >= Some(10), "{found}");
        assert_eq!(found["usable"], found["focused"], "{found}");
        assert_eq!(found["saved"].as_array().map(Vec::len), Some(2), "{found}");
        for what in ["ordered", "changed", "wide", "readable"] {
            assert_eq!(found[what], true, "{what}, {window}: {found}");
        }
    }
}

/// What the browser printed, and what it said next to it.
fn browse(dir: &RunDir, file: &std::path::Path, flags: &[&str]) -> (String, String) {
    let profile = format!("--user-data-dir={}", dir.path().join("profile").display());
    let mut command = Command::new(programs::find("chromium").unwrap());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=5000", &profile]);
    command.args(flags).arg(format!("file://{}", file.display()));
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}
