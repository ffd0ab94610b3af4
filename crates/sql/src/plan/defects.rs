//! What does the log learn of a plan that met a defect?
//!
//! [`told`] adds the plan to an error, [`goes_on`] to a panic, which goes on with it. [`Fault`]s are how tests meet what should
//! not be: the library's errors cannot be asked for.
//!
//! Thread safety: a fault is planted for all sessions; a plan of any of them meets it.

use std::any::Any;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::ArrowError;
use datafusion_common::DataFusionError;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, displayable};
use onlap_base::Defect;
use onlap_base::limits::DEFECT_BYTES;
use parking_lot::Mutex;

use super::Steps;
use crate::deep;
use crate::error::SqlError;

/// The error, which knows its plan where it is a mistake of ours.
pub fn told(error: SqlError, plan: &Steps) -> SqlError {
    if let Some(defect) = error.as_defect() {
        defect.within_plan(|| shown(plan));
    }
    error
}

/// Lets a panic of a plan go on, with the plan.
pub fn goes_on(panic: Box<dyn Any + Send>, plan: &Steps) -> ! {
    let defect = Defect::of_panic(panic);
    // Steps that panicked may be unable to say what they are.
    let known = catch_unwind(AssertUnwindSafe(|| defect.within_plan(|| shown(plan))));
    drop(known);
    resume_unwind(Box::new(defect))
}

/// A plan in one line: steps that read from others stand before them, the deeper the more blanks.
fn shown(plan: &Steps) -> String {
    let mut out = Line(String::new());
    // It stops where there is no more room.
    let _ = deep::run(plan.depth(), || {
        let plan: &dyn ExecutionPlan = &***plan;
        write!(out, "{}", displayable(plan).indent(false))
    });
    let text = out.0;
    text.trim_end_matches([' ', '|']).to_owned()
}

/// Takes a text with line breaks, up to the limit.
struct Line(String);

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(&text.replace('\n', " | "));
        match self.0.len() > DEFECT_BYTES {
            true => Err(fmt::Error),
            false => Ok(()),
        }
    }
}

/// What a plan meets that should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error of DataFusion's library.
    Steps,
    /// What DataFusion's library calls not implemented.
    Missing,
    /// An error of Arrow's library.
    Arrow,
    /// A panic.
    Panic,
}

/// The words of faults, which tests look for.
pub const PLANTED: &str = "planted in FaultExec";

/// A fault that a plan meets, and how many plans do not before.
#[derive(Default)]
pub struct Planted {
    /// Whether there is one: all that a plan looks at where tests plant none.
    waits: AtomicBool,
    fault: Mutex<Option<(Fault, usize)>>,
}

impl Planted {
    /// Plants one.
    pub fn plant(&self, fault: Fault, before: usize) {
        *self.fault.lock() = Some((fault, before));
        self.waits.store(true, Ordering::Release);
    }

    /// What a plan gives instead of this, where a fault waits for it.
    pub fn instead_of(&self, stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
        if !self.waits.load(Ordering::Acquire) {
            return stream;
        }
        let mut planted = self.fault.lock();
        let fault = match planted.as_mut() {
            None => return stream,
            Some((_, before @ 1..)) => {
                *before -= 1;
                return stream;
            }
            Some((fault, 0)) => *fault,
        };
        *planted = None;
        self.waits.store(false, Ordering::Release);
        let schema = stream.schema();
        let failing = futures::stream::once(async move {
            Err(match fault {
                Fault::Steps => DataFusionError::Internal(PLANTED.into()),
                Fault::Missing => DataFusionError::NotImplemented(PLANTED.into()),
                Fault::Arrow => {
                    let error = ArrowError::ComputeError(PLANTED.into());
                    DataFusionError::Shared(Arc::new(error.into()))
                }
                Fault::Panic => panic!("{PLANTED}"),
            })
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, failing))
    }
}
