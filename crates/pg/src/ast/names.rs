//! Which relations and columns does a query name?

use super::{
    Body, Cte, CteBody, Expr, ExprId, From, FromId, Name, Part, Path, QueryId, Relation, Statement,
    Tree, With,
};

/// A query within a query begins with so much stack left, or on a piece of its own.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// A name in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mention<'a> {
    /// A relation in FROM, which no WITH around it names.
    Relation(&'a Relation),
    /// A column, and where it stands.
    Column(&'a Path, u32),
    /// `*` behind what it belongs to, and where that stands.
    Star(&'a Path, u32),
}

impl Tree {
    /// Shows the relations and columns that a query names, also those of the queries within it.
    pub fn mentions<'a>(&'a self, query: QueryId, see: &mut dyn FnMut(Mention<'a>)) {
        Walk { tree: self, with: Vec::new(), see }.query(query);
    }

    /// The same of a statement that changes rows, with the table that it changes.
    pub fn mentions_of<'a>(&'a self, of: &'a Statement, see: &mut dyn FnMut(Mention<'a>)) {
        Walk { tree: self, with: Vec::new(), see }.statement(of);
    }

    /// The same of an expression.
    pub fn mentions_in<'a>(&'a self, expr: ExprId, see: &mut dyn FnMut(Mention<'a>)) {
        Walk { tree: self, with: Vec::new(), see }.expr(expr);
    }
}

struct Walk<'a, 's> {
    tree: &'a Tree,
    /// Names of WITH that are known here.
    with: Vec<&'a Name>,
    see: &'s mut dyn FnMut(Mention<'a>),
}

impl<'a> Walk<'a, '_> {
    fn query(&mut self, id: QueryId) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.one_query(id));
    }

    fn one_query(&mut self, id: QueryId) {
        let query = self.tree.query(id);
        let known = self.with.len();
        self.with(query.with.as_ref());
        match &query.body {
            Body::Set(set) => {
                self.query(set.left);
                self.query(set.right);
            }
            body => self.parts(&mut |see| body.parts(see)),
        }
        self.parts(&mut |see| query.tail_parts(see));
        self.with.truncate(known);
    }

    fn with(&mut self, with: Option<&'a With>) {
        let Some(with) = with else { return };
        if with.recursive {
            self.with.extend(with.ctes.iter().map(|cte| &cte.name));
        }
        for cte in &with.ctes {
            self.cte(cte);
            if !with.recursive {
                self.with.push(&cte.name);
            }
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        let known = self.with.len();
        let (with, table) = match statement {
            Statement::Insert(insert) => (insert.with.as_ref(), Some(&insert.into)),
            Statement::Update(update) => (update.with.as_ref(), Some(&update.table)),
            Statement::Delete(delete) => (delete.with.as_ref(), Some(&delete.table)),
            _ => (None, None),
        };
        self.with(with);
        if let Some(table) = table {
            (self.see)(Mention::Relation(table));
        }
        self.parts(&mut |see| statement.parts(see, &mut |_| {}));
        self.with.truncate(known);
    }

    fn cte(&mut self, cte: &'a Cte) {
        match &cte.body {
            CteBody::Query(query) => self.query(*query),
            CteBody::Statement(statement) => self.statement(statement),
        }
    }

    fn parts(&mut self, show: &mut dyn FnMut(&mut dyn FnMut(Part))) {
        let mut parts = Vec::new();
        show(&mut |part| parts.push(part));
        for part in parts {
            match part {
                Part::Expr(id) => self.expr(id),
                Part::Query(id) => self.query(id),
                Part::From(id) => self.from(id),
            }
        }
    }

    fn expr(&mut self, id: ExprId) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let expr = self.tree.expr(id);
            match expr {
                Expr::Column(path) => (self.see)(Mention::Column(path, self.tree.raw_place(id))),
                Expr::Star(path) => (self.see)(Mention::Star(path, self.tree.raw_place(id))),
                _ => self.parts(&mut |see| expr.parts(see)),
            }
        });
    }

    fn from(&mut self, id: FromId) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let from = self.tree.from(id);
            if let From::Relation(relation) | From::Sample(relation, _) = from {
                let named = |name: &Name| self.with.contains(&name);
                if !matches!(&relation.name[..], [name] if named(name)) {
                    (self.see)(Mention::Relation(relation));
                }
            }
            self.parts(&mut |see| from.parts(see));
        });
    }
}
