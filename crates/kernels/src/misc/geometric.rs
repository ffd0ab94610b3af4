//! How are points, lines, boxes, paths, polygons and circles read and written?
//!
//! A value is its type's binary form in PostgreSQL: coordinates as float8, after the number of points where that varies, which a
//! path has behind a byte that says whether it is closed. The grammar of texts is that of PostgreSQL 15's documentation,
//! chapter 8.8: most brackets may be left out.
//!
//! Thread safety: pure functions.

use onlap_pg::value::{float, left_over};
use onlap_pg::{Error, Oid, Result};

use super::growth::Growth;
use crate::Cx;

pub(super) const POINT: Oid = 600;
pub(super) const LSEG: Oid = 601;
pub(super) const PATH: Oid = 602;
pub(crate) const BOX: Oid = 603;
pub(super) const POLYGON: Oid = 604;
pub(super) const LINE: Oid = 628;
pub(super) const CIRCLE: Oid = 718;

/// Two coordinates that differ by no more are one.
const EPSILON: f64 = 1.0e-6;

/// Whether a type is one of these.
pub(crate) fn is_served(oid: Oid) -> bool {
    matches!(oid, POINT | LSEG | PATH | BOX | POLYGON | LINE | CIRCLE)
}

fn name(oid: Oid) -> &'static str {
    match oid {
        POINT => "point",
        LSEG => "lseg",
        PATH => "path",
        BOX => "box",
        POLYGON => "polygon",
        LINE => "line",
        _ => "circle",
    }
}

type Point = [f64; 2];

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A text that is read from the left.
struct Scan<'a> {
    name: &'static str,
    whole: &'a str,
    rest: &'a str,
    cx: &'a Cx<'a>,
}

impl<'a> Scan<'a> {
    fn invalid(&self) -> Error {
        let text = format!("invalid input syntax for type {}: \"{}\"", self.name, self.whole);
        Error::new("22P02", text)
    }

    fn first(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    }

    /// Takes a mark, and blanks behind it, if it comes next.
    fn takes(&mut self, mark: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(mark) else { return false };
        self.rest = rest;
        self.skip_space();
        true
    }

    fn must(&mut self, mark: char) -> Result<()> {
        if self.takes(mark) { Ok(()) } else { Err(self.invalid()) }
    }

    fn must_end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.invalid()) }
    }

    /// The rest begins with a bracket that is the last one of its kind, or has another behind it.
    fn is_outer(&self) -> bool {
        let Some(inner) = self.rest.strip_prefix('(') else { return false };
        !inner.contains('(') || is_next(inner, '(')
    }

    fn number(&mut self) -> Result<f64> {
        self.skip_space();
        let length = number_length(self.rest.as_bytes());
        if length == 0 {
            return Err(self.invalid());
        }
        let (number, rest) = self.rest.split_at(length);
        let value = float::parse8(number)?;
        self.rest = rest;
        self.skip_space();
        Ok(value)
    }

    fn pair(&mut self) -> Result<Point> {
        self.skip_space();
        let bracketed = self.takes('(');
        let x = self.number()?;
        self.must(',')?;
        let y = self.number()?;
        if bracketed {
            self.must(')')?;
        }
        Ok([x, y])
    }

    /// `count` points, and whether they are in square brackets, which `opens` allows.
    fn points(&mut self, opens: bool, count: usize) -> Result<(Vec<Point>, bool)> {
        self.skip_space();
        let open = self.first() == Some(b'[');
        let mut depth = 0;
        if open {
            if !opens {
                return Err(self.invalid());
            }
            self.takes('[');
            depth = 1;
        } else if self.is_outer() {
            self.takes('(');
            depth = 1;
        }
        let mut points = Vec::new();
        let mut growth = Growth::new();
        for at in 0..count {
            if at % 1024 == 0 {
                self.cx.go_on()?;
                // The points, and then the value.
                growth.memory(self.cx, (at + 1024) * 2 * size_of::<Point>())?;
            }
            points.push(self.pair()?);
            self.takes(',');
        }
        while depth > 0 {
            let ends = self.takes(')') || open && self.takes(']');
            if !ends {
                return Err(self.invalid());
            }
            depth -= 1;
        }
        Ok((points, open))
    }

    /// The number of points that its commas say.
    fn count(&self) -> Result<usize> {
        let commas = self.whole.bytes().filter(|byte| *byte == b',').count();
        if commas % 2 == 1 { Ok(commas.div_ceil(2)) } else { Err(self.invalid()) }
    }
}

