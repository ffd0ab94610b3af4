//! A session in a thread of its own, which can be left waiting.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Statements go in, answers come out.
pub struct Actor<T> {
    statements: Sender<String>,
    answers: Receiver<T>,
}

impl<T: Send + 'static> Actor<T> {
    /// A session that carries statements out so.
    pub fn new(mut run: impl FnMut(&str) -> T + Send + 'static) -> Actor<T> {
        let (statements, to_run) = channel::<String>();
        let (told, answers) = channel();
        thread::spawn(move || {
            for sql in to_run {
                if told.send(run(&sql)).is_err() {
                    return;
                }
            }
        });
        Actor { statements, answers }
    }

    /// Begins a statement.
    pub fn begin(&self, sql: &str) {
        self.statements.send(sql.to_string()).expect("the session lives");
    }

    /// The answer; `None` where it does not come in time.
    pub fn answer(&self, patience: Duration) -> Option<T> {
        self.answers.recv_timeout(patience).ok()
    }
}
