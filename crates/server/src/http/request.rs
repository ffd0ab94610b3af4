//! What does an HTTP request say?
//!
//! Method, path, headers and a body of a known length; `httparse` reads the head. What could be read in two ways is
//! refused: bodies without a length or with two, headers that count and come twice. Pure; nothing panics on bytes from
//! outside (I8).

use super::answer::Answer;

#[cfg(test)]
mod tests;

/// Bytes of a request's head at most.
pub(crate) const HEAD_BYTES: usize = 8 << 10;
/// Bytes of its body at most: statements that people write, and the page's own.
pub(crate) const BODY_BYTES: usize = 32 << 10;
/// Headers at most: browsers send some twenty.
const HEADERS: usize = 64;

/// How much of a request is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Some of it.
    Incomplete,
    /// All of it.
    Whole,
    /// It is none, or too large: no more bytes are wanted.
    Refused,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// `GET` or something else.
    pub(crate) method: &'a str,
    /// Without what comes behind a question mark.
    pub(crate) path: &'a str,
    /// As many bytes as its head says.
    pub(crate) body: &'a [u8],
    headers: Vec<(&'a str, &'a [u8])>,
}

/// Looks whether a request is there.
pub(crate) fn progress(bytes: &[u8]) -> Progress {
    let looked = &bytes[..bytes.len().min(HEAD_BYTES)];
    let Some(at) = looked.windows(4).position(|w| w == b"\r\n\r\n") else {
        return if bytes.len() > HEAD_BYTES { Progress::Refused } else { Progress::Incomplete };
    };
    match head(&bytes[..at + 4]) {
        Ok((_, length)) if bytes.len() - at - 4 >= length => Progress::Whole,
        Ok(_) => Progress::Incomplete,
        Err(_) => Progress::Refused,
    }
}

impl<'a> Request<'a> {
    /// Reads a whole request, or says why it is refused.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Request<'a>, Answer> {
        let looked = &bytes[..bytes.len().min(HEAD_BYTES)];
        let Some(at) = looked.windows(4).position(|w| w == b"\r\n\r\n") else {
            return Err(Answer::text(
                "431 Request Header Fields Too Large",
                "the head is too long\n",
            ));
        };
        let (mut request, length) = head(&bytes[..at + 4])?;
        let Some(body) = bytes[at + 4..].get(..length) else {
            return Err(Answer::text("400 Bad Request", "the body is cut short\n"));
        };
        request.body = body;
        Ok(request)
    }

    /// The value of a header that comes once; `None` where it is missing, twice there, or not text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        let mut found = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let (_, value) = found.next()?;
        match found.next() {
            None => std::str::from_utf8(value).ok().map(str::trim),
            Some(_) => None,
        }
    }

    /// Whether a header is there, once or many times.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
    }

    /// The cookie of a name.
    pub(crate) fn cookie(&self, name: &str) -> Option<&'a str> {
        let pairs = self.header("cookie")?.split(';');
        let mut found = pairs.filter_map(|pair| pair.trim().split_once('='));
        found.find_map(|(n, value)| (n == name).then_some(value))
    }
}

/// Reads a head, with its empty line, and how long the body is.
fn head(bytes: &[u8]) -> Result<(Request<'_>, usize), Answer> {
    let bad = |why: &str| Answer::text("400 Bad Request", format!("{why}\n"));
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(bad("the head is cut short")),
        Err(httparse::Error::TooManyHeaders) => {
            let status = "431 Request Header Fields Too Large";
            return Err(Answer::text(status, "there are too many headers\n"));
        }
        Err(e) => return Err(bad(&e.to_string())),
    }
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
        return Err(bad("there is no method or path"));
    };
    let path = target.split('?').next().unwrap_or_default();
    let headers = parsed.headers.iter().map(|h| (h.name, h.value)).collect();
    let request = Request { method, path, body: &[], headers };
    if request.has("transfer-encoding") {
        return Err(Answer::text("501 Not Implemented", "bodies need a length\n"));
    }
    let length = match (request.has("content-length"), request.header("content-length")) {
        (false, _) => 0,
        (true, Some(text)) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            text.parse().unwrap_or(usize::MAX)
        }
        (true, _) => return Err(bad("the length is none")),
    };
    if length > BODY_BYTES {
        return Err(Answer::text("413 Content Too Large", "the body is too long\n"));
    }
    Ok((request, length))
}
