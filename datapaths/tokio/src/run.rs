//! Running a program over tokio.

use bertha_core::Error;
use std::io;

/// Runs `main` on a tokio runtime with several threads, sockets and timers, and returns its output. Tasks that still run then are dropped.
///
/// # Errors
/// If the system does not give the runtime what it needs, such as threads.
pub fn run<F: Future>(main: F) -> Result<F::Output, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        let text = format!("the runtime does not start: {error}");
        Error::from(io::Error::new(error.kind(), text)).because(error)
    });
    Ok(runtime?.block_on(main))
}

/// Starts a task that runs until it ends, or the runtime does.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(task));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[test]
    fn tasks_run_and_the_output_is_returned() {
        let output = run(async {
            let (sender, receiver) = oneshot::channel();
            spawn(async move { sender.send(7).unwrap() });
            receiver.await.unwrap()
        });
        assert_eq!(output.unwrap(), 7);
    }
}
