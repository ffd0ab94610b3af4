//! Stories in `testdata/isolation`: schedules of several sessions, told step by step.
//!
//! | command | does |
//! |---|---|
//! | `given` | says which tables there are: `table t id value` (the first column is the primary key, all are integers), `index by_value value`, `unique by_u u`, `foreign fk column parent [cascade]`, `row t 1 10` |
//! | `schedule` | the steps, each `session: statement`; see [`session`] for the statements |
//! | `run level=(read_committed,repeatable_read)` | plays the schedule at levels, whose outcomes are equal |
//! | `run level=… without=recheck` | the control: plays it with a rule switched off, which must change the outcome |
//!
//! Each session is a task of a simulation with a transaction of its own. After a step a little virtual
//! time passes; a step that has not ended by then waits, and is told again, indented, when it ends.
//! The steps that follow in its session come after it. `db: flush`, `db: settle` and `db: pass 30`
//! (milliseconds) are steps of nobody.
//!
//! As in PostgreSQL, a transaction in which a statement failed does nothing more: its commit is a
//! rollback, unless it goes back to a savepoint.
//!
//! Every schedule is played with other seeds too, with a flush after each step, with merges after each
//! step, and with transactions that have no room in memory: the outcome is the same.

mod session;
mod stage;
mod statement;
mod words;

use onlap::{Isolation, Rule};

use stage::{Given, Play, Upkeep, play};

/// What a file has told so far.
#[derive(Default)]
struct Story {
    given: Given,
    schedule: Vec<String>,
}

impl Story {
    fn run(&self, test: &mut datadriven::TestCase) -> String {
        let levels: Vec<String> = test.take_args("level").expect("a level");
        let without = test.try_take_arg::<String>("without").unwrap().map(|name| rule(&name));
        let mut told: Option<String> = None;
        for name in levels {
            let level = level(&name);
            let mut first = None;
            let plays = [
                (Upkeep::None, 1),
                (Upkeep::None, 2),
                (Upkeep::Flush, 3),
                (Upkeep::Settle, 4),
                (Upkeep::Spill, 5),
            ];
            for (upkeep, seed) in plays {
                let out = play(&self.given, &self.schedule, Play { level, without, upkeep, seed });
                let first = first.get_or_insert_with(|| out.clone());
                assert_eq!(out, *first, "{name}, {upkeep:?}, seed {seed}: another outcome");
            }
            let out = first.expect("played");
            if without.is_some() {
                let play_by_rules = Play { level, without: None, upkeep: Upkeep::None, seed: 1 };
                let ruled = play(&self.given, &self.schedule, play_by_rules);
                assert_ne!(out, ruled, "nothing changes where {without:?} is switched off");
            }
            let told = told.get_or_insert_with(|| out.clone());
            assert_eq!(out, *told, "{name} comes out otherwise");
        }
        told.expect("a level")
    }
}

fn level(name: &str) -> Isolation {
    match name {
        "read_committed" => Isolation::ReadCommitted,
        "repeatable_read" => Isolation::RepeatableRead,
        "serializable" => Isolation::Serializable,
        other => panic!("unknown level {other}"),
    }
}

fn rule(name: &str) -> Rule {
    match name {
        "first_updater_wins" => Rule::FirstUpdaterWins,
        "recheck" => Rule::Recheck,
        "read_validation" => Rule::ReadValidation,
        "unique_keys" => Rule::UniqueKeys,
        "foreign_keys" => Rule::ForeignKeys,
        other => panic!("unknown rule {other}"),
    }
}

#[test]
fn schedules_come_out_as_told() {
    datadriven::walk("testdata/isolation", |file| {
        let mut story = Story::default();
        file.run(|test| {
            let lines = || test.input.lines().map(str::to_owned).collect();
            let out = match test.directive.as_str() {
                "given" => {
                    story.given = Given(lines());
                    String::new()
                }
                "schedule" => {
                    story.schedule = lines();
                    String::new()
                }
                "run" => story.run(test),
                other => panic!("unknown command {other}"),
            };
            test.expect_empty().unwrap();
            out
        });
    });
}
