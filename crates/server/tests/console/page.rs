//! What does a browser make of the page?

use std::fmt::Write as _;

use onlap_testkit::programs;
use serde_json::json;

use crate::browser::{Browser, NEEDED};
use crate::client::http_config;
use crate::common::{Running, start};
use crate::{sql, with_password};

const WIDTHS: [u32; 2] = [375, 1440];
const HOSTILE: &str = "<img src=x onerror=window.pwned=1>";

/// A server whose tables have indexes with costs, uses and runs.
fn filled() -> Running {
    let running = start(http_config());
    sql(
        &running,
        &[
            "create table readings (id bigint primary key, device int, at timestamptz, value float8, note text)",
            "create index readings_device on readings (device, at)",
            "create index readings_value on readings (value)",
            &format!("create table \"{HOSTILE}\" (id bigint primary key, \"<b>&amp;\" text)"),
            &format!("create index \"{HOSTILE}'\"\"_key\" on \"{HOSTILE}\" (\"<b>&amp;\")"),
            &format!(
                "insert into \"{HOSTILE}\" values (1, '</script><script>window.pwned=1</script>')"
            ),
        ],
    );
    for part in 0..6 {
        sql(
            &running,
            &[&format!(
                "insert into readings select i, i * 7919 % 997, '2026-01-01'::timestamptz + i * interval '1 s', \
             i * 0.37 % 100, 'note ' || i from generate_series({}, {}) i",
                part * 8000 + 1,
                part * 8000 + 8000
            )],
        );
        running.instance.database().flush().expect("a flush");
    }
    for device in [3, 14, 159, 265] {
        sql(
            &running,
            &[&format!("select count(*), avg(value) from readings where device = {device}")],
        );
        sql(&running, &[&format!("select note from readings where id = {device}")]);
    }
    // Some rows stay in memory.
    sql(
        &running,
        &["insert into readings (id, device) select i, 1 from generate_series(48001, 48500) i"],
    );
    sql(&running, &["select '<img src=x onerror=window.pwned=1>' as \"<u>\""]);
    running
}

/// Each page, and what of the server's data has to stand there.
const PAGES: [(&str, &[&str]); 6] = [
    (
        "ledger",
        &["readings_device", "readings_value", "Never used", "Keep", "In cache", "Advice", HOSTILE],
    ),
    (
        "rates",
        &[
            "Median commit",
            "Rows that came in",
            "memory full",
            "24 hours",
            "Goals",
            "debt of merges",
        ],
    ),
    ("runs", &["readings_device", "48,500 rows, 500 of them in memory", "at rest", "affine"]),
    ("statements", &["from readings where device = $1", "Median", "99th"]),
    ("memory", &["memtables", "log", "dropped indexes", "Sum"]),
    ("sql", &["onlap_stat.tables", "Ctrl+Enter", "Stop"]),
];

fn address(running: &Running) -> String {
    format!("http://{}", running.server.http_address().expect("an address"))
}

fn show(browser: &mut Browser, base: &str, page: &str) {
    browser.open(&format!("{base}/#{page}"));
    browser.wait(&format!("document.body.dataset.shown === '{page}'"));
    if page == "rates" {
        browser.wait("document.querySelectorAll('path.line').length === 11 && [...document.querySelectorAll('path.line')].some((p) => p.getAttribute('d').includes('L'))");
    }
}

/// Rows that come in while the page is looked at are seen there.
fn moves(running: &Running, browser: &mut Browser, width: u32) {
    for part in 0..4 {
        let first = u64::from(width) * 10_000 + part * 100;
        sql(
            running,
            &[&format!(
                "insert into \"{HOSTILE}\" select i, 'x' from generate_series({first}, {}) i",
                first + 99
            )],
        );
        std::thread::sleep(std::time::Duration::from_millis(600));
    }
    browser.wait(
        "[...document.querySelectorAll('path.line')].every((p) => p.getAttribute('d').length > 0)",
    );
}

/// Advice is given where it is asked for.
fn advises(browser: &mut Browser) {
    let button =
        "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Ask for advice')";
    browser.eval(&format!("{button}.click()"));
    browser.wait("document.body.innerText.includes('DROP INDEX public.readings_value;')");
    browser.wait(&format!("Boolean({button})"));
}

