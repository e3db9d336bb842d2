//! A connection that is being made, and a caller, which is made while its first calls wait.

use crate::failure::Failure;
use crate::readiness::Readiness;
use crate::task::Task;
use crate::wait::{Limit, wait};
use bertha::Error;
use bertha_named::{AnyCaller, AnyConnection};
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A connection of bytes that is being made.
pub(crate) type Connecting = Making<Arc<dyn AnyConnection>>;
/// A caller, whose connection may still be made.
pub(crate) type Client = Making<Arc<dyn AnyCaller>>;

/// The value that a task of the process makes.
pub(crate) struct Making<T> {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    task: Arc<Task<T>>,
}

impl<T: Clone + Send + 'static> Making<T> {
    /// Begins to connect.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn begin(
        making: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<Arc<Self>, Failure> {
        let (released, readiness) = (CancellationToken::new(), Arc::default());
        let making = async { making.await.map_err(Failure::from) };
        let task = Task::begin(&released, &readiness, making)?;
        Ok(Arc::new(Self { released, readiness, task }))
    }

    /// Waits for what is made.
    ///
    /// # Errors
    /// Errors of connecting; [`Failure::LATE`] while it goes on.
    pub(crate) fn outcome(&self, limit: Limit) -> Result<T, Failure> {
        self.wait(limit, self.made())
    }

    /// Waits for what is made.
    ///
    /// # Errors
    /// Errors of connecting.
    pub(crate) async fn made(&self) -> Result<T, Failure> {
        self.task.outcome().await
    }

    /// Waits for work with it, until it is released.
    ///
    /// # Errors
    /// The errors of the work; [`Failure::LATE`]; [`Failure::RELEASED`].
    pub(crate) fn wait<R>(
        &self,
        limit: Limit,
        work: impl Future<Output = Result<R, Failure>>,
    ) -> Result<R, Failure> {
        wait(limit, &self.released, work)
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Gives the connection up, unless a connection of bytes is made.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
    }
}

impl<T> fmt::Debug for Making<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Making").finish_non_exhaustive()
    }
}
