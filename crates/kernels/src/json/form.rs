//! How does a jsonb value lie in a column?
//!
//! What a value is stands in its last byte, so that values are written in one pass; its length comes from what it is in.
//!
//! | last byte | before it |
//! |---|---|
//! | 0 null, 1 false, 2 true | nothing |
//! | 3 number | the form of a numeric |
//! | 4 string | UTF-8 |
//! | 5 array | the elements; where each ends (4 bytes each); how many there are (4 bytes); depth (2 bytes) |
//! | 6 object | keys and values; per pair, in the order of keys, where the key begins, where the key ends and its value begins, where the value ends (12 bytes); how many there are (4 bytes); depth (2 bytes) |
//!
//! Numbers are little-endian; places count from the container's first byte. The depth of a container is one more than that
//! of its deepest value; it is limited ([`MAX_DEPTH`]), so that whatever walks a value may do so by recursion. Keys are unique and sorted by length,
//! then by bytes, as PostgreSQL sorts them.
//!
//! ```
//! use onlap_kernels::json::Encoder;
//! let mut out = Encoder::new();
//! out.begin_array();
//! out.text("a").unwrap();
//! out.bool(true).unwrap();
//! out.end().unwrap();
//! assert_eq!(out.finish(), [b'a', 4, 2, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 5]);
//! ```
//!
//! Thread safety: plain data.

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result, worked};

use crate::array::packed::u32_at;

/// The most bytes of a jsonb value: PostgreSQL's JENTRY_OFFLENMASK.
pub const MAX_JSONB: usize = 0x0fff_ffff;

/// How deep values may be nested: what PostgreSQL's stack takes is more, and depends on its settings.
pub const MAX_DEPTH: usize = 1000;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;

/// "stack depth limit exceeded".
pub(crate) fn too_deep() -> Error {
    Error::new("54001", "stack depth limit exceeded")
}

fn too_large(what: &str) -> Error {
    let message = format!("total size of jsonb {what} exceeds the maximum of {MAX_JSONB} bytes");
    Error::new("54000", message)
}

/// A value as it lies in a column.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// A number in the form of numeric.
    Number(&'a [u8]),
    /// A string.
    Text(&'a str),
    /// An array.
    Array(Items<'a>),
    /// An object.
    Object(Pairs<'a>),
}

/// Reads a value.
///
/// # Panics
/// The bytes are none that an [`Encoder`] made.
pub fn node(bytes: &[u8]) -> Node<'_> {
    let (tag, body) = bytes.split_last().expect("a jsonb value has a byte that says what it is");
    match *tag {
        NULL => Node::Null,
        FALSE => Node::Bool(false),
        TRUE => Node::Bool(true),
        NUMBER => Node::Number(body),
        TEXT => Node::Text(text(body)),
        ARRAY => Node::Array(Items(split(body, 4))),
        OBJECT => Node::Object(Pairs(split(body, 12))),
        other => unreachable!("{other} is no kind of jsonb value"),
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("a jsonb string is UTF-8")
}

/// What is in a container, and where: entries of a given width.
fn split(body: &[u8], entry: usize) -> (&[u8], &[u8]) {
    let (body, count) = body.split_at(body.len() - 6);
    body.split_at(body.len() - u32_at(count, 0) as usize * entry)
}

/// How deep a value is nested: 0 for a scalar.
pub fn depth(bytes: &[u8]) -> usize {
    match bytes {
        [.., low, high, ARRAY | OBJECT] => usize::from(u16::from_le_bytes([*low, *high])),
        _ => 0,
    }
}

/// The elements of an array.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a>((&'a [u8], &'a [u8]));

impl<'a> Items<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.1.len() / 4
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.1.is_empty()
    }

    /// The bytes of an element, from 0.
    pub fn raw(&self, at: usize) -> Option<&'a [u8]> {
        if at >= self.len() {
            return None;
        }
        let start = if at == 0 { 0 } else { u32_at(self.0.1, at * 4 - 4) };
        Some(&self.0.0[start as usize..u32_at(self.0.1, at * 4) as usize])
    }

    /// The bytes of the elements.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let items = *self;
        (0..self.len()).map(move |at| items.raw(at).expect("it is one of the elements"))
    }
}