/// An hour of history is asked for, and the statements stay as they are.
fn looks_back(browser: &mut Browser) {
    let button = "[...document.querySelectorAll('button')].find((b) => b.textContent === '1 hour')";
    browser.eval(&format!("{button}.click()"));
    browser.wait(&format!("{button}.getAttribute('aria-pressed') === 'true'"));
    assert_eq!(browser.eval("document.querySelectorAll('main .note.bad').length"), 0);
}

/// Where the landmarks are, without what depends on fonts and data: heights, and what stands below them.
fn layout(browser: &mut Browser) -> String {
    let boxes = browser.eval(
        "[...document.querySelectorAll('header, nav, #who, main, h1, main section, footer')].map((e) => { \
           const b = e.getBoundingClientRect(); \
           return [e.id || e.tagName.toLowerCase(), Math.round(b.left), Math.round(b.right), Math.round(b.top + scrollY), Math.round(b.height)]; })",
    );
    let mut text = String::new();
    let mut bottom = 0;
    for landmark in boxes.as_array().expect("boxes") {
        let name = landmark[0].as_str().expect("a name");
        let number = |at: usize| landmark[at].as_i64().expect("a number");
        let (left, right, top, height) = (number(1), number(2), number(3), number(4));
        assert!(height > 0, "{name} cannot be seen");
        if ["header", "main", "foot"].contains(&name) {
            // Each number is rounded.
            assert!(top + 1 >= bottom, "{name} lies on what is above it");
            bottom = top + height;
        }
        match name {
            // Their width is that of their words.
            "nav" | "who" | "h1" => writeln!(text, "{name}"),
            _ => writeln!(text, "{name} {left}..{right}"),
        }
        .expect("a string takes it");
    }
    text
}

#[test]
fn every_page_shows_the_servers_data() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let running = filled();
    let base = address(&running);
    let mut browser = Browser::start();
    let mut layouts = String::new();
    for width in WIDTHS {
        browser.resize(width, 900);
        for (page, texts) in PAGES {
            show(&mut browser, &base, page);
            let text = browser.eval("document.body.innerText + [...document.querySelectorAll('textarea')].map((t) => t.value)");
            let text = text.as_str().expect("text");
            for wanted in texts {
                let there = text.to_lowercase().contains(&wanted.to_lowercase());
                assert!(there, "{wanted:?} is not on {page} at {width} px:\n{text}");
            }
            let wide = browser.eval("document.documentElement.scrollWidth - innerWidth");
            assert!(
                wide.as_i64().is_some_and(|w| w <= 0),
                "{page} at {width} px is {wide} px too wide"
            );
            // Texts of the database stand there as texts.
            assert_eq!(browser.eval("document.querySelectorAll('main img, main script, main b:not(.plan b), main u').length"), 0);
            assert_eq!(browser.eval("typeof window.pwned"), "undefined");
            let _ = write!(layouts, "== {page} {width}\n{}", layout(&mut browser));
            match page {
                "rates" => {
                    moves(&running, &mut browser, width);
                    looks_back(&mut browser);
                }
                "ledger" => advises(&mut browser),
                _ => {}
            }
            browser.shoot(&format!("{page}-{width}"));
        }
    }
    let (errors, asked) = browser.told_of();
    assert!(errors.is_empty(), "{errors:#?}");
    let foreign: Vec<_> = asked
        .iter()
        .filter(|url| {
            !url.starts_with(&format!("{base}/"))
                && !url.starts_with("about:")
                && !url.starts_with("data:")
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    assert!(asked.iter().any(|url| url.ends_with("/api/query")));
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/console-layout.txt");
    if std::env::var_os("ONLAP_BLESS").is_some() {
        std::fs::write(golden, &layouts).expect("the file can be written");
    }
    let known = std::fs::read_to_string(golden).unwrap_or_default();
    assert_eq!(layouts, known, "ONLAP_BLESS=1 writes it anew");
}

/// The least contrast of a text on its background, by WCAG 2: its ratio, and the text.
const CONTRAST: &str = r"(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255, 255]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = [99, ''], seen = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, style = getComputedStyle(e);
    if (!walker.currentNode.data.trim() || !e.getClientRects().length || e.closest('.skip, script, style, title, option, button:disabled')) continue;
    seen += 1;
    const color = rgb(e.closest('svg') ? style.fill : style.color), ground = behind(e);
    const [a, b] = [light(color), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least[0]) least = [ratio, walker.currentNode.data];
  }
  return [least[0], least[1], seen];
})()";

