//! What is the console's page?
//!
//! One text, put together from the files of `crates/server/console` when it is first asked for: no build step, no
//! file to serve, nothing from another host. Its policy names the very scripts and styles that are in it by their
//! hashes, so that nothing else runs, and lets no text become HTML (Trusted Types).

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

const FRAME: &str = include_str!("../../console/index.html");
const STYLE: &str = include_str!("../../console/style.css");
/// In the order in which they need each other.
const SCRIPTS: [&str; 11] = [
    include_str!("../../console/dom.js"),
    include_str!("../../console/format.js"),
    include_str!("../../console/scram.js"),
    include_str!("../../console/server.js"),
    include_str!("../../console/charts.js"),
    include_str!("../../console/ledger.js"),
    include_str!("../../console/rates.js"),
    include_str!("../../console/runs.js"),
    include_str!("../../console/statements.js"),
    include_str!("../../console/memory.js"),
    include_str!("../../console/sql.js"),
];
const MAIN: &str = include_str!("../../console/main.js");

struct Page {
    text: String,
    policy: String,
}

static PAGE: LazyLock<Page> = LazyLock::new(|| {
    let script = format!("\"use strict\";(() => {{\n{}\n{MAIN}\n}})();\n", SCRIPTS.join("\n"));
    let text = FRAME.replace("/*style*/", STYLE).replace("/*script*/", &script);
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(&script),
        hash(STYLE)
    );
    Page { text, policy }
});

/// The page.
pub(crate) fn text() -> &'static str {
    &PAGE.text
}

/// Its Content-Security-Policy.
pub(crate) fn policy() -> &'static str {
    &PAGE.policy
}

fn hash(text: &str) -> String {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    format!("sha256-{}", STANDARD.encode(digest.as_ref()))
}
