//! The source of a participant's commands.

use bertha_core::Error;
use bertha_program::Termination;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, Lines};

/// The lines of a participant's input, and the signal that ends the participant as the end of the input does.
pub(crate) struct Commands<R> {
    pub(crate) lines: Lines<R>,
    termination: Option<Termination>,
}

impl<R: AsyncBufRead> Commands<R> {
    /// Makes the commands of a participant that a signal ends.
    pub(crate) fn until_ended(input: R, termination: Termination) -> Self {
        Self { lines: input.lines(), termination: Some(termination) }
    }

    /// Makes the commands of a participant within a process that ends by itself.
    pub(crate) fn new(input: R) -> Self {
        Self { lines: input.lines(), termination: None }
    }

    /// Returns a future that waits for the signal.
    pub(crate) fn signal(&self) -> impl Future<Output = ()> + Send + use<R> {
        let termination = self.termination.clone();
        async move {
            match termination {
                Some(termination) => termination.wait().await,
                None => std::future::pending().await,
            }
        }
    }

    /// Works until the work is done or the signal comes.
    ///
    /// # Errors
    /// Errors of `work`, and the error of an interruption.
    pub(crate) async fn before_signal<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match &self.termination {
            Some(termination) => termination.work(work).await,
            None => work.await,
        }
    }
}
