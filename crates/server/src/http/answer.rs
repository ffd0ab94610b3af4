//! What does an HTTP answer look like?
//!
//! Every answer says what it is and that browsers must not guess, that no cache keeps it, and that no other site may
//! embed or read it. Pure.

use std::fmt::Write as _;

use crate::console::page;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lines.
    Text,
    /// Prometheus' format.
    Metrics,
    /// For the console's page.
    Json,
    /// The console's page.
    Page,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Status code and its words.
    pub(crate) status: &'static str,
    kind: Kind,
    /// Further lines of the head.
    more: String,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// An answer of a kind.
    pub(crate) fn new(status: &'static str, kind: Kind, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status, kind, more: String::new(), body: body.into() }
    }
    /// Lines.
    pub(crate) fn text(status: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer::new(status, Kind::Text, body)
    }
    /// The same with a line of the head; the value is ours.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Answer {
        let _ = write!(self.more, "{name}: {value}\r\n");
        self
    }
    /// The head.
    pub(crate) fn head(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Text => "text/plain; charset=utf-8",
            Kind::Metrics => "text/plain; version=0.0.4; charset=utf-8",
            Kind::Json => "application/json",
            Kind::Page => "text/html; charset=utf-8",
        };
        let policy = match self.kind {
            Kind::Page => page::policy(),
            _ => "default-src 'none'; frame-ancestors 'none'",
        };
        let Answer { status, more, body, .. } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Content-Security-Policy: {policy}\r\nX-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n{more}\r\n"
        )
        .into_bytes()
    }
}
