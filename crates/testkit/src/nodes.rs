//! What is in the text of nodes that PostgreSQL prints?
//!
//! Reads `{NODE :field value …}` into a tree. Pure.

/// A part of a printed tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A word; `<>` for nothing.
    Word(String),
    /// `( … )`
    List(Vec<Part>),
    /// A node: its kind, its fields.
    Node(String, Vec<(String, Vec<Part>)>),
}

fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        if escaped {
            // Long lines are broken at blanks, also at those of names.
            word.push(if c == '\n' { ' ' } else { c });
            escaped = false;
            continue;
        }
        match c {
            '\\' => escaped = true,
            '(' | ')' | '{' | '}' | ' ' | '\n' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if !matches!(c, ' ' | '\n') {
                    words.push(c.to_string());
                }
            }
            c => word.push(c),
        }
    }
    words
}

fn part(words: &[String], at: &mut usize) -> Part {
    let word = &words[*at];
    *at += 1;
    match word.as_str() {
        "(" => {
            let mut parts = Vec::new();
            while words[*at] != ")" {
                parts.push(part(words, at));
            }
            *at += 1;
            Part::List(parts)
        }
        "{" => {
            let name = words[*at].clone();
            *at += 1;
            let mut fields: Vec<(String, Vec<Part>)> = Vec::new();
            while words[*at] != "}" {
                match words[*at].strip_prefix(':') {
                    Some(field) => {
                        fields.push((field.to_owned(), Vec::new()));
                        *at += 1;
                    }
                    None => {
                        let value = part(words, at);
                        fields.last_mut().expect("a field's name is first").1.push(value);
                    }
                }
            }
            *at += 1;
            Part::Node(name, fields)
        }
        _ => Part::Word(word.clone()),
    }
}

impl Part {
    /// Reads a tree.
    ///
    /// # Panics
    /// The text is none.
    pub fn read(text: &str) -> Part {
        part(&split(text), &mut 0)
    }

    /// The values of a field.
    pub fn field(&self, name: &str) -> Option<&[Part]> {
        let Part::Node(_, fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, parts)| parts.as_slice())
    }

    /// The word in a field; empty where there is none.
    pub fn word(&self, name: &str) -> &str {
        match self.field(name).and_then(<[Part]>::first) {
            Some(Part::Word(word)) => word,
            _ => "",
        }
    }

    /// The node in a field.
    pub fn node(&self, name: &str) -> Option<&Part> {
        self.field(name).and_then(<[Part]>::first).filter(|part| matches!(part, Part::Node(..)))
    }

    /// The list in a field.
    pub fn list(&self, name: &str) -> &[Part] {
        match self.field(name).and_then(<[Part]>::first) {
            Some(Part::List(parts)) => parts,
            _ => &[],
        }
    }
}
