//! A path in real time: rate, buffer and delay of an [`Emulator`], between two interfaces.

use crate::site::{Place, Site};
use bertha_datapath_sim::{Emulator, Fate, Path, Rate};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket, sockopt,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The rate of the path, in bytes per second: 24 Mbit/s.
pub(crate) const RATE: u64 = 3_000_000;

/// The time that each direction takes without a queue, and the longest time in the queue.
const DELAY: Duration = Duration::from_millis(10);
const BUFFER: Duration = Duration::from_millis(80);

/// Length of the header of a frame, which does not count for the rate.
const HEADER: usize = 14;

/// Two threads, a thread for each direction, which end when the value is dropped.
pub(crate) struct Shaper {
    is_over: Arc<AtomicBool>,
    forward: Arc<Delays>,
    threads: Vec<JoinHandle<()>>,
}

/// The times that packets have waited in a queue.
#[derive(Default)]
struct Delays {
    packets: AtomicU64,
    micros: AtomicU64,
}

impl Shaper {
    pub(crate) fn start(site: &Site) -> Self {
        let [near, far] = site.inside(Place::Path, || ["near", "far"].map(open)).map(Arc::new);
        let (is_over, forward) = (Arc::new(AtomicBool::new(false)), Arc::new(Delays::default()));
        let directions = [(near.clone(), far.clone(), forward.clone()), (far, near, Arc::default())];
        let threads = directions.map(|(from, to, delays)| {
            let is_over = is_over.clone();
            std::thread::spawn(move || carry(&from, &to, &delays, &is_over))
        });
        Self { is_over, forward, threads: threads.into() }
    }

    /// Returns the mean time that packets to the receiver wait in the path's queue during `time`.
    pub(crate) fn queueing(&self, time: Duration) -> Duration {
        let read = || [&self.forward.micros, &self.forward.packets].map(|it| it.load(Relaxed));
        let before = read();
        std::thread::sleep(time);
        let [micros, packets] = [read()[0] - before[0], read()[1] - before[1]];
        Duration::from_micros(micros / packets.max(1))
    }
}

impl Drop for Shaper {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

/// Opens a socket for all frames of an interface.
fn open(interface: &str) -> OwnedFd {
    let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_NONBLOCK, SockProtocol::EthAll);
    let fd = fd.unwrap();
    let address = getifaddrs().unwrap().filter(|it| it.interface_name == interface);
    let address: LinkAddr =
        *address.into_iter().find_map(|it| Some(*it.address?.as_link_addr()?)).as_ref().unwrap();
    setsockopt(&fd, sockopt::RcvBufForce, &(4 << 20)).unwrap();
    bind(fd.as_raw_fd(), &address).unwrap();
    fd
}

fn carry(from: &OwnedFd, to: &OwnedFd, delays: &Delays, is_over: &AtomicBool) {
    let buffer = (RATE as f64 * BUFFER.as_secs_f64()) as u64;
    let mut emulator = Emulator::new(Path { buffer, ..Path::new(Rate::fixed(RATE), DELAY) }, 1);
    let start = Instant::now();
    let mut flying: VecDeque<(Duration, Vec<u8>)> = VecDeque::new();
    let mut frame = [0; 2_000];
    while !is_over.load(Relaxed) {
        while let Ok(len) = recv(from.as_raw_fd(), &mut frame, MsgFlags::MSG_DONTWAIT) {
            let now = start.elapsed();
            let waited = emulator.queueing_delay(now);
            let Fate::Delivered { at, .. } = emulator.admit(now, len.saturating_sub(HEADER) as u64, false)
            else {
                continue;
            };
            delays.micros.fetch_add(waited.as_micros() as u64, Relaxed);
            delays.packets.fetch_add(1, Relaxed);
            flying.push_back((at, frame[..len].to_vec()));
        }
        let now = start.elapsed();
        while let Some((_, frame)) = flying.pop_front_if(|(at, _)| *at <= now) {
            // A frame that the interface has no room for is lost, as on any link.
            let _ = send(to.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT);
        }
        let wait = flying.front().map_or(DELAY, |(at, _)| at.saturating_sub(now)).min(DELAY);
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        // An interrupted wait is merely shorter.
        let _ = poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&wait));
    }
}
