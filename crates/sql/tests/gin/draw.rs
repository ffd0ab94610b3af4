//! Values, changes and conditions by chance.

/// A number for a test from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// What the column has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// int[]
    Numbers,
    /// text[]
    Names,
    /// jsonb
    Documents,
    /// text
    Texts,
    /// tsvector
    Words,
    /// text, of which to_tsvector makes words
    Prose,
}

impl Kind {
    /// Its type.
    pub fn ty(self) -> &'static str {
        match self {
            Kind::Numbers => "int[]",
            Kind::Names => "text[]",
            Kind::Documents => "jsonb",
            Kind::Texts | Kind::Prose => "text",
            Kind::Words => "tsvector",
        }
    }

    /// What indexes have keys of.
    pub fn indexes(self) -> &'static [&'static str] {
        match self {
            Kind::Numbers | Kind::Names | Kind::Words => &["v"],
            Kind::Prose => &["to_tsvector('english', v)", "to_tsvector('simple', v)"],
            Kind::Documents => &["v", "v jsonb_path_ops", "(v -> 'a')"],
            Kind::Texts => &["v gin_trgm_ops", "lower(v) gin_trgm_ops"],
        }
    }
}

/// Numbers by chance, from a seed (splitmix64).
pub struct Draw(pub u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn elements(&mut self, kind: Kind) -> String {
        let numbers = ["1", "2", "3", "4", "5", "-1", "NULL", "70000"];
        let names = ["a", "A", "ä", "\"\"", "\"NULL\"", "NULL", "\"a b\"", "日本", "zz"];
        let of: &[&str] = if kind == Kind::Numbers { &numbers } else { &names };
        (0..self.below(4)).map(|_| self.one(of)).collect::<Vec<_>>().join(",")
    }

    fn document(&mut self, depth: usize) -> String {
        let scalars = ["1", "1.0", "2", "-3", "true", "false", "null", "\"a\"", "\"x y\"", "\"\""];
        let (kind, count) = (if depth == 0 { 0 } else { self.below(5) }, self.below(4));
        match kind {
            0 | 1 => self.one(&scalars).into(),
            2 => {
                let all: Vec<String> = (0..count).map(|_| self.document(depth - 1)).collect();
                format!("[{}]", all.join(","))
            }
            _ => {
                let pair = |draw: &mut Draw| {
                    let name = draw.one(&["a", "b", "c", ""]);
                    format!("\"{name}\":{}", draw.document(depth - 1))
                };
                let all: Vec<String> = (0..count).map(|_| pair(self)).collect();
                format!("{{{}}}", all.join(","))
            }
        }
    }

    fn text(&mut self, most: usize) -> String {
        let parts = ["foo", "Bar", "ba", "z", " ", "-", "1", "ä", "FOO", "_", "%", "\\", "日本"];
        (0..self.below(most + 1)).map(|_| self.one(&parts)).collect()
    }

    /// A value as a literal.
    fn value(&mut self, kind: Kind) -> String {
        if self.below(12) == 0 {
            return "NULL".into();
        }
        match kind {
            Kind::Numbers | Kind::Names => match self.below(8) {
                0 => {
                    let one = if kind == Kind::Numbers { "4" } else { "zz" };
                    format!("'{{{{{one},{one}}},{{{one},{one}}}}}'")
                }
                _ => format!("'{{{}}}'", self.elements(kind)),
            },
            Kind::Documents => format!("'{}'", self.document(3)),
            Kind::Texts => format!("'{}'", self.text(6)),
            Kind::Words => format!("'{}'", self.words()),
            Kind::Prose => format!("'{}'", self.prose(9)),
        }
    }

    /// Statements that change a TABLE.
    pub fn changes(&mut self, kind: Kind, next: &mut i32) -> Vec<String> {
        let mut out = Vec::new();
        for _ in 0..3 {
            let rows: Vec<String> = (0..15)
                .map(|_| {
                    *next += 1;
                    format!("({next}, {}, {})", self.below(50), self.value(kind))
                })
                .collect();
            out.push(format!("INSERT INTO TABLE VALUES {}", rows.join(", ")));
        }
        let (from, to) = (self.below(*next as usize), self.below(*next as usize));
        out.push(format!("UPDATE TABLE SET v = {} WHERE id IN ({from}, {to})", self.value(kind)));
        out.push(format!("UPDATE TABLE SET n = n + 1 WHERE {}", self.condition(kind)));
        if self.below(3) == 0 {
            let (condition, n) = (self.condition(kind), self.below(50));
            out.push(format!("DELETE FROM TABLE WHERE {condition} AND n < {n}"));
        }
        out
    }

    /// A condition that the index answers, perhaps with others.
    pub fn condition(&mut self, kind: Kind) -> String {
        let one = self.single(kind);
        match self.below(8) {
            0 => format!("{one} AND {}", self.single(kind)),
            1 => format!("({one} OR {})", self.single(kind)),
            2 => format!("({one} OR n = {})", self.below(50)),
            3 => format!("{one} AND n < {}", self.below(50)),
            4 => format!("NOT ({one})"),
            _ => one,
        }
    }

    fn single(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Numbers | Kind::Names => {
                let (sign, of) = (self.one(&["@>", "@>", "<@", "&&", "="]), self.elements(kind));
                match self.below(5) {
                    0 => format!("'{{{of}}}'::{} {sign} v", kind.ty()),
                    _ => format!("v {sign} '{{{of}}}'"),
                }
            }
            Kind::Documents => self.of_document(),
            Kind::Texts => self.of_text(),
            Kind::Words => self.of_words(),
            Kind::Prose => self.of_prose(),
        }
    }

    /// A tsvector.
    fn words(&mut self) -> String {
        let long = "ab".repeat(80);
        let words = ["a", "ab", "abc", "b", "ba", "c", "ä", &long, "''x y''"];
        let word = |draw: &mut Draw| {
            let word = draw.one(&words).to_string();
            let (one, other) = (draw.below(6) + 1, draw.below(9) + 1);
            let weight = draw.one(&["", "", "A", "B", "C"]);
            match draw.below(5) {
                0 => word,
                1 => format!("{word}:{one},{other}{weight}"),
                _ => format!("{word}:{one}{weight}"),
            }
        };
        (0..self.below(6)).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }

    fn prose(&mut self, most: usize) -> String {
        let words = [
            "the",
            "cats",
            "cat",
            "running",
            "runs",
            "a",
            "dog",
            "quick",
            "state-of-the-art",
            "x@y.org",
            "12",
            "Flies",
            "and",
            "was",
            "über",
            "http://a.org/b",
            "3.5",
        ];
        (0..self.below(most + 1)).map(|_| self.one(&words)).collect::<Vec<_>>().join(" ")
    }

    /// A tsquery of some words.
    fn query(&mut self, depth: usize, of: &[&str]) -> String {
        if depth == 0 || self.below(3) == 0 {
            return format!("{}{}", self.one(of), self.one(&["", "", "", ":*", ":A", ":*BC"]));
        }
        match self.below(6) {
            0 => format!("!({})", self.query(depth - 1, of)),
            other => {
                let join = ["&", "&", "|", "<->", "<2>"][other - 1];
                format!("({}) {join} ({})", self.query(depth - 1, of), self.query(depth - 1, of))
            }
        }
    }

    fn of_words(&mut self) -> String {
        let long = "ab".repeat(30 + self.below(60));
        let depth = self.below(3);
        let query = self.query(depth, &["a", "ab", "abc", "b", "ba", "c", "ä", &long, "''x y''"]);
        match self.below(6) {
            0 => format!("'{query}'::tsquery @@ v"),
            1 => format!("v @@@ '{query}'::tsquery"),
            2 => format!("v @@ ('{query}'::tsquery && 'a | b')"),
            _ => format!("v @@ '{query}'::tsquery"),
        }
    }

    fn of_prose(&mut self) -> String {
        let depth = self.below(3);
        let query = self.query(depth, &["cat", "run", "the", "dogs", "state", "12", "Flying"]);
        let config = self.one(&["english", "simple"]);
        let words = self.prose(3);
        let asked = match self.below(5) {
            0 => format!("plainto_tsquery('{config}', '{words}')"),
            1 => format!("phraseto_tsquery('{config}', '{words}')"),
            2 => format!("websearch_to_tsquery('{config}', '{words} or -\"{words}\"')"),
            _ => format!("to_tsquery('{config}', '{query}')"),
        };
        format!("to_tsvector('{config}', v) @@ {asked}")
    }

    fn of_document(&mut self) -> String {
        let name = self.one(&["a", "b", "x y", ""]);
        let scalar = self.one(&["1", "2.0", "\"a\"", "null", "true", "-3", "\"x y\""]);
        let path = self.one(&["$.a", "$.a.b", "$.*", "$.b[*]", "$.**", "strict $.a", "$", "$[0]"]);
        match self.below(11) {
            0..=2 => {
                let depth = self.below(3);
                format!("v @> '{}'", self.document(depth))
            }
            3 => format!("v ? '{name}'"),
            4 => format!("v ?| '{{{},{}}}'", self.one(&["a", "c"]), self.one(&["b", "NULL"])),
            5 => format!("v ?& '{{{},{}}}'", self.one(&["a", "c"]), self.one(&["b", "NULL"])),
            6 => format!("v @? '{path} ? (@ == {scalar})'"),
            7 => format!("v @@ '{path} == {scalar}'"),
            8 => format!("v @@ '{path} == {scalar} || exists($.b ? (@.a == {scalar}))'"),
            9 => format!("(v -> 'a') @> '{scalar}'"),
            _ => format!("v @? '{path}'"),
        }
    }

    fn of_text(&mut self) -> String {
        let part = self.text(3);
        let pattern = part.replace('\\', "\\\\");
        let column = self.one(&["v", "v", "v", "lower(v)"]);
        let regex = self.one(&[
            "foo",
            "^foo",
            "foo.*bar",
            "(foo|ba)z",
            "[fb]oo",
            "o{2}",
            "foo\\s",
            "\\mfoo",
            "ba?r",
            "ä",
        ]);
        match self.below(11) {
            0..=2 => format!("{column} LIKE '%{pattern}%'"),
            3 => format!("{column} ILIKE '%{pattern}'"),
            4 => format!("{column} LIKE '{pattern}%'"),
            5 => format!("{column} LIKE '%{pattern}_{pattern}%'"),
            6 => format!("{column} ~ '{regex}'"),
            7 => format!("{column} ~* '{regex}'"),
            8 => format!("v {} '{part}'", self.one(&["%", "%>", "%>>"])),
            9 => format!("'{part}' {} v", self.one(&["%", "<%", "<<%"])),
            _ => format!("v = '{part}'"),
        }
    }
}
