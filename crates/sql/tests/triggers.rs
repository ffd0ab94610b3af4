//! Do triggers that applications use do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package); an empty line stands between two
//! statements. Tags, rows, SQLSTATE, message, detail, hint, context and notices must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use std::thread;

fn compare(script: &str) {
    let differ = compared::differences(script.split("\n\n"), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn tables_of_changed_rows_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/transitions.sql"));
}

#[test]
fn triggers_in_the_place_of_changes_of_views_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/instead.sql"));
}

#[test]
fn triggers_that_are_replaced_are_enabled_as_in_postgresql() {
    compare(include_str!("../testdata/routines/replaced.sql"));
}

#[test]
fn cursors_of_routines_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/cursors.sql"));
}

#[test]
fn triggers_that_are_constraints_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/constraint_triggers.sql"));
}

#[test]
fn triggers_of_rows_that_actions_of_foreign_keys_change_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/actions.sql"));
}

/// Sessions insert rows that name others, and delete those: each row that an action has deleted was told to the trigger, and none
/// names a row that is gone.
#[test]
fn actions_that_fire_triggers_meet_rows_of_other_sessions() {
    let fixture = support::Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create table p (id int primary key)",
        "create table c (id serial primary key, pid int references p on delete cascade on update cascade)",
        "create index on c (pid)",
        "create table gone (id int)",
        "create function note() returns trigger language plpgsql as \
         $$ begin insert into gone values (old.id); return null; end $$",
        "create trigger n after delete on c for each row execute function note()",
        "insert into p select generate_series(0, 4)",
    ] {
        talk.rows(sql);
    }
    let inserted: usize = thread::scope(|scope| {
        let sessions: Vec<_> = (0..3)
            .map(|n| {
                let mut talk = fixture.session();
                scope.spawn(move || {
                    let mut inserted = 0;
                    for round in 0..60 {
                        let id = (round * 7 + n) % 5;
                        let insert = format!("insert into c (pid) values ({id}), ({id})");
                        let moved = (id + 1) % 5;
                        for sql in [
                            insert.clone(),
                            format!("delete from p where id = {id}"),
                            format!("insert into p values ({id}) on conflict do nothing"),
                            insert.clone(),
                            format!("update p set id = {id} where id = {moved}"),
                        ] {
                            match talk.run(&sql).error {
                                None if sql == insert => inserted += 2,
                                None => {}
                                Some((state, text)) => {
                                    let known = ["23503", "23505", "40P01", "40001"];
                                    assert!(known.contains(&&*state), "{sql}: {state} {text}");
                                }
                            }
                        }
                    }
                    inserted
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("it ends")).sum()
    });
    let orphans = "select count(*) from c where not exists (select from p where id = pid)";
    assert_eq!(talk.lines(&[orphans]), ["0"]);
    let all = "select (select count(*) from c) + (select count(distinct id) from gone)";
    assert_eq!(talk.lines(&[all]), [inserted.to_string()]);
    assert_ne!(talk.lines(&["select count(*) from gone"]), ["0"]);
}

#[test]
fn foreign_keys_and_triggers_are_put_off_in_the_order_of_postgresql() {
    compare(include_str!("../testdata/routines/due_order.sql"));
}

/// Each pair of actions is for both kinds of losses, with a trigger on the child, and one on what the child's actions go on to.
#[test]
fn foreign_keys_of_which_one_side_acts_are_judged_on_the_other() {
    let actions = ["no action", "restrict", "cascade", "set null", "set default"];
    let mut script = String::from(
        "create function f() returns trigger language plpgsql as $$ begin return coalesce(new, old); end $$\n",
    );
    for (n, (delete, update)) in
        actions.iter().flat_map(|a| actions.iter().map(move |b| (a, b))).enumerate()
    {
        for (m, when) in ["", "deferrable initially deferred"].into_iter().enumerate() {
            let name = format!("{n}_{m}");
            script.push_str(&format!(
                "create table p{name} (id int primary key)\n\
                 create table c{name} (id int primary key default 1 references p{name} on delete {delete} on update {update} {when})\n\
                 create table g{name} (id int references c{name} on delete {update} on update {delete})\n\
                 create trigger t before update or delete on c{name} for each row execute function f()\n\
                 create trigger t before update or delete on g{name} for each row execute function f()\n\
                 insert into p{name} values (1), (2), (3)\n\
                 insert into c{name} values (2), (3)\n\
                 insert into g{name} values (3)\n\
                 update p{name} set id = id + 10 where id = 2\n\
                 delete from p{name} where id in (2, 12)\n\
                 update p{name} set id = id + 10 where id = 3\n\
                 delete from p{name} where id in (3, 13)\n\
                 select 'p', id from p{name} union all select 'c', id from c{name} union all select 'g', id from g{name} order by 1, 2\n",
            ));
        }
    }
    compare(&script);
}

/// A trigger before one row of an action that changes another row of it: nothing is done, and no row keeps a key that is lost.
#[test]
fn rows_that_triggers_of_an_action_change_are_refused() {
    compare(
        "create table q (id int primary key)\n\
         create table d (k int primary key, id int references q on delete cascade on update cascade)\n\
         create table n (k int primary key, id int references q on delete set null)\n\
         create function md() returns trigger language plpgsql as $$ begin update d set k = k + 100 where k = old.k + 1; return case tg_op when 'DELETE' then old else new end; end $$\n\
         create function mn() returns trigger language plpgsql as $$ begin if pg_trigger_depth() < 4 then update n set k = k + 100 where k = old.k + 1; end if; return new; end $$\n\
         create trigger b before delete on d for each row execute function md()\n\
         create trigger c before update of id on d for each row execute function md()\n\
         create trigger b before update of id on n for each row execute function mn()\n\
         insert into q values (1), (2), (3)\n\
         insert into d values (1, 1), (2, 1)\n\
         insert into n values (1, 2), (2, 2)\n\
         delete from q where id = 1\n\
         update q set id = 10 where id = 1\n\
         delete from q where id = 2\n\
         select 'q', id, 0 from q union all select 'd', id, k from d union all select 'n', id, k from n order by 1, 2, 3\n",
    );
}

#[test]
fn actions_count_in_the_depth_of_triggers_before_rows() {
    compare(
        "create table p (id int primary key)\n\
         create table c (id int primary key, pid int references p on delete cascade on update cascade)\n\
         create function told() returns trigger language plpgsql as $$ begin raise notice '% % %', tg_name, tg_op, pg_trigger_depth(); return coalesce(new, old); end $$\n\
         create trigger b0 before delete or update on c for each row when (pg_trigger_depth() = 0) execute function told()\n\
         create trigger b1 before delete or update on c for each row when (pg_trigger_depth() = 1) execute function told()\n\
         create trigger s before delete or update on c for each statement execute function told()\n\
         create trigger a after delete or update on c for each row execute function told()\n\
         insert into p values (1), (2)\n\
         insert into c values (1, 1), (2, 2)\n\
         update p set id = 3 where id = 1\n\
         delete from p where id = 2\n\
         delete from c\n",
    );
}

#[test]
fn a_trigger_of_a_partitioned_table_is_one_of_its_partitions() {
    compare(include_str!("../testdata/routines/partition_names.sql"));
    let fixture = support::Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create table p (id int) partition by range (id)",
        "create function lg() returns trigger language plpgsql as 'begin return new; end'",
        "create trigger t after insert on p for each row execute function lg()",
    ] {
        talk.rows(sql);
    }
    talk.rows("create table p1 partition of p for values from (0) to (9)");
    talk.rows("create trigger once after insert on p for each statement execute function lg()");
    // PostgreSQL keeps the row trigger for the partitions, or for the others.
    for sql in ["alter table only p disable trigger t", "alter table p1 disable trigger all"] {
        let outcome = talk.run(sql);
        assert_eq!(outcome.error.map(|error| error.0), Some("0A000".to_string()), "{sql}");
    }
    talk.rows("alter table only p disable trigger once");
}
