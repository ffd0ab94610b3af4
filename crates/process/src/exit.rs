//! With which code does a program end?
//!
//! 0 success, 1 a finding or failure, 2 wrong usage or nothing to open, 130 interrupted.

use std::process::ExitCode;

use onlap_base::{Error, ErrorKind, Result};

/// How a command ended that did not fail.
pub enum Outcome {
    /// All is well.
    Good,
    /// It ended as it should and found something wrong.
    Finding,
    /// The named directory could not be opened as a database.
    NotOpened(Error),
}

/// Says on standard error what went wrong, under the program's name, and ends with the exit code.
pub fn end(program: &str, result: Result<Outcome>) -> ExitCode {
    ExitCode::from(told(program, result))
}

/// The same; the exit code as a number.
pub fn told(program: &str, result: Result<Outcome>) -> u8 {
    match result {
        Ok(Outcome::Good) => 0,
        Ok(Outcome::Finding) => 1,
        Ok(Outcome::NotOpened(error)) => {
            eprintln!("{program}: {error}");
            2
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            code(&error)
        }
    }
}

/// 2 where the arguments or what they name cannot be used, 130 where the user interrupted, else 1.
fn code(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::Cancelled => 130,
        ErrorKind::InvalidInput
        | ErrorKind::Unsupported
        | ErrorKind::NotFound
        | ErrorKind::Locked
        | ErrorKind::NewerFormat => 2,
        _ => 1,
    }
}
