//! What does a release consist of?
//!
//! `cargo run -p xtask -- release` makes, in `target/release-files`: a tarball for each target that is installed
//! (static, musl), a Debian package where cargo-deb is, a list of all that is inside ([`sbom`]), and checksums. Steps:
//!
//! 1. Build the binary, with the server, for each target.
//! 2. Let a binary of this machine write its manual pages and completions.
//! 3. Pack the tarballs; let cargo-deb pack the same files by `crates/cli/Cargo.toml`.
//! 4. Write the SBOM and `SHA256SUMS`.
//!
//! `-- release --binary FILE` packs a binary that is there, in place of step 1: to try the packaging without the long
//! build. A target that is not installed is named and left out.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

mod sbom;

/// Targets of tarballs, and how files call them.
const TARGETS: [(&str, &str); 2] = [
    ("x86_64-unknown-linux-musl", "x86_64-linux"),
    ("aarch64-unknown-linux-musl", "aarch64-linux"),
];

/// Completions: the shell and the file's name.
const SHELLS: [(&str, &str); 3] =
    [("bash", "onlap.bash"), ("zsh", "_onlap"), ("fish", "onlap.fish")];

/// What lies in a tarball beyond the binary.
const DOCUMENTS: [&str; 3] = ["README.md", "LICENSE", "CHANGELOG.md"];

type Result<T> = std::result::Result<T, String>;

/// Makes a release, or tells what stands in the way.
pub(crate) fn make(root: &Path, binary: Option<&str>) -> ExitCode {
    match make_all(root, binary) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("no release: {text}");
            ExitCode::FAILURE
        }
    }
}

fn make_all(root: &Path, binary: Option<&str>) -> Result<()> {
    let out = root.join("target/release-files");
    let share = out.join("share");
    if out.exists() {
        std::fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    }
    make_dir(&share)?;
    let binaries = match binary {
        Some(path) => vec![(PathBuf::from(path), host_name())],
        None => build(root)?,
    };
    let (own, _) = binaries.first().ok_or("no target is installed")?;
    write_share(own, &share)?;
    for (binary, name) in &binaries {
        pack(root, &out, &share, binary, name)?;
    }
    debian(root, &out, binary)?;
    let mut tree = Command::new("cargo");
    tree.current_dir(root).args(["tree", "--locked", "-p", "onlap-cli", "-e", "normal"]);
    tree.args(["--target", TARGETS[0].0, "--prefix", "none", "-f", sbom::FORMAT]);
    write(&out.join("onlap.cdx.json"), sbom::document(&output(&mut tree)?)?)?;
    checksums(&out)
}

/// Step 1: the binary of each target that is installed, that of this machine first.
fn build(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let libraries = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(libraries.trim()).join("lib/rustlib");
    let mut built = Vec::new();
    for (target, name) in TARGETS {
        if !libraries.join(target).exists() {
            println!("left out: {target} is not installed (rustup target add {target})");
            continue;
        }
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).args(["build", "--release", "--locked", "-p", "onlap-cli"]);
        run(cargo.args(["--target", target]))?;
        built.push((root.join("target").join(target).join("release/onlap"), name.to_owned()));
    }
    built.sort_by_key(|(_, name)| *name != host_name());
    Ok(built)
}

fn host_name() -> String {
    format!("{}-linux", std::env::consts::ARCH)
}

/// Step 2.
fn write_share(onlap: &Path, share: &Path) -> Result<()> {
    run(Command::new(onlap).args(["reference", "--man"]).arg(share.join("man")))?;
    for (shell, file) in SHELLS {
        let script = output(Command::new(onlap).args(["completions", shell]))?;
        write(&share.join(file), script)?;
    }
    Ok(())
}

/// Step 3: a tarball with one folder, whose bytes do not depend on who packs it, or when.
fn pack(root: &Path, out: &Path, share: &Path, binary: &Path, name: &str) -> Result<()> {
    let folder = format!("onlap-{name}");
    let dir = out.join(&folder);
    make_dir(&dir)?;
    copy(binary, &dir.join("onlap"))?;
    for document in DOCUMENTS {
        copy(&root.join(document), &dir.join(document))?;
    }
    run(Command::new("strip").arg(dir.join("onlap")))?;
    run(Command::new("cp").arg("-r").arg(share).arg(dir.join("share")))?;
    let packed = format!("onlap-{}-{name}.tar.gz", env!("CARGO_PKG_VERSION"));
    run(Command::new("tar").current_dir(out).args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
        "-czf",
        &packed,
        &folder,
    ]))
}

/// Step 3: the package of this machine. cargo-deb builds the binary itself, unless one was given.
fn debian(root: &Path, out: &Path, binary: Option<&str>) -> Result<()> {
    if Command::new("cargo-deb").arg("--version").output().is_err() {
        println!("left out: the Debian package (cargo install cargo-deb)");
        return Ok(());
    }
    let mut deb = Command::new("cargo-deb");
    deb.current_dir(root).args(["-p", "onlap-cli", "--locked", "--output"]).arg(out);
    if let Some(binary) = binary {
        let release = root.join("target/release");
        make_dir(&release)?;
        copy(Path::new(binary), &release.join("onlap"))?;
        deb.env("CARGO_TARGET_DIR", root.join("target")).args(["--no-build"]);
    }
    run(&mut deb)
}

/// Step 4.
fn checksums(out: &Path) -> Result<()> {
    let mut names: Vec<String> = std::fs::read_dir(out)
        .map_err(|e| e.to_string())?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| [".tar.gz", ".deb", ".json"].iter().any(|end| name.ends_with(end)))
        .collect();
    names.sort();
    let sums = output(Command::new("sha256sum").current_dir(out).arg("--").args(&names))?;
    print!("{sums}");
    write(&out.join("SHA256SUMS"), sums)
}

fn make_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
}

fn write(path: &Path, text: String) -> Result<()> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = std::fs::copy(from, to).map(drop);
    copied.map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn output(command: &mut Command) -> Result<String> {
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !out.status.success() {
        let text = String::from_utf8_lossy(&out.stderr);
        return Err(format!("{command:?}: {}\n{text}", out.status));
    }
    String::from_utf8(out.stdout).map_err(|e| format!("{command:?}: {e}"))
}
