//! Are bytes a text? Texts are UTF-8 without the zero character.

use crate::{Error, Result};

/// The text that bytes are.
///
/// # Errors
/// `22021`: they are none.
pub fn text(bytes: &[u8]) -> Result<&str> {
    let read = std::str::from_utf8(bytes);
    if let Ok(text) = read
        && !bytes.contains(&0)
    {
        return Ok(text);
    }
    let valid = read.map_or_else(|e| e.valid_up_to(), str::len);
    let zero = bytes[..valid].iter().position(|byte| *byte == 0);
    match (read, zero) {
        (Ok(text), None) => Ok(text),
        (_, zero) => Err(refused(&bytes[zero.unwrap_or(valid)..])),
    }
}

/// Bytes that no character begins with.
fn refused(bytes: &[u8]) -> Error {
    // As many as the first byte promises, where they are there.
    let length = match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes.iter().take(length).map(|b| format!("0x{b:02x}")).collect();
    let text = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Error::new("22021", text)
}
