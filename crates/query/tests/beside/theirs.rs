//! What does PostgreSQL give?

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;

use crate::Answer;

/// A session of PostgreSQL.
pub struct Theirs(SimpleClient);

impl Theirs {
    pub fn new(postgres: &Postgres) -> Theirs {
        let mut client =
            SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
        client.run("set timezone = 'UTC'").expect("it answers");
        Theirs(client)
    }

    pub fn answer(&mut self, statement: &str) -> Answer {
        let outcome = self.0.run(statement).expect("it answers");
        match outcome.error {
            Some((state, message)) => Answer::Refused(format!("{state} {message}")),
            None => Answer::Rows(outcome.columns.iter().map(|c| c.1).collect(), outcome.rows),
        }
    }
}