#[test]
fn texts_can_be_read_by_day_and_by_night() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let running = filled();
    let base = address(&running);
    let mut browser = Browser::start();
    browser.resize(1440, 900);
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for (page, _) in PAGES {
            show(&mut browser, &base, page);
            let least = browser.eval(CONTRAST);
            let (ratio, seen) = (least[0].as_f64(), least[2].as_u64());
            assert!(seen.is_some_and(|n| n > 15), "{page}: {least}");
            assert!(ratio.is_some_and(|r| r >= 4.5), "{page}, {scheme}: {least}");
            browser.shoot(&format!("{page}-{scheme}"));
        }
    }
}

#[test]
fn a_keyboard_is_enough() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let running = filled();
    let base = address(&running);
    let mut browser = Browser::start();
    browser.resize(1440, 900);
    show(&mut browser, &base, "ledger");
    let mut reached = Vec::new();
    for _ in 0..16 {
        browser.press("Tab");
        let at = browser.eval(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e); \
             return [e.textContent, s.outlineStyle !== 'none']; })()",
        );
        assert_eq!(at[1], true, "focus cannot be seen at {at}");
        reached.push(at[0].as_str().unwrap_or_default().to_string());
    }
    for wanted in ["Skip to the page", "Indexes", "Runs", "SQL", "Log out", "Rows not read"] {
        assert!(reached.iter().any(|text| text == wanted), "{wanted}: {reached:?}");
    }
    // A head sorts, and keeps the focus while the page looks again.
    browser.eval("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'On disk').focus()");
    browser.press("Enter");
    assert_eq!(browser.eval("document.querySelector('th[aria-sort]').textContent"), "On disk");
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(browser.eval("document.activeElement.textContent"), "On disk");
    // A link goes to its page.
    browser.eval(
        "[...document.querySelectorAll('nav a')].find((a) => a.textContent === 'Runs').focus()",
    );
    browser.press("Enter");
    browser.wait("document.body.dataset.shown === 'runs'");
    let told = browser.eval("document.querySelector('svg[role=img]').getAttribute('aria-label')");
    assert!(told.as_str().is_some_and(|text| text.contains("readings_device: ")), "{told}");
}

