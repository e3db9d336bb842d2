//! A link between two interfaces, in real time and in user space: rate, buffer, delay and loss of an
//! [`Emulator`], and late packets.

use super::PORT;
use super::namespaces::TOWARDS;
use crate::figures::namespace::Namespace;
use crate::{Error, ErrorKind};
use bertha_datapath_sim::{Emulator, Fate, Path};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike, bind, recv, send,
    setsockopt, socket, sockopt,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time by which a reordered packet is late.
const LATE: Duration = Duration::from_millis(5);

/// Time within which the jitter goes from a value to another.
const DRIFT: Duration = Duration::from_millis(100);

/// Length of a frame with its header, which does not count for the path's rate.
const FRAME: usize = 1_514;
const HEADER: usize = 14;

/// EtherType of ARP, which passes: a lost ARP frame stops everything for a second.
const ARP: [u8; 2] = [8, 6];

/// Number of bytes that a socket keeps for the shaper.
const BACKLOG: usize = 4 << 20;

/// The faults of each direction.
#[derive(Debug, Clone)]
pub(in crate::figures::congestion) struct Impairments {
    pub(in crate::figures::congestion) path: Path,
    /// Share of the packets that are [`LATE`], so that other packets overtake them.
    pub(in crate::figures::congestion) reordered: f64,
    /// Largest growth of the delay. The delay drifts, so packets stay in order.
    pub(in crate::figures::congestion) jitter: Duration,
    /// Additional times of each flow's round trips, by the numbers of the flows; further flows have none.
    pub(in crate::figures::congestion) detours: Vec<Duration>,
}

impl Impairments {
    /// Creates a path without further faults.
    pub(in crate::figures::congestion) fn of(path: Path) -> Self {
        Self { path, reordered: 0.0, jitter: Duration::ZERO, detours: Vec::new() }
    }

    /// Returns the additional time of a frame's flow each way.
    fn detour(&self, frame: &[u8]) -> Duration {
        // One of the two ports is the receiver's. No header has options.
        let ports =
            [34, 36].map(|at| frame.get(at..at + 2).map_or(0, |port| u16::from_be_bytes([port[0], port[1]])));
        let flow = ports.into_iter().find_map(|port| self.detours.get(usize::from(port.checked_sub(PORT)?)));
        flow.map_or(Duration::ZERO, |detour| *detour / 2)
    }
}

/// Two threads, a thread for each direction, which end when the value is dropped.
#[derive(Debug)]
pub(in crate::figures::congestion) struct Shaper {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Shaper {
    /// Starts them between the two interfaces of a namespace.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] or [`ErrorKind::Socket`] if the system refuses packet sockets.
    pub(in crate::figures::congestion) fn start(
        between: &Namespace,
        impairments: &Impairments,
        seed: u64,
    ) -> Result<Self, Error> {
        let opened: Result<[OwnedFd; 2], Error> = std::thread::scope(|scope| {
            let opening = scope.spawn(|| {
                between.enter()?;
                Ok([open(TOWARDS[0])?, open(TOWARDS[1])?])
            });
            opening.join().map_err(|_| Error::new(ErrorKind::Core, "opening packet sockets"))?
        });
        let [a, b] = opened?.map(Arc::new);
        let is_over = Arc::new(AtomicBool::new(false));
        let directions = [(a.clone(), b.clone(), 2 * seed), (b, a, 2 * seed + 1)];
        let threads = directions.map(|(from, to, seed)| {
            let direction = Direction::new(impairments.clone(), seed);
            let is_over = is_over.clone();
            std::thread::spawn(move || direction.run(&from, &to, &is_over))
        });
        Ok(Self { is_over, threads: threads.into() })
    }
}

impl Drop for Shaper {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it.
            thread.join().unwrap_or_default();
        }
    }
}

