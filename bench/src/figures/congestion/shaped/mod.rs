//! Flows in real time between two network namespaces, through a [shaper] in user space: Linux's TCP, and `Reliable` over kernel
//! UDP. They need root.

mod bertha;
mod namespaces;
mod shaper;
mod tcp;

pub(super) use namespaces::{TOWARDS, lacking};
pub(super) use shaper::{Impairments, Shaper};

use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use namespaces::Namespaces;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time after which an end checks if it has to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Port of the first flow; the ports of the others follow. No other program uses the namespace.
const PORT: u16 = 7_000;

/// A transport with its congestion control.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    /// Linux's TCP with the control of this name.
    Linux(&'static str),
    Bertha(Reliable),
}

/// Flows of a transport that share a path.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) impairments: Impairments,
    pub(super) flows: u16,
    /// Time between the beginnings of two flows.
    pub(super) stagger: Duration,
    /// Times before and while bytes are counted.
    pub(super) warm_up: Duration,
    pub(super) counted: Duration,
    pub(super) seed: u64,
}

/// A flow: its port, the bytes that have arrived, and the flag that it has to end.
#[derive(Debug)]
struct Progress {
    port: u16,
    arrived: AtomicU64,
    is_over: AtomicBool,
}

impl Scene {
    /// Returns the bytes of each flow that arrive in a second.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the system refuses namespaces, and errors of the flows.
    pub(super) fn run(&self, transport: &Transport) -> Result<Vec<f64>, Error> {
        let namespaces = Namespaces::new()?;
        let _shaper = Shaper::start(namespaces.between(), &self.impairments, self.seed)?;
        let flow = |number| Progress {
            port: PORT + number,
            arrived: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        };
        let flows: Vec<_> = (0..self.flows).map(flow).collect();
        std::thread::scope(|scope| {
            let namespaces = &namespaces;
            let moving: Vec<_> = flows
                .iter()
                .zip(0..)
                .map(|(progress, number)| {
                    scope.spawn(move || {
                        std::thread::sleep(self.stagger * number);
                        match transport {
                            Transport::Linux(control) => tcp::run(namespaces, control, progress),
                            Transport::Bertha(stack) => bertha::run(namespaces, stack, progress),
                        }
                    })
                })
                .collect();
            let arrived = || flows.iter().map(|flow| flow.arrived.load(Relaxed));
            std::thread::sleep(self.warm_up);
            let before: Vec<_> = arrived().collect();
            std::thread::sleep(self.counted);
            let seconds = self.counted.as_secs_f64();
            let rates =
                arrived().zip(before).map(|(bytes, before)| (bytes - before) as f64 / seconds).collect();
            flows.iter().for_each(|flow| flow.is_over.store(true, Relaxed));
            for ended in moving {
                ended.join().map_err(|_| Error::new(ErrorKind::Core, "an end of a flow panicked"))??;
            }
            Ok(rates)
        })
    }
}
