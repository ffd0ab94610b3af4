//! The `onlap` binary.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(onlap_cli::run(std::env::args_os()))
}