fn is_next(text: &str, mark: char) -> bool {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8)).starts_with(mark)
}

/// Bytes of the number that a text begins with.
fn number_length(bytes: &[u8]) -> usize {
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let word = |word: &str| {
        let found = bytes.get(sign..sign + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    if let Some(word) = ["infinity", "inf", "nan"].into_iter().find(|w| word(w)) {
        return sign + word.len();
    }
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = sign + digits(sign);
    let mut some = at > sign;
    if bytes.get(at) == Some(&b'.') {
        let more = digits(at + 1);
        some |= more > 0;
        at += 1 + more;
    }
    if !some {
        return 0;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let more = digits((at + 1 + sign).min(bytes.len()));
        if more > 0 {
            at += 1 + sign + more;
        }
    }
    at
}

/// The two corners of a box, the upper right one first.
fn corners(points: &[Point]) -> [f64; 4] {
    let ([a, b], [c, d]) = (points[0], points[1]);
    // NaN comes last, as where floats are sorted.
    let order = |a: f64, b: f64| if float::key8(a) < float::key8(b) { (b, a) } else { (a, b) };
    let ((high_x, low_x), (high_y, low_y)) = (order(a, c), order(b, d));
    [high_x, high_y, low_x, low_y]
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON || a.is_nan() && b.is_nan()
}

/// A, B and C of the line through two points.
fn line_through(points: &[Point]) -> Result<[f64; 3]> {
    let ([a, b], [c, d]) = (points[0], points[1]);
    if same(a, c) && same(b, d) {
        let text = "invalid line specification: must be two distinct points";
        return Err(Error::new("22P02", text));
    }
    if same(a, c) {
        return Ok([-1.0, 0.0, a]);
    }
    if same(b, d) {
        return Ok([0.0, -1.0, b]);
    }
    let slope = (b - d) / (a - c);
    // No zero with a sign.
    Ok([slope, -1.0, b - slope * a + 0.0])
}

fn put(values: &[f64], out: &mut Vec<u8>) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
}

fn put_points(points: &[Point], out: &mut Vec<u8>) {
    out.extend_from_slice(&(points.len() as i32).to_be_bytes());
    points.iter().for_each(|point| put(point, out));
}

/// Reads a text.
pub(crate) fn input(oid: Oid, text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut scan = Scan { name: name(oid), whole: text, rest: text, cx };
    let mut out = Vec::new();
    match oid {
        POINT => put(&scan.pair()?, &mut out),
        LSEG => scan.points(true, 2)?.0.iter().for_each(|point| put(point, &mut out)),
        BOX => put(&corners(&scan.points(false, 2)?.0), &mut out),
        POLYGON => {
            let count = scan.count()?;
            put_points(&scan.points(false, count)?.0, &mut out);
        }
        PATH => {
            let count = scan.count()?;
            let (points, open) = scan.points(true, count)?;
            out.push(u8::from(!open));
            put_points(&points, &mut out);
        }
        LINE => put(&line(&mut scan)?, &mut out),
        _ => put(&circle(&mut scan)?, &mut out),
    }
    scan.must_end()?;
    Ok(out)
}

fn line(scan: &mut Scan<'_>) -> Result<[f64; 3]> {
    scan.skip_space();
    if !scan.takes('{') {
        return line_through(&scan.points(true, 2)?.0);
    }
    let a = scan.number()?;
    scan.must(',')?;
    let b = scan.number()?;
    scan.must(',')?;
    let c = scan.number()?;
    scan.must('}')?;
    scan.must_end()?;
    if same(a, 0.0) && same(b, 0.0) { Err(flat("22P02")) } else { Ok([a, b, c]) }
}

fn flat(state: &'static str) -> Error {
    Error::new(state, "invalid line specification: A and B cannot both be zero")
}

fn circle(scan: &mut Scan<'_>) -> Result<[f64; 3]> {
    scan.skip_space();
    let angled = scan.takes('<');
    let rounded = !angled && scan.rest.strip_prefix('(').is_some_and(|rest| is_next(rest, '('));
    if rounded {
        scan.takes('(');
    }
    let [x, y] = scan.pair()?;
    scan.takes(',');
    let radius = scan.number()?;
    if radius < 0.0 {
        return Err(scan.invalid());
    }
    let ended = !(angled || rounded) || scan.takes(')') || angled && scan.takes('>');
    if ended { Ok([x, y, radius]) } else { Err(scan.invalid()) }
}

/// Coordinates of a value, and whether a path is closed.
fn parts(oid: Oid, bytes: &[u8]) -> (impl Iterator<Item = f64>, bool) {
    let (closed, rest) = match oid {
        PATH => (bytes.first() != Some(&0), bytes.get(5..)),
        POLYGON => (true, bytes.get(4..)),
        _ => (false, Some(bytes)),
    };
    let (numbers, _) = rest.unwrap_or_default().as_chunks::<8>();
    (numbers.iter().map(|bytes| f64::from_be_bytes(*bytes)), closed)
}

/// Coordinates of a value.
pub(super) fn floats(oid: Oid, bytes: &[u8]) -> impl Iterator<Item = f64> {
    parts(oid, bytes).0
}

/// Writes the text of a value.
///
/// # Errors
/// `53200`, `57014`.
pub(crate) fn output(oid: Oid, bytes: &[u8], cx: &Cx<'_>, out: &mut String) -> Result<()> {
    let (values, closed) = parts(oid, bytes);
    let (begin, end) = match oid {
        LINE => ("{", "}"),
        CIRCLE => ("<", ">"),
        POINT | BOX => ("", ""),
        POLYGON => ("(", ")"),
        PATH if closed => ("(", ")"),
        _ => ("[", "]"),
    };
    let mut growth = Growth::new();
    out.push_str(begin);
    for (at, value) in values.enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
            growth.memory(cx, out.len())?;
        }
        let (is_first, in_point) = (at % 2 == 0, oid != LINE && (oid != CIRCLE || at < 2));
        out.push_str(if at > 0 { "," } else { "" });
        out.push_str(if in_point && is_first { "(" } else { "" });
        out.push_str(&float::print8(value, cx.settings.extra_float_digits));
        out.push_str(if in_point && !is_first { ")" } else { "" });
    }
    out.push_str(end);
    Ok(())
}

