//! Names the commit that the binary is built from; `unknown` outside a git checkout.

#![allow(clippy::disallowed_methods, reason = "a build script has no seams")]

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(out.stdout).ok()?.trim().to_owned();
        (out.status.success() && !text.is_empty()).then_some(text)
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    // Both change with every commit, the first also with every checkout.
    for file in ["logs/HEAD", "HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rustc-env=ONLAP_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}