/// The pairs of an object.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a>((&'a [u8], &'a [u8]));

impl<'a> Pairs<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.1.len() / 12
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.1.is_empty()
    }

    /// The key and the bytes of the value of a pair, from 0 in the order of keys.
    pub fn pair(&self, at: usize) -> (&'a str, &'a [u8]) {
        let place = |n: usize| u32_at(self.0.1, at * 12 + n * 4) as usize;
        let data = self.0.0;
        (text(&data[place(0)..place(1)]), &data[place(1)..place(2)])
    }

    /// The bytes of the value of a key.
    pub fn raw(&self, key: &str) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let (found, value) = self.pair(middle);
            match order(found, key) {
                std::cmp::Ordering::Equal => return Some(value),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The keys and the bytes of the values, in the order of keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let pairs = *self;
        (0..self.len()).map(move |at| pairs.pair(at))
    }
}

/// The order of keys in an object.
fn order(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// A container that is being written.
#[derive(Clone, Debug)]
struct Open {
    start: usize,
    depth: usize,
    parts: Parts,
}

#[derive(Clone, Debug)]
enum Parts {
    Array(Vec<u32>),
    Object(Vec<[u32; 3]>),
}

/// Writes a value: scalars, and between `begin_…` and [`Encoder::end`] what a container has.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    out: Vec<u8>,
    open: Vec<Open>,
    /// What the tables of open containers take.
    tables: usize,
}

impl Encoder {
    /// An empty one.
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Takes note that a value was written, and how deep it is.
    fn done(&mut self, depth: usize) -> Result<()> {
        worked(8)?;
        let end = self.out.len();
        let mut what = "array elements";
        if let Some(open) = self.open.last_mut() {
            open.depth = open.depth.max(depth + 1);
            if open.depth > MAX_DEPTH {
                return Err(too_deep());
            }
            let end = (end - open.start) as u32;
            match &mut open.parts {
                Parts::Array(ends) => {
                    ends.push(end);
                    self.tables += 4;
                }
                Parts::Object(pairs) => {
                    what = "object elements";
                    pairs.last_mut().expect("a value comes after its key")[2] = end;
                }
            }
        }
        // With what ends the open containers: to end them does not make it too large.
        let whole = end + self.tables + self.open.len() * 7;
        if whole <= MAX_JSONB { Ok(()) } else { Err(too_large(what)) }
    }

    /// null
    ///
    /// # Errors
    /// `54000`: the value is too large; as all that follow.
    pub fn null(&mut self) -> Result<()> {
        self.out.push(NULL);
        self.done(0)
    }

    /// true or false
    ///
    /// # Errors
    /// As [`Encoder::null`].
    pub fn bool(&mut self, value: bool) -> Result<()> {
        self.out.push(if value { TRUE } else { FALSE });
        self.done(0)
    }

    /// A number.
    ///
    /// # Errors
    /// As [`Encoder::null`].
    pub fn number(&mut self, value: &Numeric) -> Result<()> {
        value.store(&mut self.out);
        self.out.push(NUMBER);
        self.done(0)
    }

    /// A string.
    ///
    /// # Errors
    /// As [`Encoder::null`].
    pub fn text(&mut self, value: &str) -> Result<()> {
        if value.len() > MAX_JSONB {
            return Err(Error::new("54000", "string too long to represent as jsonb string"));
        }
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(TEXT);
        self.done(0)
    }

    /// A number in the form of numeric.
    ///
    /// # Errors
    /// As [`Encoder::null`].
    pub fn number_form(&mut self, value: &[u8]) -> Result<()> {
        self.out.extend_from_slice(value);
        self.out.push(NUMBER);
        self.done(0)
    }

