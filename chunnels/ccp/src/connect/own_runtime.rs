//! The runtime of a thread that shares memory.

use bertha_core::{Error, ErrorKind};
use tokio::runtime::{Builder, Runtime};

/// A runtime that a thread of this crate drives. Unlike tokio's, the value may be dropped on a thread of another runtime.
#[derive(Debug)]
pub(crate) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    /// # Errors
    /// [`Io`](ErrorKind::Io) if the system gives no descriptors.
    pub(crate) fn new() -> Result<Self, Error> {
        let made = Builder::new_current_thread().enable_all().build();
        made.map(|runtime| Self(Some(runtime))).map_err(|error| {
            let what = format!("no runtime for shared memory: {error}");
            Error::new(ErrorKind::Io, what).because(error).at("CCP")
        })
    }

    /// Runs the tasks of the runtime until `future` is done. The calling thread must drive no runtime. Returns `None`
    /// only while the value is dropped.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        self.0.as_ref().map(|runtime| runtime.block_on(future))
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_can_be_dropped_on_a_thread_of_a_runtime() {
        let runtime = OwnRuntime::new().unwrap();
        drop(runtime);
    }
}
