//! What is a statement that can be made smaller?
//!
//! A [`Tree`] is a text with holes: words, parts, parts that may go, lists of which items may go. Every part says what
//! sort it is, so that one of the same sort can take its place: a value of its type, a query, an item of FROM. Nothing here
//! knows SQL; whether a smaller text still means something is asked of the systems that carry it out.

use onlap_pg::Oid;

use super::values;

/// What can stand in a part's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A value of a type.
    Value(Oid),
    /// A query.
    Query,
    /// An item of FROM.
    From,
    /// An order of rows that is total.
    Order,
    /// What is left.
    Other,
}

#[derive(Clone, Debug)]
enum Part {
    Word(String),
    One(Tree),
    /// It may go.
    Maybe(Tree),
    /// It stays as it is.
    Fixed(Tree),
    List(List),
}

/// Items, of which all but some may go.
#[derive(Clone, Debug)]
struct List {
    items: Vec<Tree>,
    between: &'static str,
    least: usize,
}

/// A text with parts.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What can stand in its place.
    pub sort: Sort,
    parts: Vec<Part>,
    /// Whether it is a column or a literal.
    leaf: bool,
}

impl Tree {
    /// Words alone.
    pub fn leaf(sort: Sort, text: impl Into<String>) -> Tree {
        Tree { sort, parts: vec![Part::Word(text.into())], leaf: true }
    }

    /// A text with `{}` where parts stand.
    pub fn of(sort: Sort, template: &str, parts: impl IntoIterator<Item = Tree>) -> Tree {
        let mut tree = Tree { sort, parts: Vec::new(), leaf: false };
        let mut given = parts.into_iter();
        for (n, word) in template.split("{}").enumerate() {
            if n > 0 {
                tree = tree.one(given.next().expect("a part for each hole"));
            }
            tree = tree.word(word);
        }
        assert!(given.next().is_none(), "a hole for each part");
        tree
    }

    /// With a word.
    pub fn word(mut self, word: impl Into<String>) -> Tree {
        let word = word.into();
        if !word.is_empty() {
            self.parts.push(Part::Word(word));
        }
        self
    }

    /// With a part.
    pub fn one(mut self, part: Tree) -> Tree {
        self.parts.push(Part::One(part));
        self
    }

    /// With a part that may go.
    pub fn maybe(mut self, part: Option<Tree>) -> Tree {
        self.parts.extend(part.map(Part::Maybe));
        self
    }

    /// With a part that stays as it is, or goes with this.
    pub fn fixed(mut self, part: Tree) -> Tree {
        self.parts.push(Part::Fixed(part));
        self
    }

    /// With a list.
    pub fn list(mut self, items: Vec<Tree>, between: &'static str, least: usize) -> Tree {
        self.parts.push(Part::List(List { items, between, least }));
        self
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Word(word) => out.push_str(word),
                Part::One(tree) | Part::Maybe(tree) | Part::Fixed(tree) => tree.write(out),
                Part::List(list) => {
                    for (n, item) in list.items.iter().enumerate() {
                        if n > 0 {
                            out.push_str(list.between);
                        }
                        item.write(out);
                    }
                }
            }
        }
    }

    fn children(&self) -> Vec<&Tree> {
        let mut found = Vec::new();
        for part in &self.parts {
            match part {
                Part::Word(_) => {}
                Part::One(tree) | Part::Maybe(tree) | Part::Fixed(tree) => found.push(tree),
                Part::List(list) => found.extend(&list.items),
            }
        }
        found
    }

    /// Whether its rows have a total order: that of the query that it is, or that it ends with.
    pub fn is_ordered(&self) -> bool {
        let children = self.children();
        match self.sort {
            Sort::Query => children.iter().any(|tree| tree.sort == Sort::Order),
            _ => children
                .iter()
                .rev()
                .find(|t| t.sort == Sort::Query)
                .is_some_and(|t| t.is_ordered()),
        }
    }

    /// How many operators, functions, casts and constructs it has.
    pub fn calls(&self) -> usize {
        let own = usize::from(matches!(self.sort, Sort::Value(_)) && !self.leaf);
        own + self.children().into_iter().map(Tree::calls).sum::<usize>()
    }

    /// Texts of calls whose parts are columns and literals.
    pub fn values(&self, found: &mut Vec<String>) {
        if matches!(self.sort, Sort::Value(_)) && self.calls() == 1 {
            found.push(self.text());
        }
        self.children().into_iter().for_each(|child| child.values(found));
    }

    /// Parts of its sort within it.
    fn within(&self, sort: Sort, found: &mut Vec<Tree>) {
        for child in self.children() {
            if child.sort == sort {
                found.push(child.clone());
            }
            child.within(sort, found);
        }
    }

    /// Smaller ones, the shortest first.
    pub fn smaller(&self) -> Vec<Tree> {
        let mut all = self.variants();
        let length = self.text().len();
        let mut keyed: Vec<(String, Tree)> = all.drain(..).map(|t| (t.text(), t)).collect();
        keyed.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.0.cmp(&b.0)));
        keyed.dedup_by(|a, b| a.0 == b.0);
        keyed.retain(|(text, _)| text.len() < length);
        keyed.into_iter().map(|(_, tree)| tree).collect()
    }

    fn variants(&self) -> Vec<Tree> {
        let mut made = self.instead();
        for (at, part) in self.parts.iter().enumerate() {
            let mut put = |part: Option<Part>| {
                let mut tree = self.clone();
                match part {
                    Some(part) => tree.parts[at] = part,
                    None => drop(tree.parts.remove(at)),
                }
                made.push(tree);
            };
            match part {
                Part::Word(_) | Part::Fixed(_) => {}
                Part::One(tree) => {
                    tree.variants().into_iter().for_each(|v| put(Some(Part::One(v))))
                }
                Part::Maybe(tree) => {
                    put(None);
                    tree.variants().into_iter().for_each(|v| put(Some(Part::Maybe(v))));
                }
                Part::List(list) => {
                    list.variants().into_iter().for_each(|v| put(Some(Part::List(v))));
                }
            }
        }
        made
    }

    /// What can stand in its place as a whole.
    fn instead(&self) -> Vec<Tree> {
        let mut made = Vec::new();
        match self.sort {
            Sort::Value(ty) if !self.leaf => {
                made.push(Tree::leaf(self.sort, values::null(ty)));
                made.extend(values::plain(ty).map(|text| Tree::leaf(self.sort, text)));
                self.within(self.sort, &mut made);
            }
            Sort::Query | Sort::From => self.within(self.sort, &mut made),
            _ => {}
        }
        made
    }
}

impl List {
    fn variants(&self) -> Vec<List> {
        let mut made = Vec::new();
        if self.items.len() > self.least {
            for at in 0..self.items.len() {
                let mut list = self.clone();
                list.items.remove(at);
                made.push(list);
            }
        }
        for (at, item) in self.items.iter().enumerate() {
            for variant in item.variants() {
                let mut list = self.clone();
                list.items[at] = variant;
                made.push(list);
            }
        }
        made
    }
}
