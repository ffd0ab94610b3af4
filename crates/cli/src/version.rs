//! Which release is this, and which formats does it read and write?

use std::sync::LazyLock;

/// Release and commit.
pub const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ONLAP_COMMIT"), ")");

/// The commit.
pub const COMMIT: &str = env!("ONLAP_COMMIT");

/// Release, commit and format versions.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let formats = onlap::FORMAT_VERSIONS.map(|(name, version)| format!("{name} {version}"));
        format!("{SHORT}\nformats: {}", formats.join(", "))
    });
    &TEXT
}
