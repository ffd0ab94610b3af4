//! What does a client want when it comes?
//!
//! The first message of a connection: who is it, or is it here for TLS or to cancel a statement? Pure, but
//! for [`answer_version`], which collects an answer.

use onlap_sql::{Reply, SessionInfo, SessionKey, SqlError};

use crate::frontend::{Reader, violation};

#[cfg(test)]
mod tests;

/// Bytes of a first message at most, as PostgreSQL has it.
pub const STARTUP_BYTES: usize = 10_000;

/// The newest minor version of protocol 3: 2 brought longer secrets for cancelling.
const MINOR: u32 = 2;
const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// The first message.
#[derive(Debug)]
pub enum First {
    /// May we speak TLS?
    Tls,
    /// May we speak GSSAPI?
    Gss,
    /// End the statement of another session.
    Cancel(SessionKey),
    /// Begin a session.
    Start(Start),
}

/// Who begins a session.
#[derive(Debug)]
pub struct Start {
    /// Who connects, but for the address.
    pub info: SessionInfo,
    /// The version and options that are not known, where there are any.
    unknown: Option<(u32, Vec<String>)>,
}

/// Reads the bytes after the length.
///
/// # Errors
/// It is none, or of another protocol.
pub fn first(body: &[u8]) -> Result<First, SqlError> {
    let mut r = Reader { rest: body };
    let code = r.u32()?;
    match code {
        TLS => return Ok(First::Tls),
        GSS => return Ok(First::Gss),
        CANCEL => {
            let (pid, secret) = (r.u32()? as i32, r.u32()? as i32);
            return Ok(First::Cancel(SessionKey { pid, secret }));
        }
        _ => {}
    }
    let (major, minor) = (code >> 16, code & 0xffff);
    if major != 3 {
        let text = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0");
        return Err(SqlError::new("0A000", text));
    }
    let mut start = Start { info: SessionInfo::default(), unknown: None };
    let mut options = Vec::new();
    loop {
        let name = r.string()?;
        if name.is_empty() {
            break;
        }
        let value = r.string()?;
        match name {
            "user" => start.info.user = value.to_string(),
            "database" => start.info.database = value.to_string(),
            "options" => start.info.settings.extend(command_line(value)?),
            "replication" => refuse_replication(value)?,
            _ if name.starts_with("_pq_.") => options.push(name.to_string()),
            _ => start.info.settings.push((name.to_string(), value.to_string())),
        }
    }
    if !r.rest.is_empty() {
        return Err(violation("invalid startup packet layout: expected terminator as last byte"));
    }
    if start.info.user.is_empty() {
        return Err(SqlError::new("28000", "no PostgreSQL user name specified in startup packet"));
    }
    if start.info.database.is_empty() {
        start.info.database = start.info.user.clone();
    }
    if minor > MINOR || !options.is_empty() {
        start.unknown = Some((minor.min(MINOR), options));
    }
    Ok(First::Start(start))
}

/// Tells a client that asked for more than we know what we know (NegotiateProtocolVersion).
pub fn answer_version(start: &Start, reply: &mut Reply) {
    let Some((minor, options)) = &start.unknown else { return };
    reply.message(b'v', |out| {
        out.extend_from_slice(&(3 << 16 | minor).to_be_bytes());
        out.extend_from_slice(&(options.len() as u32).to_be_bytes());
        for option in options {
            out.extend_from_slice(option.as_bytes());
            out.push(0);
        }
    });
}

fn refuse_replication(value: &str) -> Result<(), SqlError> {
    match value.to_ascii_lowercase().as_str() {
        "false" | "off" | "no" | "0" => Ok(()),
        _ => Err(SqlError::unsupported("replication")),
    }
}

/// Settings of `options`: `-c name=value`, `-cname=value`, `--name=value`; a backslash takes the next
/// character as it is.
fn command_line(text: &str) -> Result<Vec<(String, String)>, SqlError> {
    let mut settings = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let pair = match (word.as_str(), word.strip_prefix("--"), word.strip_prefix("-c")) {
            ("-c", _, _) => words.next().unwrap_or_default(),
            (_, Some(pair), _) | (_, None, Some(pair)) => pair.to_string(),
            _ => {
                let text = format!("invalid command-line argument for server process: {word}");
                return Err(SqlError::new("42601", text));
            }
        };
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| SqlError::new("42601", format!("-c {pair} requires a value")))?;
        // Setting names on a command line may be written with dashes.
        settings.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(settings)
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
