//! A congestion control of the kernel whose flows this process controls.

use crate::flows::Flows;
use crate::kernel::{Arriving, Registered, terminated};
use crate::measurement::Measurement;
use bertha_ccp::Limits;
use bertha_chunnels::congestion::Algorithm;
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time for which a measurement may stay unanswered before the kernel controls its flow.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The time after which the thread notices that its owner is gone.
const TICK: Duration = Duration::from_millis(100);

/// The time between two searches for flows that are idle, or whose end was not told.
const SEARCH: Duration = Duration::from_secs(10);

/// A congestion control of the kernel whose flows this process controls, on a thread of its own.
///
/// Dropping it ends the registration. Flows that use it go on, controlled by the kernel as Reno does.
#[derive(Debug)]
pub struct TcpControl {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_dropped: AtomicBool,
    flows: AtomicU64,
    measurements: AtomicU64,
    acks_obeyed: AtomicU64,
    acks_alone: AtomicU64,
}

/// The numbers of a [`TcpControl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpStatistics {
    /// Number of flows that are not over and have sent anything in the last half of a minute.
    pub flows: u64,
    /// Number of measurements of all flows so far.
    pub measurements: u64,
    /// Number of acknowledgements at which the kernel obeyed a decision of this process. The latest of each flow are not told yet.
    pub acks_obeyed: u64,
    /// Number of acknowledgements at which the kernel controlled the flow as Reno does.
    pub acks_alone: u64,
}

impl TcpControl {
    /// Registers a congestion control by this name, of at most 15 letters, digits, `_` and `-`. `algorithm` controls each flow, within
    /// `limits`; every user of the machine can choose it for its flows.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the name is none, or is that of another congestion control,
    /// [`Unavailable`](ErrorKind::Unavailable) if the kernel or the rights of this process do not suffice, [`Io`](ErrorKind::Io) if
    /// the thread can't be started.
    pub fn register(name: &str, algorithm: impl Algorithm, limits: Limits) -> Result<Self, Error> {
        let registered = Registered::new(name, limits, PATIENCE)?;
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().name("tcp-control".to_owned()).spawn(move || {
            if let Err(error) = serve(&registered, algorithm, &of_thread) {
                tracing::error!(%error, "CCP: the kernel controls the flows of TCP");
            }
        });
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Io, "can't start a thread for the kernel's flows").because(error).at("CCP")
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Checks that [`register`](Self::register) takes the name, unless another congestion control has it.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid), with the characters that a name can have.
    pub fn check_name(name: &str) -> Result<(), Error> {
        terminated(name).map(drop)
    }

    /// Returns true while flows are controlled. Otherwise the log has the reason, and the registration has ended.
    pub fn is_registered(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Returns the numbers of flows, of measurements, and of acknowledgements.
    pub fn statistics(&self) -> TcpStatistics {
        TcpStatistics {
            flows: self.shared.flows.load(Relaxed),
            measurements: self.shared.measurements.load(Relaxed),
            acks_obeyed: self.shared.acks_obeyed.load(Relaxed),
            acks_alone: self.shared.acks_alone.load(Relaxed),
        }
    }
}

impl Drop for TcpControl {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// Controls the flows until the owner is gone.
fn serve(registered: &Registered, algorithm: impl Algorithm, shared: &Shared) -> Result<(), Error> {
    let mut arriving = Arriving::of(registered)?;
    let mut flows = Flows::new(algorithm);
    let mut batch = Vec::new();
    let (began, mut searched) = (Instant::now(), Duration::ZERO);
    while !shared.is_dropped.load(Relaxed) {
        arriving.next(TICK, &mut batch)?;
        let now = began.elapsed();
        for measurement in &batch {
            flows.on_measurement(measurement, now, || registered.entry(measurement.flow));
        }
        flows.answer(|flow, decision| registered.write(flow, decision));
        if now - searched >= SEARCH {
            flows.forget_idle(now);
            flows.forgotten(registered.entries()).into_iter().for_each(|flow| registered.forget(flow));
            searched = now;
        }
        shared.measurements.fetch_add(batch.len() as u64, Relaxed);
        let acks = |of: fn(&Measurement) -> u32| batch.iter().map(|one| u64::from(of(one))).sum();
        shared.acks_obeyed.fetch_add(acks(|one| one.acks_obeyed), Relaxed);
        shared.acks_alone.fetch_add(acks(|one| one.acks_alone), Relaxed);
        shared.flows.store(flows.len() as u64, Relaxed);
    }
    Ok(())
}