    /// A value that was encoded before.
    ///
    /// # Errors
    /// As [`Encoder::null`].
    pub fn raw(&mut self, value: &[u8]) -> Result<()> {
        self.out.extend_from_slice(value);
        self.done(depth(value))
    }

    /// Begins an array.
    pub fn begin_array(&mut self) {
        self.begin(Parts::Array(Vec::new()));
    }

    /// Begins an object.
    pub fn begin_object(&mut self) {
        self.begin(Parts::Object(Vec::new()));
    }

    fn begin(&mut self, parts: Parts) {
        self.open.push(Open { start: self.out.len(), depth: 1, parts });
    }

    /// A key of the object that was begun last; its value comes next. Of equal keys the last counts.
    ///
    /// # Errors
    /// As [`Encoder::null`].
    ///
    /// # Panics
    /// What was begun last is no object.
    pub fn key(&mut self, key: &str) -> Result<()> {
        let begin = self.out.len();
        if key.len() > MAX_JSONB || begin + key.len() + self.tables > MAX_JSONB {
            return Err(too_large("object elements"));
        }
        let Some(Open { start, parts: Parts::Object(pairs), .. }) = self.open.last_mut() else {
            unreachable!("a key is in an object")
        };
        self.out.extend_from_slice(key.as_bytes());
        pairs.push([(begin - *start) as u32, (self.out.len() - *start) as u32, 0]);
        self.tables += 12;
        Ok(())
    }

    /// How many containers are open.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Bytes that it has taken.
    pub fn size(&self) -> usize {
        self.out.len() + self.tables
    }

    /// Ends the container that was begun last.
    ///
    /// # Errors
    /// As [`Encoder::null`].
    ///
    /// # Panics
    /// None was begun.
    pub fn end(&mut self) -> Result<()> {
        let Open { start, depth, parts } = self.open.pop().expect("a container was begun");
        let (count, kind) = match parts {
            Parts::Array(ends) => {
                self.tables -= ends.len() * 4;
                self.out.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
                (ends.len(), ARRAY)
            }
            Parts::Object(mut pairs) => {
                self.tables -= pairs.len() * 12;
                self.sort(start, &mut pairs);
                self.out.extend(pairs.iter().flatten().flat_map(|place| place.to_le_bytes()));
                (pairs.len(), OBJECT)
            }
        };
        self.out.extend_from_slice(&(count as u32).to_le_bytes());
        self.out.extend_from_slice(&(depth as u16).to_le_bytes());
        self.out.push(kind);
        self.done(depth)
    }

    /// Sorts pairs and takes out those whose key comes again later.
    fn sort(&mut self, start: usize, pairs: &mut Vec<[u32; 3]>) {
        let data = &self.out[start..];
        let key = |pair: &[u32; 3]| &data[pair[0] as usize..pair[1] as usize];
        // Stable: of equal keys the last one stays last.
        pairs.sort_by(|a, b| (a[1] - a[0]).cmp(&(b[1] - b[0])).then_with(|| key(a).cmp(key(b))));
        let before = pairs.len();
        let mut kept: Vec<[u32; 3]> = Vec::with_capacity(before);
        for pair in pairs.iter() {
            match kept.last_mut().filter(|last| key(last) == key(pair)) {
                Some(last) => *last = *pair,
                None => kept.push(*pair),
            }
        }
        if kept.len() == before {
            return;
        }
        let mut data = Vec::with_capacity(self.out.len() - start);
        for pair in &mut kept {
            let begin = data.len() as u32;
            data.extend_from_slice(&self.out[start + pair[0] as usize..start + pair[2] as usize]);
            *pair = [begin, begin + pair[1] - pair[0], begin + pair[2] - pair[0]];
        }
        self.out.truncate(start);
        self.out.extend_from_slice(&data);
        *pairs = kept;
    }

    /// The value.
    ///
    /// # Panics
    /// A container was not ended.
    pub fn finish(self) -> Vec<u8> {
        assert!(self.open.is_empty(), "every container was ended");
        self.out
    }
}
