//! How are the settings written down?
//!
//! The commented configuration file of `onlap config default`, and `docs/settings.md`.

use std::fmt::Write as _;

use super::registry::SETTINGS;
use super::value::{self, Value};
use super::{Context, Kind, Setting};

/// A configuration file in which every setting has its default and is commented out.
pub fn default_file() -> String {
    let mut out = String::from(
        "# Configuration of `onlap serve --config FILE`, in TOML. Every setting may also be given as an\n\
         # environment variable, ONLAP_ and its name in capitals, and many as a flag; these win.\n\
         # Those that sessions can change are what sessions begin with.\n",
    );
    let mut category = "";
    for s in SETTINGS.iter().filter(|s| s.context != Context::Fixed) {
        if s.category != category {
            category = s.category;
            let _ = write!(out, "\n## {category}\n");
        }
        let _ = write!(out, "\n# {}\n", wrapped(s.text, "# "));
        if let Kind::Word(words) = s.kind {
            let _ = writeln!(out, "# {}", wrapped(&format!("One of {}.", words.join(", ")), "# "));
        }
        // A name with a dot is one key.
        let quote = if s.name.contains('.') { "\"" } else { "" };
        let value = toml_value(s, &s.default_value());
        let _ = writeln!(out, "# {quote}{}{quote} = {value}", s.name);
    }
    out
}

/// `docs/settings.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# Settings\n\nGenerated from `crates/sql/src/settings/registry.rs`. Later sources win: the default, the file \
         of `onlap serve --config` (TOML, the\nnames below as keys), the environment (`ONLAP_` and the name in \
         capitals), the flag. *Start* settings need a\nrestart; *session* settings can be changed by `SET`, \
         *superuser* ones by superusers, and what the server was given is what sessions begin with;\n*fixed* ones only tell. `onlap config default` prints \
         a commented file, `onlap config print` the values in force and\nwhere they come from, and `SHOW ALL` and \
         `pg_settings` show them in a session. Times take `ms`, `s`, `min`, `h`,\n`d`; sizes `kB`, `MB`, `GB`, `TB` \
         (powers of 1024, also as `KiB` and so on).\n",
    );
    let mut category = "";
    for s in SETTINGS {
        if s.category != category {
            category = s.category;
            let _ = write!(
                out,
                "\n## {category}\n\n| setting | default | when | flag | what |\n|---|---|---|---|---|\n"
            );
        }
        let when = match s.context {
            Context::Fixed => "fixed",
            Context::Start => "start",
            Context::Session => "session",
            Context::Superuser => "superuser",
        };
        let flag = s.flag.map(|flag| format!("`--{flag}`")).unwrap_or_default();
        let default = match value::show(s.kind, &s.default_value()) {
            text if text.is_empty() => String::new(),
            text => format!("`{text}`"),
        };
        let mut text = s.text.to_string();
        if let Kind::Word(words) = s.kind {
            let _ = write!(text, " One of `{}`.", words.join("`, `"));
        }
        let _ = writeln!(out, "| `{}` | {default} | {when} | {flag} | {text} |", s.name);
    }
    out
}

/// A value as the file has it.
pub(super) fn toml_value(setting: &Setting, value: &Value) -> String {
    match value {
        Value::Flag(on) => on.to_string(),
        Value::Real(x) => x.to_string(),
        Value::Int(n) if value::show(setting.kind, value) == n.to_string() => n.to_string(),
        // TOML writes strings as JSON does.
        _ => serde_json::Value::String(value::show(setting.kind, value)).to_string(),
    }
}

fn wrapped(text: &str, prefix: &str) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        if width > 0 && width + word.len() > 96 {
            out.push('\n');
            out.push_str(prefix);
            width = 0;
        } else if width > 0 {
            out.push(' ');
        }
        out.push_str(word);
        width += word.len() + 1;
    }
    out
}
