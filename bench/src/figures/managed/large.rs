//! An application with large requests, in a process of its own.

use super::SERVICE;
use super::bench::Question;
use super::by_daemon;
use crate::harness::{in_time, runtime};
use crate::{Error, ErrorKind};
use bertha_managed::heap::Heap;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The application of a measurement.
#[derive(Debug, Args)]
pub(crate) struct AskOptions {
    /// Socket of the daemon
    #[arg(long)]
    socket: PathBuf,
    /// Name of the service
    #[arg(long, default_value = SERVICE)]
    service: String,
    /// Bytes of a request
    #[arg(long)]
    bytes: usize,
    /// Number of calls in flight
    #[arg(long)]
    in_flight: usize,
    /// Milliseconds for which it calls, after a quarter as many for warm-up
    #[arg(long)]
    milliseconds: u64,
    /// Keeps requests until its heap has no room, and calls no more
    #[arg(long)]
    fills: bool,
}

/// Makes calls for some time, says that it has begun, and at the end the number of calls per second.
///
/// # Errors
/// Errors of the attachment, and the first call that fails.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(crate) fn ask(options: &AskOptions) -> Result<(), Error> {
    let lasts = Duration::from_millis(options.milliseconds);
    runtime()?.block_on(in_time(async {
        let client = Arc::new(by_daemon::client_of(&options.service, &options.socket, "large").await?);
        if options.fills {
            let _kept = fill(&client.heap(), options.bytes);
            println!("begun");
            std::future::pending::<()>().await;
        }
        let round = async |lasts| {
            let (client, ends) = (Arc::clone(&client), Instant::now() + lasts);
            let one = move || keep_calling(Arc::clone(&client), options.bytes, ends);
            let tasks: Vec<_> = (0..options.in_flight).map(|_| tokio::spawn(one())).collect();
            let mut calls = 0;
            for task in tasks {
                calls += task.await.map_err(Error::while_doing(ErrorKind::Core, "ending a task"))??;
            }
            Ok::<_, Error>(calls)
        };
        round(lasts / 4).await?;
        println!("begun");
        let begun = Instant::now();
        let calls: u32 = round(lasts).await?;
        println!("calls per second: {}", f64::from(calls) / begun.elapsed().as_secs_f64());
        Ok(())
    }))
}

/// Makes requests until the heap has no room for another.
fn fill(heap: &Heap, bytes: usize) -> Vec<Question> {
    let mut kept = Vec::new();
    loop {
        let mut question = Question::new_in(heap);
        if question.payload_mut().try_reserve(bytes).is_err() {
            return kept;
        }
        kept.push(question);
    }
}

/// Makes one call after another, and returns their number.
async fn keep_calling(client: Arc<by_daemon::Client>, bytes: usize, ends: Instant) -> Result<u32, Error> {
    let payload = vec![7; bytes];
    let mut calls = 0;
    while Instant::now() < ends {
        if by_daemon::call(&client, &payload).await? != bytes {
            return Err(Error::new(ErrorKind::Codec, "a wrong answer came back"));
        }
        calls += 1;
    }
    Ok(calls)
}
