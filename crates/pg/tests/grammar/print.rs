//! A tree as a text again, with parentheses around every operand: what binds to what is not the reader's to decide.

use std::fmt::Write;

use onlap_pg::ast::*;

/// Prints one statement.
pub fn statement(tree: &Tree, statement: &Statement) -> String {
    let mut printer = Printer { tree, out: String::new() };
    printer.statement(statement);
    printer.out
}

struct Printer<'a> {
    tree: &'a Tree,
    out: String,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn path(name: &[Name]) -> String {
    name.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".")
}

fn literal_text(text: &str) -> String {
    // Without backslashes in plain quotes: E'…' says what is meant in any setting.
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn each<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) {
        for (i, item) in all.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            one(self, item);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(*query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            other => panic!("{other:?} is no statement about rows"),
        }
    }

    fn with(&mut self, with: &Option<With>) {
        let Some(with) = with else { return };
        self.put(if with.recursive { "WITH RECURSIVE " } else { "WITH " });
        self.each(&with.ctes, Self::cte);
        self.put(" ");
    }

    fn names(&mut self, names: &[Name]) {
        let all: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        self.put(&all.join(", "));
    }

    fn cte(&mut self, cte: &Cte) {
        self.put(&quoted(&cte.name));
        if !cte.columns.is_empty() {
            self.put(" (");
            self.names(&cte.columns);
            self.put(")");
        }
        self.put(match cte.materialized {
            None => " AS (",
            Some(true) => " AS MATERIALIZED (",
            Some(false) => " AS NOT MATERIALIZED (",
        });
        match &cte.body {
            CteBody::Query(query) => self.query(*query),
            CteBody::Statement(statement) => self.statement(statement),
        }
        self.put(")");
        if let Some(search) = &cte.search {
            let order = if search.breadth { "BREADTH" } else { "DEPTH" };
            let _ = write!(self.out, " SEARCH {order} FIRST BY ");
            self.names(&search.by);
            let _ = write!(self.out, " SET {}", quoted(&search.set));
        }
        if let Some(cycle) = &cte.cycle {
            self.put(" CYCLE ");
            self.names(&cycle.columns);
            let _ = write!(self.out, " SET {}", quoted(&cycle.mark));
            if let Some((to, default)) = cycle.values {
                self.put(" TO ");
                self.bare(to);
                self.put(" DEFAULT ");
                self.bare(default);
            }
            let _ = write!(self.out, " USING {}", quoted(&cycle.path));
        }
    }

    fn query(&mut self, id: QueryId) {
        let query = self.tree.query(id);
        self.with(&query.with);
        match &query.body {
            Body::Select(select) => self.select(select),
            Body::Values(rows) => {
                self.put("VALUES ");
                self.each(rows, |p, row| p.list(row));
            }
            Body::Set(set) => {
                self.put("(");
                self.query(set.left);
                let word = match set.kind {
                    SetKind::Union => "UNION",
                    SetKind::Intersect => "INTERSECT",
                    SetKind::Except => "EXCEPT",
                };
                let _ = write!(self.out, ") {word} {}(", if set.all { "ALL " } else { "" });
                self.query(set.right);
                self.put(")");
            }
        }
        self.order(&query.order);
        if let Some(limit) = query.limit {
            match query.ties {
                true => {
                    self.put(" FETCH FIRST (");
                    self.expr(limit);
                    self.put(") ROWS WITH TIES");
                }
                false => {
                    self.put(" LIMIT ");
                    self.operand(limit);
                }
            }
        }
        if let Some(offset) = query.offset {
            self.put(" OFFSET ");
            self.operand(offset);
        }
        for lock in &query.locks {
            self.put(match lock.strength {
                LockStrength::KeyShare => " FOR KEY SHARE",
                LockStrength::Share => " FOR SHARE",
                LockStrength::NoKeyUpdate => " FOR NO KEY UPDATE",
                LockStrength::Update => " FOR UPDATE",
            });
            if !lock.of.is_empty() {
                self.put(" OF ");
                self.each(&lock.of, |p, relation| p.put(&path(&relation.name)));
            }
            self.put(match lock.wait {
                LockWait::Block => "",
                LockWait::Skip => " SKIP LOCKED",
                LockWait::Error => " NOWAIT",
            });
        }
    }

    fn order(&mut self, order: &[Sort]) {
        if order.is_empty() {
            return;
        }
        self.put(" ORDER BY ");
        self.each(order, |p, sort| {
            p.operand(sort.value);
            match &sort.order {
                SortOrder::Default => {}
                SortOrder::Ascending => p.put(" ASC"),
                SortOrder::Descending => p.put(" DESC"),
                SortOrder::Using(op, _) => {
                    p.put(" USING ");
                    p.op(op);
                }
            }
            p.put(match sort.nulls_first {
                None => "",
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
            });
        });
    }

    fn select(&mut self, select: &Select) {
        self.put("SELECT ");
        match &select.distinct {
            None => {}
            Some(Distinct::Rows) => self.put("DISTINCT "),
            Some(Distinct::On(all)) => {
                self.put("DISTINCT ON ");
                self.list(all);
                self.put(" ");
            }
        }
        self.targets(&select.targets);
        if let Some(into) = &select.into {
            let kind = if into.temporary { "TEMP TABLE" } else { "TABLE" };
            let _ = write!(self.out, " INTO {kind} {}", path(&into.name));
        }
        self.froms(" FROM ", &select.from);
        self.clause(" WHERE ", select.filter);
        if !select.group.is_empty() {
            self.put(if select.group_distinct { " GROUP BY DISTINCT " } else { " GROUP BY " });
            self.each(&select.group, Self::group_item);
        }
        self.clause(" HAVING ", select.having);
        if !select.windows.is_empty() {
            self.put(" WINDOW ");
            self.each(&select.windows, |p, (name, window)| {
                let _ = write!(p.out, "{} AS ", quoted(name));
                p.window(window);
            });
        }
    }

    fn targets(&mut self, targets: &[Target]) {
        self.each(targets, |p, target| {
            p.bare(target.value);
            if let Some(name) = &target.name {
                let _ = write!(p.out, " AS {}", quoted(name));
            }
        });
    }

    fn froms(&mut self, word: &str, from: &[FromId]) {
        if !from.is_empty() {
            self.put(word);
            self.each(from, |p, id| p.from(*id));
        }
    }

    fn clause(&mut self, word: &str, value: Option<ExprId>) {
        if let Some(value) = value {
            self.put(word);
            self.operand(value);
        }
    }

    fn group_item(&mut self, item: &GroupItem) {
        match item {
            GroupItem::Expr(id) => self.bare(*id),
            GroupItem::Empty(_) => self.put("()"),
            GroupItem::Rollup(all, _) => {
                self.put("ROLLUP ");
                self.bare_list(all);
            }
            GroupItem::Cube(all, _) => {
                self.put("CUBE ");
                self.bare_list(all);
            }
            GroupItem::Sets(items, _) => {
                self.put("GROUPING SETS (");
                self.each(items, Self::group_item);
                self.put(")");
            }
        }
    }

    fn alias(&mut self, alias: &Option<Alias>) {
        let Some(alias) = alias else { return };
        let _ = write!(self.out, " AS {}", quoted(&alias.name));
        if !alias.columns.is_empty() {
            self.put(" (");
            self.names(&alias.columns);
            self.put(")");
        }
    }

    fn relation(&mut self, relation: &Relation) {
        let only = if relation.only { "ONLY " } else { "" };
        let _ = write!(self.out, "{only}{}", path(&relation.name));
        self.alias(&relation.alias);
    }

    fn from(&mut self, id: FromId) {
        match self.tree.from(id) {
            From::Relation(relation) => self.relation(relation),
            From::Sample(relation, Sample { method, args, repeatable, .. }) => {
                self.relation(relation);
                let _ = write!(self.out, " TABLESAMPLE {}", path(method));
                self.list(args);
                if let Some(seed) = repeatable {
                    self.put(" REPEATABLE ");
                    self.list(&[*seed]);
                }
            }
            From::Query { lateral, query, alias } => {
                self.put(if *lateral { "LATERAL (" } else { "(" });
                self.query(*query);
                self.put(")");
                self.alias(&Some(alias.clone()));
            }
            From::Functions { lateral, rows_from, calls, ordinality, alias, columns } => {
                self.put(if *lateral { "LATERAL " } else { "" });
                self.put(if *rows_from { "ROWS FROM (" } else { "" });
                self.each(calls, |p, call| {
                    p.bare(call.call);
                    if !call.columns.is_empty() {
                        p.put(" AS ");
                        p.column_defs(&call.columns);
                    }
                });
                self.put(if *rows_from { ")" } else { "" });
                self.put(if *ordinality { " WITH ORDINALITY" } else { "" });
                self.alias(alias);
                if !columns.is_empty() {
                    self.put(if alias.is_none() { " AS " } else { "" });
                    self.column_defs(columns);
                }
            }
            From::Join(join) => self.join(join),
        }
    }

    fn column_defs(&mut self, columns: &[ColumnDef]) {
        self.put("(");
        self.each(columns, |p, column| {
            p.put(&quoted(&column.name));
            p.put(" ");
            p.ty(&column.ty);
            if let Some(collation) = &column.collation {
                let _ = write!(p.out, " COLLATE {}", path(&collation.0));
            }
        });
        self.put(")");
    }

    fn join(&mut self, join: &Join) {
        self.put("(");
        self.from(join.left);
        if join.on == On::Natural {
            self.put(" NATURAL");
        }
        self.put(match (join.kind, &join.on) {
            (_, On::Cross) => " CROSS JOIN ",
            (JoinKind::Inner, _) => " JOIN ",
            (JoinKind::Left, _) => " LEFT JOIN ",
            (JoinKind::Right, _) => " RIGHT JOIN ",
            (JoinKind::Full, _) => " FULL JOIN ",
        });
        self.from(join.right);
        match &join.on {
            On::Cross | On::Natural => {}
            On::Using(using) => {
                self.put(" USING (");
                self.names(&using.columns);
                self.put(")");
                if let Some(alias) = &using.alias {
                    let _ = write!(self.out, " AS {}", quoted(alias));
                }
            }
            On::Condition(condition) => self.clause(" ON ", Some(*condition)),
        }
        self.put(")");
        self.alias(&join.alias);
    }

    fn window(&mut self, window: &Window) {
        self.put("(");
        if let Some(base) = &window.base {
            self.put(&quoted(base));
        }
        if !window.partition.is_empty() {
            self.put(" PARTITION BY ");
            self.each(&window.partition, |p, id| p.operand(*id));
        }
        self.order(&window.order);
        if let Some(frame) = &window.frame {
            self.put(match frame.unit {
                FrameUnit::Range => " RANGE ",
                FrameUnit::Rows => " ROWS ",
                FrameUnit::Groups => " GROUPS ",
            });
            match frame.to {
                None => self.edge(frame.from),
                Some(to) => {
                    self.put("BETWEEN ");
                    self.edge(frame.from);
                    self.put(" AND ");
                    self.edge(to);
                }
            }
            self.put(match frame.exclude {
                None => "",
                Some(Exclude::Current) => " EXCLUDE CURRENT ROW",
                Some(Exclude::Group) => " EXCLUDE GROUP",
                Some(Exclude::Ties) => " EXCLUDE TIES",
            });
        }
        self.put(")");
    }

    fn edge(&mut self, edge: FrameEdge) {
        match edge {
            FrameEdge::First => self.put("UNBOUNDED PRECEDING"),
            FrameEdge::Last => self.put("UNBOUNDED FOLLOWING"),
            FrameEdge::Current => self.put("CURRENT ROW"),
            FrameEdge::Before(n) => {
                self.operand(n);
                self.put(" PRECEDING");
            }
            FrameEdge::After(n) => {
                self.operand(n);
                self.put(" FOLLOWING");
            }
        }
    }

    /// In parentheses.
    fn operand(&mut self, id: ExprId) {
        self.put("(");
        self.expr(id);
        self.put(")");
    }

    /// As it is where nothing can bind to it: parentheses would be a step's in a target, and a row's in a group.
    fn bare(&mut self, id: ExprId) {
        self.expr(id);
    }

    fn list(&mut self, all: &[ExprId]) {
        self.put("(");
        self.each(all, |p, id| p.operand(*id));
        self.put(")");
    }

    fn bare_list(&mut self, all: &[ExprId]) {
        self.put("(");
        self.each(all, |p, id| p.bare(*id));
        self.put(")");
    }

    fn op(&mut self, op: &OpName) {
        let schema: String = op.schema.iter().map(|part| quoted(part) + ".").collect();
        let _ = write!(self.out, " OPERATOR({schema}{}) ", op.name);
    }

    /// An operator as it was written: by its sign alone it has the level of the sign.
    fn sign(&mut self, op: &OpName) {
        match op.schema.is_empty() {
            true => {
                let _ = write!(self.out, " {} ", op.name);
            }
            false => self.op(op),
        }
    }

    fn ty(&mut self, ty: &TypeName) {
        if ty.set {
            self.put("SETOF ");
        }
        self.put(&path(&ty.name));
        if !ty.modifiers.is_empty() {
            self.bare_list(&ty.modifiers);
        }
        for bound in &ty.bounds {
            match bound {
                -1 => self.put("[]"),
                n => {
                    let _ = write!(self.out, "[{n}]");
                }
            }
        }
    }

    fn literal(&mut self, literal: &Literal) {
        let text = match literal {
            Literal::Null => "NULL".to_string(),
            Literal::Bool(true) => "TRUE".to_string(),
            Literal::Bool(false) => "FALSE".to_string(),
            Literal::Int(number) => number.to_string(),
            Literal::Number(text) => text.to_string(),
            Literal::Text(text) => literal_text(text),
            Literal::Bits(text) => format!("B'{text}'"),
            Literal::Hex(text) => format!("X'{text}'"),
        };
        self.put(&text);
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Field(name) => {
                    let _ = write!(self.out, ".{}", quoted(name));
                }
                Step::Star => self.put(".*"),
                Step::Index(at) => {
                    self.put("[");
                    self.expr(*at);
                    self.put("]");
                }
                Step::Slice(low, high) => {
                    self.put("[");
                    if let Some(low) = low {
                        self.operand(*low);
                    }
                    self.put(":");
                    if let Some(high) = high {
                        self.operand(*high);
                    }
                    self.put("]");
                }
            }
        }
    }

    fn joined(&mut self, all: &[ExprId], word: &str) {
        for (i, id) in all.iter().enumerate() {
            if i > 0 {
                self.put(word);
            }
            self.operand(*id);
        }
    }

    fn infix(&mut self, left: ExprId, word: &str, right: ExprId) {
        self.operand(left);
        self.put(word);
        self.operand(right);
    }

    fn expr(&mut self, id: ExprId) {
        let not = |is: bool| if is { "NOT " } else { "" };
        match self.tree.expr(id) {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Param(number) => {
                let _ = write!(self.out, "${number}");
            }
            Expr::Column(name) => self.put(&path(name)),
            Expr::Star(name) => match name.is_empty() {
                true => self.put("*"),
                false => {
                    let _ = write!(self.out, "{}.*", path(name));
                }
            },
            Expr::Steps(value, steps) => {
                // A column's subscripts stand behind it, all else needs parentheses.
                let is_subscript = matches!(steps.first(), Some(Step::Index(_) | Step::Slice(..)));
                match self.tree.expr(*value) {
                    Expr::Column(_) if is_subscript => self.expr(*value),
                    _ => self.operand(*value),
                }
                self.steps(steps);
            }
            Expr::Cast(value, ty) => {
                self.put("CAST(");
                self.expr(*value);
                self.put(" AS ");
                self.ty(ty);
                self.put(")");
            }
            Expr::Collate(value, name) => {
                self.operand(*value);
                let _ = write!(self.out, " COLLATE {}", path(name));
            }
            Expr::Op(op, left, right) => {
                if let Some(left) = left {
                    self.operand(*left);
                }
                self.sign(op);
                self.operand(*right);
            }
            Expr::OpArray(op, left, right, all) => {
                self.operand(*left);
                self.sign(op);
                self.put(if *all { " ALL " } else { " ANY " });
                self.list(&[*right]);
            }
            Expr::OpQuery(op, left, query, all) => {
                self.operand(*left);
                self.sign(op);
                self.put(if *all { " ALL (" } else { " ANY (" });
                self.query(*query);
                self.put(")");
            }
            Expr::In(value, all, negated) => {
                self.operand(*value);
                let _ = write!(self.out, " {}IN ", not(*negated));
                self.list(all);
            }
            Expr::InQuery(value, query) => {
                self.operand(*value);
                self.put(" IN (");
                self.query(*query);
                self.put(")");
            }
            Expr::Like(like, negated, value, pattern, escape) => {
                let word = match like {
                    Like::Like => "LIKE",
                    Like::Ilike => "ILIKE",
                    Like::Similar => "SIMILAR TO",
                };
                self.infix(*value, &format!(" {}{word} ", not(*negated)), *pattern);
                self.clause(" ESCAPE ", *escape);
            }
            Expr::Between { not: negated, symmetric, value, low, high } => {
                let symmetric = if *symmetric { "SYMMETRIC " } else { "" };
                let word = format!(" {}BETWEEN {symmetric}", not(*negated));
                self.infix(*value, &word, *low);
                self.clause(" AND ", Some(*high));
            }
            Expr::Distinct(left, right, negated) => {
                self.infix(*left, &format!(" IS {}DISTINCT FROM ", not(*negated)), *right);
            }
            Expr::Is(value, what, negated) => {
                self.operand(*value);
                let what = match what {
                    Is::Null => "NULL",
                    Is::True => "TRUE",
                    Is::False => "FALSE",
                    Is::Unknown => "UNKNOWN",
                };
                let _ = write!(self.out, " IS {}{what}", not(*negated));
            }
            Expr::And(all) => self.joined(all, " AND "),
            Expr::Or(all) => self.joined(all, " OR "),
            Expr::Not(value) => {
                self.put("NOT ");
                self.operand(*value);
            }
            Expr::NullIf(left, right) => {
                self.put("NULLIF");
                self.list(&[*left, *right]);
            }
            Expr::Case(operand, arms, otherwise) => {
                self.put("CASE ");
                if let Some(operand) = operand {
                    self.operand(*operand);
                }
                for Arm { condition, result, .. } in arms {
                    self.put(" WHEN ");
                    self.operand(*condition);
                    self.put(" THEN ");
                    self.operand(*result);
                }
                self.clause(" ELSE ", *otherwise);
                self.put(" END");
            }
            Expr::Coalesce(all) => {
                self.put("COALESCE");
                self.list(all);
            }
            Expr::Greatest(all) => {
                self.put("GREATEST");
                self.list(all);
            }
            Expr::Least(all) => {
                self.put("LEAST");
                self.list(all);
            }
            Expr::Row(all, explicit) => {
                self.put(if *explicit { "ROW" } else { "" });
                self.bare_list(all);
            }
            Expr::Array(all) => {
                self.put("ARRAY[");
                self.each(all, |p, id| p.expr(*id));
                self.put("]");
            }
            Expr::ArrayQuery(query) => {
                self.put("ARRAY(");
                self.query(*query);
                self.put(")");
            }
            Expr::Exists(query) => {
                self.put("EXISTS (");
                self.query(*query);
                self.put(")");
            }
            Expr::Query(query) => {
                self.put("(");
                self.query(*query);
                self.put(")");
            }
            Expr::Call(call) => self.call(call),
            Expr::SqlValue(value, precision) => self.sql_value(*value, *precision),
            Expr::Grouping(all) => {
                self.put("GROUPING");
                self.list(all);
            }
            Expr::Xml(xml) => self.xml(xml),
            Expr::CurrentOf(name) => {
                let _ = write!(self.out, "CURRENT OF {}", quoted(name));
            }
            Expr::Default => self.put("DEFAULT"),
        }
    }

    fn xml(&mut self, xml: &Xml) {
        if xml.op == XmlOp::IsDocument {
            self.operand(xml.args[0]);
            return self.put(" IS DOCUMENT");
        }
        self.put(xml.op.word());
        self.put("(");
        if matches!(xml.op, XmlOp::Parse | XmlOp::Serialize) {
            self.put(if xml.document { "DOCUMENT " } else { "CONTENT " });
        }
        if let Some(name) = &xml.name {
            let _ = write!(self.out, "NAME {}", quoted(name));
        }
        let is_element = xml.op == XmlOp::Element;
        self.put(if is_element && !xml.named.is_empty() { ", XMLATTRIBUTES(" } else { "" });
        for (i, arg) in xml.named.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            self.expr(arg.value);
            if let Some(name) = &arg.name {
                let _ = write!(self.out, " AS {}", quoted(name));
            }
        }
        self.put(if is_element && !xml.named.is_empty() { ")" } else { "" });
        self.put(if xml.name.is_some() && !xml.args.is_empty() { ", " } else { "" });
        match (xml.op, &xml.args[..]) {
            (XmlOp::Parse, [value, preserve]) => {
                self.expr(*value);
                let is_kept = *self.tree.expr(*preserve) == Expr::Literal(Literal::Bool(true));
                self.put(if is_kept { " PRESERVE WHITESPACE" } else { "" });
            }
            (XmlOp::Root, [value, version, standalone]) => {
                self.expr(*value);
                self.put(", VERSION ");
                match self.tree.expr(*version) {
                    Expr::Literal(Literal::Null) => self.put("NO VALUE"),
                    _ => self.expr(*version),
                }
                self.put(match self.tree.expr(*standalone) {
                    Expr::Literal(Literal::Int(0)) => ", STANDALONE YES",
                    Expr::Literal(Literal::Int(1)) => ", STANDALONE NO",
                    Expr::Literal(Literal::Int(2)) => ", STANDALONE NO VALUE",
                    _ => "",
                });
            }
            (_, args) => self.each(args, |p, id| p.expr(*id)),
        }
        if let Some(ty) = &xml.ty {
            self.put(" AS ");
            self.ty(ty);
        }
        self.put(")");
    }

    fn sql_value(&mut self, value: SqlValue, precision: Option<i32>) {
        self.put(match value {
            SqlValue::CurrentDate => "CURRENT_DATE",
            SqlValue::CurrentTime => "CURRENT_TIME",
            SqlValue::CurrentTimestamp => "CURRENT_TIMESTAMP",
            SqlValue::LocalTime => "LOCALTIME",
            SqlValue::LocalTimestamp => "LOCALTIMESTAMP",
            SqlValue::CurrentRole => "CURRENT_ROLE",
            SqlValue::CurrentUser => "CURRENT_USER",
            SqlValue::SessionUser => "SESSION_USER",
            SqlValue::User => "USER",
            SqlValue::CurrentCatalog => "CURRENT_CATALOG",
            SqlValue::CurrentSchema => "CURRENT_SCHEMA",
        });
        if let Some(precision) = precision {
            let _ = write!(self.out, "({precision})");
        }
    }

    fn call(&mut self, call: &Call) {
        let _ = write!(self.out, "{}(", path(&call.name));
        self.put(if call.star { "*" } else { "" });
        self.put(if call.distinct { "DISTINCT " } else { "" });
        for (i, arg) in call.args.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            if call.variadic && i + 1 == call.args.len() {
                self.put("VARIADIC ");
            }
            if let Some(name) = &arg.name {
                let _ = write!(self.out, "{} => ", quoted(name));
            }
            self.expr(arg.value);
        }
        if !call.within_group {
            self.order(&call.order);
        }
        self.put(")");
        if call.within_group {
            self.put(" WITHIN GROUP (");
            self.order(&call.order);
            self.put(")");
        }
        if let Some(filter) = call.filter {
            self.put(" FILTER (WHERE ");
            self.expr(filter);
            self.put(")");
        }
        match &call.over {
            None => {}
            Some(Over::Named(name, _)) => {
                let _ = write!(self.out, " OVER {}", quoted(name));
            }
            Some(Over::Window(window)) => {
                self.put(" OVER ");
                self.window(window);
            }
        }
    }

    fn columns(&mut self, columns: &[Column]) {
        self.put("(");
        self.each(columns, Self::column);
        self.put(")");
    }

    fn column(&mut self, column: &Column) {
        self.put(&quoted(&column.name));
        self.steps(&column.steps);
    }

    fn overriding(&mut self, overriding: Option<Overriding>) {
        self.put(match overriding {
            None => "",
            Some(Overriding::User) => " OVERRIDING USER VALUE",
            Some(Overriding::System) => " OVERRIDING SYSTEM VALUE",
        });
    }

    fn returning(&mut self, targets: &[Target]) {
        if !targets.is_empty() {
            self.put(" RETURNING ");
            self.targets(targets);
        }
    }

    fn insert(&mut self, insert: &Insert) {
        self.with(&insert.with);
        self.put("INSERT INTO ");
        self.relation(&insert.into);
        if !insert.columns.is_empty() {
            self.put(" ");
            self.columns(&insert.columns);
        }
        self.overriding(insert.overriding);
        match insert.source {
            None => self.put(" DEFAULT VALUES"),
            Some(query) => {
                self.put(" ");
                self.query(query);
            }
        }
        if let Some(conflict) = &insert.conflict {
            self.put(" ON CONFLICT");
            match &conflict.target {
                None => {}
                Some(ConflictTarget::Constraint(name)) => {
                    let _ = write!(self.out, " ON CONSTRAINT {}", quoted(name));
                }
                Some(ConflictTarget::Index(elements, filter)) => {
                    self.put(" (");
                    self.each(elements, Self::index_element);
                    self.put(")");
                    self.clause(" WHERE ", *filter);
                }
            }
            match &conflict.action {
                ConflictAction::Nothing => self.put(" DO NOTHING"),
                ConflictAction::Update(set, filter) => {
                    self.put(" DO UPDATE SET ");
                    self.each(set, Self::assigned);
                    self.clause(" WHERE ", *filter);
                }
            }
        }
        self.returning(&insert.returning);
    }

    fn index_element(&mut self, element: &IndexElement) {
        match (&element.column, element.value) {
            (Some(column), _) => self.put(&quoted(column)),
            (None, Some(value)) => self.operand(value),
            (None, None) => unreachable!("it is one or the other"),
        }
        if let Some(collation) = &element.collation {
            let _ = write!(self.out, " COLLATE {}", path(collation));
        }
        if let Some(class) = &element.class {
            let _ = write!(self.out, " {}", path(class));
        }
    }

    fn assigned(&mut self, assigned: &Assigned) {
        match assigned {
            Assigned::One(column, value) => {
                self.column(column);
                self.put(" = ");
                self.bare(*value);
            }
            Assigned::Row(columns, value) => {
                self.columns(columns);
                self.put(" = ");
                self.bare(*value);
            }
        }
    }

    fn update(&mut self, update: &Update) {
        self.with(&update.with);
        self.put("UPDATE ");
        self.relation(&update.table);
        self.put(" SET ");
        self.each(&update.set, Self::assigned);
        self.froms(" FROM ", &update.from);
        self.filter(update.filter);
        self.returning(&update.returning);
    }

    fn filter(&mut self, filter: Option<ExprId>) {
        match filter.map(|id| (id, self.tree.expr(id))) {
            Some((id, Expr::CurrentOf(_))) => {
                self.put(" WHERE ");
                self.expr(id);
            }
            _ => self.clause(" WHERE ", filter),
        }
    }

    fn delete(&mut self, delete: &Delete) {
        self.with(&delete.with);
        self.put("DELETE FROM ");
        self.relation(&delete.table);
        self.froms(" USING ", &delete.using);
        self.filter(delete.filter);
        self.returning(&delete.returning);
    }

    fn merge(&mut self, merge: &Merge) {
        self.with(&merge.with);
        self.put("MERGE INTO ");
        self.relation(&merge.into);
        self.put(" USING ");
        self.from(merge.source);
        self.clause(" ON ", Some(merge.on));
        for when in &merge.when {
            self.put(if when.matched { " WHEN MATCHED" } else { " WHEN NOT MATCHED" });
            self.clause(" AND ", when.condition);
            self.put(" THEN ");
            match &when.action {
                MergeAction::Nothing => self.put("DO NOTHING"),
                MergeAction::Delete => self.put("DELETE"),
                MergeAction::Update(set) => {
                    self.put("UPDATE SET ");
                    self.each(set, Self::assigned);
                }
                MergeAction::Insert(columns, overriding, values) => {
                    self.put("INSERT");
                    if !columns.is_empty() {
                        self.put(" ");
                        self.columns(columns);
                    }
                    self.overriding(*overriding);
                    match values {
                        None => self.put(" DEFAULT VALUES"),
                        Some(values) => {
                            self.put(" VALUES ");
                            self.list(values);
                        }
                    }
                }
            }
        }
    }
}
