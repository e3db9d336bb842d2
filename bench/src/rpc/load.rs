//! Calls in a closed loop.

use crate::Error;
use crate::harness::{Latency, Recorder};
use std::time::Instant;

/// The work of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Number of bytes in a request, and in its response.
    pub(crate) bytes: usize,
    /// Number of tasks, each of which makes its next call when it has the response to its previous call.
    pub(crate) in_flight: usize,
    /// Number of calls of all tasks together, after a tenth as many for warm-up.
    pub(crate) calls: usize,
}

/// The figures of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    #[cfg_attr(not(feature = "managed"), allow(dead_code))]
    pub(crate) p99_us: f64,
}

impl Load {
    /// Makes the calls. `call` sends a number of bytes, and returns the number of bytes that came back.
    pub(crate) async fn run<C, F>(self, call: C) -> Result<Sample, Error>
    where
        C: Fn(Vec<u8>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<usize, Error>> + Send,
    {
        self.round(self.calls / 10, &call).await?;
        let started = Instant::now();
        let recorders = self.round(self.calls, &call).await?;
        let seconds = started.elapsed().as_secs_f64();
        let mut all = Recorder::new()?;
        for recorder in &recorders {
            all.add(recorder);
        }
        let Latency { p50_us, p99_us, .. } = all.summary();
        Ok(Sample { per_second: all.count() as f64 / seconds, p50_us, p99_us })
    }

    async fn round<C, F>(self, calls: usize, call: &C) -> Result<Vec<Recorder>, Error>
    where
        C: Fn(Vec<u8>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<usize, Error>> + Send,
    {
        let each = calls.div_ceil(self.in_flight);
        let tasks: Vec<_> = (0..self.in_flight)
            .map(|_| {
                let call = call.clone();
                tokio::spawn(async move {
                    let mut recorder = Recorder::new()?;
                    for _ in 0..each {
                        let sent = Instant::now();
                        let bytes = call(vec![7; self.bytes]).await?;
                        recorder.record(sent.elapsed());
                        if bytes != self.bytes {
                            let what = format!("{bytes} bytes came back of {}", self.bytes);
                            return Err(Error::new(crate::ErrorKind::Codec, what));
                        }
                    }
                    Ok(recorder)
                })
            })
            .collect();
        let mut recorders = Vec::new();
        for task in tasks {
            let done = task.await;
            recorders.push(done.map_err(Error::while_doing(crate::ErrorKind::Core, "ending a task"))??);
        }
        Ok(recorders)
    }
}