/// Opens a socket for all frames of an interface of the thread's namespace.
fn open(interface: &str) -> Result<OwnedFd, Error> {
    let failed = |step: &str| {
        let doing = format!("{step} {interface}");
        move |error: nix::Error| Error::new(ErrorKind::Socket, doing).because(error)
    };
    let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_NONBLOCK, SockProtocol::EthAll)
        .map_err(failed("a packet socket for"))?;
    let addr = getifaddrs().map_err(failed("looking for"))?.find_map(|it| {
        let addr: LinkAddr = *it.address?.as_link_addr()?;
        (it.interface_name == interface && addr.family() == Some(AddressFamily::Packet)).then_some(addr)
    });
    let addr = addr.ok_or_else(|| Error::new(ErrorKind::Socket, format!("there is no {interface}")))?;
    setsockopt(&fd, sockopt::RcvBufForce, &BACKLOG).map_err(failed("enlarging the buffer of"))?;
    bind(fd.as_raw_fd(), &addr).map_err(failed("binding to"))?;
    Ok(fd)
}

struct Direction {
    impairments: Impairments,
    emulator: Emulator,
    rng: StdRng,
    start: Instant,
    /// Frames on their way, by the time of their arrival and their number.
    flying: BinaryHeap<Reverse<(Duration, u64, Vec<u8>)>>,
    count: u64,
    /// Latest arrival of frames in order.
    newest: Duration,
    drift: Drift,
}

/// A delay that goes to another delay evenly.
#[derive(Debug, Default)]
struct Drift {
    since: Duration,
    from: Duration,
    to: Duration,
}

impl Direction {
    fn new(impairments: Impairments, seed: u64) -> Self {
        Self {
            emulator: Emulator::new(impairments.path.clone(), seed),
            impairments,
            rng: StdRng::seed_from_u64(seed),
            start: Instant::now(),
            flying: BinaryHeap::new(),
            count: 0,
            newest: Duration::ZERO,
            drift: Drift::default(),
        }
    }

    fn run(mut self, from: &OwnedFd, to: &OwnedFd, is_over: &AtomicBool) {
        let mut frame = [0; FRAME + 1];
        while !is_over.load(Relaxed) {
            // Frames come first: frames that wait in the socket have come in time.
            while let Ok(len) = recv(from.as_raw_fd(), &mut frame, MsgFlags::MSG_DONTWAIT) {
                self.admit(&frame[..len]);
            }
            let now = self.start.elapsed();
            while self.flying.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
                let Some(Reverse((_, _, frame))) = self.flying.pop() else { break };
                // A frame that the interface has no room for is lost, as on any link.
                send(to.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT).unwrap_or_default();
            }
            let wait = self.flying.peek().map_or(super::LOOK, |Reverse((at, ..))| at.saturating_sub(now));
            let wait = wait.min(super::LOOK);
            let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
            // An interrupted wait is merely shorter.
            poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&wait)).unwrap_or_default();
        }
    }

    fn admit(&mut self, frame: &[u8]) {
        let now = self.start.elapsed();
        self.count += 1;
        if frame.get(12..14) == Some(&ARP) {
            self.flying.push(Reverse((now, self.count, frame.to_vec())));
            return;
        }
        let len = frame.len().saturating_sub(HEADER) as u64;
        let Fate::Delivered { at, .. } = self.emulator.admit(now, len, false) else { return };
        let at = (at + self.jitter(now)).max(self.newest);
        let detour = self.impairments.detour(frame);
        if self.rng.random_bool(self.impairments.reordered) {
            self.flying.push(Reverse((at + detour + LATE, self.count, frame.to_vec())));
        } else {
            self.newest = at;
            self.flying.push(Reverse((at + detour, self.count, frame.to_vec())));
        }
    }

    fn jitter(&mut self, now: Duration) -> Duration {
        if now >= self.drift.since + DRIFT {
            let to = self.impairments.jitter.mul_f64(self.rng.random());
            self.drift = Drift { since: now, from: self.drift.to, to };
        }
        let Drift { since, from, to } = self.drift;
        let part = (now - since).as_secs_f64() / DRIFT.as_secs_f64();
        from.mul_f64(1.0 - part) + to.mul_f64(part)
    }
}
