//! What does a step of a running query have, wherever it runs?
//!
//! A [`Guard`] is what the statement gives: when it is to end, and a stack that holds its trees. It is known to the thread
//! while one of the query's batches is made ([`within`]), and goes along with the tasks that DataFusion's library starts
//! ([`carry`]).
//!
//! Thread safety: shared by all tasks of a query.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion_common_runtime::{JoinSetTracer, set_join_set_tracer};
use onlap_base::stop;

use crate::deep::{self, Depth};
use crate::scope::Scope;

/// What a statement gives to those who work for it.
pub struct Guard {
    scope: Arc<Scope>,
    depth: Depth,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Guard>>> = const { RefCell::new(None) };
}

impl Guard {
    /// Of a query in this scope.
    pub fn new(scope: &Arc<Scope>, depth: Depth) -> Arc<Guard> {
        Arc::new(Guard { scope: Arc::clone(scope), depth })
    }
}

/// Runs for a statement, on a stack that holds its trees.
pub fn within<T>(guard: &Arc<Guard>, f: impl FnOnce() -> T) -> T {
    struct Back(Option<Arc<Guard>>);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _back = Back(CURRENT.replace(Some(Arc::clone(guard))));
    let _stop = stop::within(guard.scope.stop());
    deep::run(guard.depth, f)
}

fn current() -> Option<Arc<Guard>> {
    CURRENT.with_borrow(Option::clone)
}

/// Lets tasks of DataFusion's library have the guard of what starts them; once for the process.
pub fn carry() {
    // Fails where it was done before, which is what is wanted.
    let _ = set_join_set_tracer(&Carrier);
}

struct Carrier;

type Task = Pin<Box<dyn Future<Output = Box<dyn Any + Send>> + Send>>;

/// A task that runs for a statement.
struct Carried {
    guard: Arc<Guard>,
    task: Task,
}

impl Future for Carried {
    type Output = Box<dyn Any + Send>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Carried { guard, task } = &mut *self;
        within(guard, || task.as_mut().poll(context))
    }
}

impl JoinSetTracer for Carrier {
    fn trace_future(&self, task: Task) -> Task {
        match current() {
            Some(guard) => Box::pin(Carried { guard, task }),
            None => task,
        }
    }
    fn trace_block(
        &self,
        f: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> {
        match current() {
            Some(guard) => Box::new(move || within(&guard, f)),
            None => f,
        }
    }
}
