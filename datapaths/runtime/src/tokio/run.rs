//! Running a program over tokio.

use bertha_core::Error;
use std::io;
use tokio::runtime::{Builder, Runtime};

/// Runs `main` on a tokio runtime with several threads, sockets and timers, and returns its output. Tasks
/// that still run at the end of `main` are dropped.
///
/// # Errors
/// Fails if the system does not give the runtime what the runtime needs, such as threads.
pub fn run<F: Future>(main: F) -> Result<F::Output, Error> {
    Ok(built(Builder::new_multi_thread().enable_all())?.block_on(main))
}

/// Runs `main` on a tokio runtime of the calling thread alone, with sockets and timers, and returns its
/// output. Tasks that still run at the end of `main` are dropped.
///
/// # Errors
/// Fails if the system does not give the runtime what the runtime needs.
pub fn block_on<F: Future>(main: F) -> Result<F::Output, Error> {
    Ok(built(Builder::new_current_thread().enable_all())?.block_on(main))
}

fn built(builder: &mut Builder) -> Result<Runtime, Error> {
    builder.build().map_err(|error| {
        let text = format!("the runtime does not start: {error}");
        Error::from(io::Error::new(error.kind(), text)).because(error)
    })
}

/// Starts a task that runs until it ends, or until the runtime ends.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(task));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tokio::sync::oneshot;

    #[test]
    fn tasks_run_and_the_output_is_returned() {
        let of_a_task = || async {
            let (sender, receiver) = oneshot::channel();
            spawn(async move { sender.send(thread::current().id()).unwrap() });
            receiver.await.unwrap()
        };
        assert_ne!(run(of_a_task()).unwrap(), thread::current().id());
        assert_eq!(block_on(of_a_task()).unwrap(), thread::current().id());
    }
}
