//! A connection that is being made.

use crate::failure::Failure;
use crate::readiness::Readiness;
use crate::task::Task;
use crate::wait::{Limit, wait};
use bertha_named::{self as named, AnyConnection, Transport};
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A connection that is being made, in a task of the process.
pub(crate) struct Connecting {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    task: Arc<Task<Arc<dyn AnyConnection>>>,
}

impl Connecting {
    /// Begins to connect.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn begin(over: Transport, connecting: named::Connecting) -> Result<Arc<Self>, Failure> {
        let (released, readiness) = (CancellationToken::new(), Arc::default());
        let task =
            Task::begin(
                &released,
                &readiness,
                async move { over.run(connecting).await.map_err(Failure::from) },
            )?;
        Ok(Arc::new(Self { released, readiness, task }))
    }

    /// Waits for the connection.
    ///
    /// # Errors
    /// Errors of connecting; [`Failure::LATE`] while it goes on.
    pub(crate) fn outcome(&self, limit: Limit) -> Result<Arc<dyn AnyConnection>, Failure> {
        wait(limit, &self.released, self.task.outcome())
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Gives the connection up, unless it is made.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}