/// Reads the binary form.
pub(crate) fn recv(oid: Oid, bytes: &[u8]) -> Result<Vec<u8>> {
    let short = || Error::new("08P01", "insufficient data left in message");
    let head = match oid {
        PATH => 5,
        POLYGON => 4,
        _ => 0,
    };
    let (front, rest) = bytes.split_at_checked(head).ok_or_else(short)?;
    let wanted = match (oid, front.last_chunk::<4>()) {
        (PATH | POLYGON, Some(count)) => match i32::from_be_bytes(*count) {
            // More than that have no memory in PostgreSQL.
            count @ 1..134_217_725 => count as usize * 2,
            _ => {
                let text = format!("invalid number of points in external \"{}\" value", name(oid));
                return Err(Error::new("22P03", text));
            }
        },
        (POINT, _) => 2,
        (LINE | CIRCLE, _) => 3,
        _ => 4,
    };
    let wrong = match rest.len() / 8 < wanted {
        true => Some(short()),
        false => (rest.len() != wanted * 8).then(left_over),
    };
    if let Some(error) = wrong {
        return Err(error);
    }
    // What has conditions has no more coordinates than four.
    let values: Vec<f64> = parts(oid, bytes).0.take(4).collect();
    let mut out = bytes.to_vec();
    match (oid, &values[..]) {
        (BOX, [a, b, c, d]) => {
            out.clear();
            put(&corners(&[[*a, *b], [*c, *d]]), &mut out);
        }
        (LINE, [a, b, _]) if same(*a, 0.0) && same(*b, 0.0) => return Err(flat("22P03")),
        (CIRCLE, [.., radius]) if *radius < 0.0 => {
            return Err(Error::new("22P03", "invalid radius in external \"circle\" value"));
        }
        _ => {}
    }
    Ok(out)
}
