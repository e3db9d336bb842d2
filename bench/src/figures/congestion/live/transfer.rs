//! Flows of `Reliable` from one thread to another, over UDP of the loopback interface.

use crate::harness::{ETHERNET, process_time, runtime};
use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::Algorithm;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_kernel::Udp;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Length of a message that fills a packet, and number of messages in a burst.
const MESSAGE: usize = ETHERNET - 25;
const BURST: usize = 64;

/// Time before bytes are counted.
const WARM_UP: Duration = Duration::from_millis(300);

/// Time until an agent controls all flows. Many announcements at once do not fit into its socket, and are
/// repeated.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub(super) flows: usize,
    /// Time for which bytes are counted.
    pub(super) counted: Duration,
    /// The bytes that all flows together have to send in a second; `None` for as many as they can.
    pub(super) offered: Option<f64>,
}

/// Time between two bursts of a flow that has a rate to keep.
const PAUSE: Duration = Duration::from_millis(10);

/// The outcome of a transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    /// The bytes of all flows that arrived in a second.
    pub(super) rate: f64,
    /// Processor time of all processes, in seconds for each second.
    pub(super) processor: f64,
}

impl Transfer {
    /// Returns what arrives from the time on at which the agent lacks no flow, and the processor time for it: of this process,
    /// and of another, which `processor` returns.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if a flow fails, and [`ErrorKind::Stalled`] if the flows are not ready in time, or
    /// no longer ready in the end.
    pub(super) fn run(
        self,
        control: impl Algorithm + Clone,
        lacking: impl Fn() -> usize,
        processor: impl Fn() -> Result<Duration, Error>,
    ) -> Result<Carried, Error> {
        let arrived = Arc::new(AtomicU64::new(0));
        let (ready, listening) = oneshot::channel();
        let (finish, finished) = oneshot::channel::<()>();
        let counter = arrived.clone();
        let receiver = std::thread::spawn(move || {
            runtime()?.block_on(async {
                tokio::select! {
                    ended = receive(self.flows, ready, counter) => ended,
                    _ = finished => Ok(()),
                }
            })
        });
        let measured = runtime()?.block_on(async {
            let failed = |_| Error::new(ErrorKind::Bertha, "the receiver has failed");
            let server = listening.await.map_err(failed)?;
            let offered = self.offered.map(|rate| rate / self.flows as f64);
            let sending =
                (0..self.flows).map(|_| tokio::spawn(send(server.clone(), control.clone(), offered)));
            let sending: Vec<_> = sending.collect();
            let start = Instant::now();
            while lacking() > 0 && start.elapsed() < PATIENCE {
                tokio::time::sleep(WARM_UP / 10).await;
            }
            tokio::time::sleep(WARM_UP).await;
            let (before, used) = (arrived.load(Relaxed), process_time() + processor()?);
            let begin = Instant::now();
            tokio::time::sleep(self.counted).await;
            let seconds = begin.elapsed().as_secs_f64();
            let rate = (arrived.load(Relaxed) - before) as f64 / seconds;
            let processor = (process_time() + processor()?).saturating_sub(used).as_secs_f64() / seconds;
            let lacking = lacking();
            for flow in sending {
                if flow.is_finished() {
                    flow.await.map_err(Error::while_doing(ErrorKind::Core, "sending"))??;
                } else {
                    flow.abort();
                }
            }
            if lacking == 0 {
                Ok(Carried { rate, processor })
            } else {
                let what = format!("the agent lacks {lacking} of {} flows", self.flows);
                Err(Error::new(ErrorKind::Stalled, what))
            }
        });
        let _may_have_failed = finish.send(());
        let panicked = |_| Error::new(ErrorKind::Core, "the receiver panicked");
        receiver.join().map_err(panicked)??;
        measured
    }
}

async fn receive(flows: usize, ready: oneshot::Sender<Addr>, arrived: Arc<AtomicU64>) -> Result<(), Error> {
    let failed = |error| Error::while_doing(ErrorKind::Bertha, "receiving")(error);
    let listener = Udp::new().listen((Ipv4Addr::LOCALHOST, 0).into()).await.map_err(failed)?;
    // The sender may have failed.
    ready.send(listener.local_addr()).unwrap_or_default();
    let mut receiving = Vec::new();
    for _ in 0..flows {
        let base = listener.accept().await.map_err(failed)?;
        let connection = Reliable::new().packet(ETHERNET).wrap(base).await.map_err(failed)?;
        let arrived = arrived.clone();
        receiving.push(tokio::spawn(async move {
            let mut burst: Vec<Buf> = Vec::new();
            while connection.recv_batch(&mut burst, BURST).await.is_ok() {
                let bytes: usize = burst.drain(..).map(|message| message.len()).sum();
                arrived.fetch_add(bytes as u64, Relaxed);
            }
        }));
    }
    // The clients dispose of their connections at the end.
    std::future::pending().await
}

/// Sends at a rate in bytes per second, or as fast as the control allows.
async fn send(server: Addr, control: impl Algorithm, rate: Option<f64>) -> Result<(), Error> {
    let failed = |error| Error::while_doing(ErrorKind::Bertha, "sending")(error);
    let base = Udp::new().connect(server).await.map_err(failed)?;
    let stack = Reliable::new().packet(ETHERNET).with(control);
    let connection = stack.wrap(base).await.map_err(failed)?;
    let start = Instant::now();
    let mut sent = 0;
    loop {
        let due = rate.map_or(BURST, |rate| {
            let due = (rate * start.elapsed().as_secs_f64() / MESSAGE as f64) as u64;
            due.saturating_sub(sent).min(BURST as u64) as usize
        });
        if due < BURST && rate.is_some() {
            tokio::time::sleep(PAUSE).await;
        }
        let burst = (0..due).map(|_| Buf::new(MESSAGE, 0)).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        connection.send_batch(burst.into_iter()).await.map_err(failed)?;
        sent += due as u64;
    }
}
