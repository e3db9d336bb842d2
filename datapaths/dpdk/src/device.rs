//! An open port with its queues, shared by its connections and listeners.

use crate::config::Checksums;
use crate::failure::failure;
use crate::open::{OpenPort, QueuePair, open};
use crate::poll_thread::PollThreads;
use crate::port::PortHandle;
use crate::queue::{Network, Parts, Queue, Steering, Transmitter, TxQueue};
use crate::{Config, Counters, DpdkStatistics, QueueCounters};
use bertha_core::{Error, ErrorKind};
use bertha_netstack::{Flow, Interface, Stack};
use parking_lot::Mutex;
use std::cell::Cell;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// An open port with its interface. Its flows are spread over its queues.
pub(crate) struct Device {
    pub(crate) queues: Arc<[Queue]>,
    pub(crate) port: Arc<PortHandle>,
    pub(crate) interface: Interface,
    /// Threads that poll. They end when the value is dropped.
    _threads: PollThreads,
}

impl Device {
    /// Opens the port that `config` describes, and gives it its addresses.
    pub(crate) fn open(config: &Config) -> Result<Arc<Self>, Error> {
        let subnets = config.subnets()?;
        let count = config.checked_queues()?;
        let OpenPort { handle: port, queues } = open(config)?;
        let interface = Interface::new(port.mac, port.mtu.into(), config.vlan, &subnets, &config.gateway)
            .map_err(|error| failure(ErrorKind::Invalid, error.to_string()).because(error))?;
        if count > 1 && !port.spreads {
            let has = queues.len();
            tracing::info!(
                has,
                wanted = count,
                "the port does not spread flows as wanted; threads that poll do"
            );
        }
        let now = Instant::now();
        let mut steering =
            if count > 1 { Steering::new(port.spread, port.pool) } else { Vec::new() }.into_iter();
        let mut transmitters = Transmitters { shared: Vec::new(), are_shared: queues.len() < count };
        let mut pairs = queues.into_iter();
        // A quarter of the buffers is left for frames that the port receives and sends.
        let max_queued = port.pool.size() as usize / 4 * 3 / count;
        let queue = |number| {
            let (rx, tx) = pairs.next().map(|QueuePair { rx, tx }| (rx, tx)).unzip();
            let stack = Stack::new(interface.clone(), now).with_offload(port.offload);
            let stack = match config.checksums {
                Checksums::Software => stack,
                Checksums::None => stack.without_udp_checksums(),
            };
            let transmitter = transmitters.of(number, tx);
            let network = Network::new(number, port.clone(), stack, transmitter, now);
            Queue::new(number, config.polling, Parts { rx, network, steering: steering.next(), max_queued })
        };
        let queues: Arc<[Queue]> = (0..count).map(queue).collect();
        let threads = PollThreads::start(config.polling, &queues)?;
        Ok(Arc::new(Self { queues, port, interface, _threads: threads }))
    }

    /// Returns the number of the calling thread's queue: queues are assigned in turn, at a thread's first
    /// call.
    pub(crate) fn own_queue(&self) -> usize {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
        }
        if self.queues.len() == 1 {
            return 0;
        }
        // Relaxed access suffices: no other value depends on the number.
        let number = THREAD.get().unwrap_or_else(|| THREADS.fetch_add(1, Ordering::Relaxed));
        THREAD.set(Some(number));
        number % self.queues.len()
    }

    /// Returns true if datagrams of `flow` belong to the queue with this number.
    pub(crate) fn belongs(&self, flow: Flow, queue: usize) -> bool {
        let own = self.local_addr(flow).ip();
        self.queues.len() == 1 || self.port.spread.queue_of(flow, own) == queue
    }

    /// Returns the address and the port at this end of a flow.
    pub(crate) fn local_addr(&self, flow: Flow) -> SocketAddr {
        // The unspecified address stands for an address that the interface does not have, which no flow has.
        let own = self.interface.own(flow).unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        SocketAddr::new(own, flow.local_port())
    }

    /// Returns the sum of the counters of all queues.
    pub(crate) fn counters(&self) -> Counters {
        self.queues.iter().fold(Counters::default(), |mut all, queue| {
            all += queue.lock().counters();
            all
        })
    }

    /// Returns the state that connections show.
    pub(crate) fn statistics(&self) -> DpdkStatistics {
        DpdkStatistics { port: self.port.statistics().ok(), counters: self.counters() }
    }

    /// Returns the counters of each queue.
    pub(crate) fn queue_counters(&self) -> Vec<QueueCounters> {
        self.queues.iter().map(|queue| queue.lock().counters).collect()
    }

    /// Returns true if the link is up.
    pub(crate) fn is_up(&self) -> bool {
        self.queues[0].lock().network.is_up()
    }
}

/// The transmit queues of a port, as they are assigned to queues.
struct Transmitters {
    shared: Vec<Arc<Mutex<TxQueue>>>,
    /// True if the port has too few, so that all transmit queues are shared.
    are_shared: bool,
}

impl Transmitters {
    /// Returns the way out of the queue with this number. `own` is the port's transmit queue of this number,
    /// if it has one.
    fn of(&mut self, number: usize, own: Option<TxQueue>) -> Transmitter {
        match own {
            Some(own) if !self.are_shared => return Transmitter::Own(own),
            Some(own) => self.shared.push(Arc::new(Mutex::new(own))),
            None => {}
        }
        match self.shared.len() {
            0 => Transmitter::None,
            len => Transmitter::Shared(self.shared[number % len].clone()),
        }
    }
}
