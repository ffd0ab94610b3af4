//! What do definitions say? Trees of some texts, part by part.

use onlap_pg::ast::*;
use onlap_pg::grammar::parse;

fn one(text: &str) -> Statement {
    let mut tree = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(tree.statements.len(), 1, "{text}");
    tree.statements.remove(0).statement
}

fn utility(text: &str) -> Utility {
    match one(text) {
        Statement::Utility(utility) => *utility,
        other => panic!("{text}: {other:?}"),
    }
}

fn names(all: &[&str]) -> Vec<Name> {
    all.iter().map(|name| Name::from(*name)).collect()
}

#[test]
fn a_table_has_its_parts() {
    let text = "create table if not exists s.T (a int default 1 + 2 not null, \
                b text constraint k check (b <> '') references u (x) on delete set null, \
                primary key (a, b), like v including defaults) with (history = '7 days', blind_writes)";
    let Statement::CreateTable(table) = one(text) else { panic!("it makes a table") };
    assert!(table.skip);
    assert_eq!(table.name.to_vec(), names(&["s", "t"]));
    let [TableElement::Column(a), TableElement::Column(b), key, like] = &table.elements[..] else {
        panic!("{:?}", table.elements)
    };
    let ColumnRule::Default(said) = &a.rules[0].rule else { panic!("{:?}", a.rules) };
    assert_eq!(said.span.of(text), "1 + 2");
    assert_eq!(a.rules[1].rule, ColumnRule::NotNull);
    assert_eq!(b.rules[0].name.as_deref(), Some("k"));
    let ColumnRule::Check(said, false) = &b.rules[0].rule else { panic!("{:?}", b.rules) };
    assert_eq!(said.span.of(text), "b <> ''");
    let ColumnRule::References(key_of_b) = &b.rules[1].rule else { panic!("{:?}", b.rules) };
    assert_eq!(key_of_b.on_delete, KeyAction::SetNull(Vec::new()));
    assert_eq!(key_of_b.on_update, KeyAction::Nothing);
    let TableElement::Constraint(key) = key else { panic!("{key:?}") };
    assert_eq!(key.rule, TableRule::Primary(names(&["a", "b"]), Vec::new(), Vec::new()));
    assert_eq!(
        *like,
        TableElement::Like([Name::from("v")].into(), vec![(true, "defaults".into())])
    );
    let values: Vec<_> = table.kept.settings.iter().map(|s| s.value.clone()).collect();
    assert_eq!(values, [Some(OptionValue::Text("7 days".into())), None]);
}

#[test]
fn a_views_query_keeps_its_text() {
    let text = "create or replace view v (x) as select a -- all\n from t where a > 1";
    let Statement::CreateView(view) = one(text) else { panic!("it makes a view") };
    assert!(view.replace && view.checked.is_none());
    assert_eq!(view.span.of(text), "select a -- all\n from t where a > 1");
}

#[test]
fn options_of_sequences_come_in_any_order() {
    let text =
        "alter table t alter a add generated always as identity (cycle start -5 no maxvalue)";
    let Statement::AlterTable(alter) = one(text) else { panic!("it alters a table") };
    let [TableChange::Column(_, change)] = &alter.actions[..] else { panic!("{alter:?}") };
    let options = vec![
        SequenceOption::Cycle(true),
        SequenceOption::Start("-5".into()),
        SequenceOption::Max(None),
    ];
    assert_eq!(**change, ColumnChange::AddIdentity(true, options));
}

#[test]
fn words_may_be_names() {
    let name = |text| match utility(text) {
        Utility::Transaction(Transaction::Release(name)) => name,
        Utility::Fetch(fetch) => fetch.name,
        Utility::Deallocate(Some(name)) => name,
        Utility::Set(SetStatement::Setting(_, name, _)) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(&*name("release savepoint"), "savepoint");
    assert_eq!(&*name("release savepoint a"), "a");
    assert_eq!(&*name("fetch next"), "next");
    assert_eq!(&*name("fetch forward forward"), "forward");
    assert_eq!(&*name("deallocate prepare"), "prepare");
    assert_eq!(&*name("set local = 1"), "local");
    assert_eq!(&*name("set session to 1"), "session");
    assert_eq!(&*name("set role = bob"), "role");
}

#[test]
fn both_syntaxes_of_copy_say_the_same() {
    let options = |text| match utility(text) {
        Utility::Copy(copy) => copy.options,
        other => panic!("{other:?}"),
    };
    let said = |options: &[Setting]| -> Vec<(Name, Option<String>)> {
        let text = |o: &Setting| o.value.as_ref().map(|value| value.text().to_string());
        options.iter().map(|o| (o.name.clone(), text(o))).collect()
    };
    let old = options("copy t from stdin csv header delimiter as ';' null 'x'");
    let new = options("copy t from stdin (format csv, header true, delimiter ';', null 'x')");
    assert_eq!(said(&old), said(&new));
    let lists = options("copy t from stdin csv force not null a, b");
    assert_eq!(lists[1].value, Some(OptionValue::List(names(&["a", "b"]))));
}

#[test]
fn what_is_onlaps_own_is_read() {
    let table = Path::from([Name::from("t")]);
    assert_eq!(utility("check table t"), Utility::CheckTable(table));
    assert_eq!(utility("backup to '/x'"), Utility::Backup("/x".into()));
    assert!(matches!(one("upsert into t values (1)"), Statement::Insert(_)));
    assert!(matches!(one("create operator + (leftarg = t, function = f)"), Statement::Other(_)));
    // A column may still be called so.
    assert!(matches!(one("select upsert, backup from t"), Statement::Query(_)));
}

#[test]
fn names_of_with_are_no_relations() {
    let text = "with a as (select * from b), c as (select * from a) \
                select s.t.x, t.y, s.t.* from s.t, c, (with b as (select 1) select * from b) d";
    let tree = parse(text).expect("it is a query");
    let Statement::Query(query) = tree.statements[0].statement else { panic!("it is a query") };
    let (mut relations, mut columns) = (Vec::new(), Vec::new());
    tree.mentions(query, &mut |mention| match mention {
        Mention::Relation(relation) => relations.push(relation.name.join(".")),
        Mention::Column(path, _) | Mention::Star(path, _) => columns.push(path.join(".")),
    });
    assert_eq!(relations, ["b", "s.t"]);
    assert_eq!(columns, ["", "", "s.t.x", "t.y", "s.t", ""]);
}