#[test]
fn statements_and_plans_are_run_from_the_page() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let running = filled();
    let base = address(&running);
    let mut browser = Browser::start();
    browser.resize(1440, 900);
    show(&mut browser, &base, "sql");
    let run = |browser: &mut Browser, text: &str, button: &str| {
        browser.eval(&format!(
            "(() => {{ const t = document.querySelector('textarea'); t.value = {}; \
             t.dispatchEvent(new Event('input')); document.querySelector('#answer').replaceChildren(); \
             [...document.querySelectorAll('form button')].find((b) => b.textContent === '{button}').click(); }})()",
            json!(text)
        ));
        browser.wait("!document.querySelector('form button').disabled && document.querySelector('#answer').childNodes.length > 0");
        browser.eval("document.querySelector('#answer').innerText")
    };
    let hostile = format!("select 12345678901234567 as n, null as \"<i>\", '{HOSTILE}' as t");
    let told = run(&mut browser, &hostile, "Run");
    let told = told.as_str().expect("text");
    for wanted in ["12345678901234567", "<i>", "NULL", HOSTILE, "1 row"] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    browser.shoot("sql-rows");
    assert_eq!(browser.eval("document.querySelectorAll('#answer img, #answer i').length"), 0);
    let told = run(&mut browser, "delete from readings", "Run");
    assert!(told.as_str().is_some_and(|t| t.contains("25006")), "{told}");
    let told = run(&mut browser, "select * from readings order by id limit 3", "Run");
    assert!(told.as_str().is_some_and(|t| t.contains("3 rows")), "{told}");
    // What is saved has every digit and every quote.
    browser.eval("(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((t) => window.saved.push(t)); return make.call(URL, blob); }; HTMLAnchorElement.prototype.click = () => {}; })()");
    run(&mut browser, "select 12345678901234567 as n, 'a\"b,c' as t, null as x, true as y", "Run");
    for name in ["Save as CSV", "Save as JSON"] {
        browser.eval(&format!("[...document.querySelectorAll('#answer button')].find((b) => b.textContent === '{name}').click()"));
    }
    browser.wait("window.saved.length === 2");
    let saved = browser.eval("window.saved.sort()");
    assert_eq!(saved[1], "n,t,x,y\r\n12345678901234567,\"a\"\"b,c\",,t\r\n");
    assert_eq!(saved[0], "[{\"n\":12345678901234567,\"t\":\"a\\\"b,c\",\"x\":null,\"y\":true}]\n");
    run(
        &mut browser,
        "select r.note from readings r join readings s on s.id = r.id where r.device = 3",
        "Explain",
    );
    let nodes = browser.eval("document.querySelectorAll('#answer ul.plan li').length");
    let told = browser.eval("document.querySelector('#answer').innerText");
    assert!(nodes.as_u64().is_some_and(|n| n >= 3), "{nodes}: {told}");
    browser.shoot("sql-plan");
    // The plan of a statement that ran, with and without a value for its parameter.
    show(&mut browser, &base, "statements");
    browser.eval("[...document.querySelectorAll('tr')].find((r) => r.textContent.includes('where device = $1')).querySelector('button').click()");
    browser.wait("document.querySelectorAll('ul.plan li').length > 0");
    browser.shoot("statements-plan");
    let (errors, _) = browser.told_of();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_person_logs_in_with_a_password() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let running = with_password(http_config());
    let base = address(&running);
    let mut browser = Browser::start();
    browser.resize(1440, 900);
    browser.open(&format!("{base}/"));
    browser.wait("document.body.dataset.shown === 'login'");
    browser.shoot("login");
    let log_in = |browser: &mut Browser, password: &str| {
        browser.eval(&format!(
            "document.querySelector('#password').value = '{password}'; \
             document.querySelector('form').requestSubmit()"
        ));
    };
    log_in(&mut browser, "wrong");
    browser.wait("document.body.innerText.includes('password authentication failed')");
    log_in(&mut browser, "secret");
    browser.wait("document.body.dataset.shown === 'ledger'");
    // An empty database says what to do.
    browser.wait("document.body.innerText.includes('CREATE INDEX')");
    browser.shoot("empty");
    assert_eq!(browser.eval("document.cookie"), "", "scripts see no cookie");
    assert_eq!(
        browser.eval("Object.keys(localStorage).length + Object.keys(sessionStorage).length"),
        0
    );
    for page in ["rates", "runs", "statements", "memory"] {
        browser.eval(&format!("location.hash = '{page}'"));
        browser.wait(&format!("document.body.dataset.shown === '{page}'"));
    }
    browser.eval(
        "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Log out').click()",
    );
    browser.wait("document.body.dataset.shown === 'login'");
    assert_eq!(
        browser.eval("fetch('/api/session').then((a) => a.json()).then((s) => s.role)"),
        json!(null)
    );
}

/// `cargo test -p onlap-server --test console first_paint -- --nocapture` prints the figures.
#[test]
fn first_paint_and_weight() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let running = filled();
    let base = address(&running);
    let mut browser = Browser::start();
    browser.resize(1440, 900);
    let mut paints = Vec::new();
    let mut shown = Vec::new();
    for _ in 0..7 {
        browser.open(&format!("{base}/#ledger"));
        browser.wait("document.body.dataset.shown === 'ledger'");
        let at = browser.eval(
            "[performance.getEntriesByName('first-contentful-paint')[0].startTime, \
              Math.max(...performance.getEntriesByType('resource').map((r) => r.responseEnd))]",
        );
        paints.push(at[0].as_f64().expect("a time"));
        shown.push(at[1].as_f64().expect("a time"));
    }
    let weight = browser.eval(
        "performance.getEntriesByType('navigation')[0].transferSize + \
         performance.getEntriesByType('resource').reduce((all, r) => all + r.transferSize, 0)",
    );
    let weight = weight.as_f64().expect("bytes") / 1024.0;
    let page = browser.eval("performance.getEntriesByType('navigation')[0].encodedBodySize");
    let page = page.as_f64().expect("bytes") / 1024.0;
    for all in [&mut paints, &mut shown] {
        all.sort_by(f64::total_cmp);
    }
    println!(
        "first paint {:.0} ms (floor 500, target 200; median of {}, {:.0} to {:.0}), last answer of the \
         ledger after {:.0} ms; page {page:.0} KiB, with all that it asked for {weight:.0} KiB (floor 600, \
         target 300)",
        paints[3],
        paints.len(),
        paints[0],
        paints[6],
        shown[3],
    );
    assert!(weight < 300.0, "{weight} KiB");
    // Far above the floor of 500 ms, by the best of them: other tests run at the same time.
    assert!(paints[0] < 3000.0, "{paints:?}");
}
