//! The network: hosts, links and their faults.

mod base;
mod bundled;
mod connection;
mod counters;
mod datapath;
mod delivery;
mod groups;
mod link;
mod listener;
mod marked;
mod passage;
mod ports;
mod stream;
mod streams;
mod tap;

pub use base::SimBase;
pub(crate) use base::fits;
pub use bundled::BundleState;
pub use connection::SimConnection;
pub use counters::Counters;
pub use datapath::SimDatapath;
pub use groups::SimGroup;
pub use link::{Bottleneck, Link};
pub use listener::SimListener;
pub use tap::{Datagram, Verdict};

use crate::SimRuntime;
use crate::emulator::{Cause, Emulator, Fate};
use crate::queue::Ending;
use crate::rng::Rng;
use bertha_core::{Error, ErrorKind};
use marked::Marked;
use parking_lot::{Mutex, MutexGuard};
use passage::Passage;
use ports::Ports;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use streams::StreamTable;
use tap::Tap;

/// A simulated network, whose faults can be changed while it runs. Clones are cheap.
///
/// By default the network delivers every datagram after a tenth of a millisecond.
#[derive(Clone)]
pub struct Network {
    shared: Arc<NetworkShared>,
}

struct NetworkShared {
    runtime: SimRuntime,
    state: Mutex<NetworkState>,
}

struct NetworkState {
    counters: Counters,
    limits: Limits,
    rng: Rng,
    streams: StreamTable,
    default_link: Link,
    links: BTreeMap<(IpAddr, IpAddr), Link>,
    /// The time until which the bottleneck of each direction is busy.
    busy: BTreeMap<(IpAddr, IpAddr), Duration>,
    /// Emulators by their number; several directions may share an emulator.
    emulators: Vec<Emulator>,
    emulated: BTreeMap<(IpAddr, IpAddr), usize>,
    /// Bundles by their number, in front of emulators and links; several directions may share a bundle.
    bundles: Vec<bundled::Boxes>,
    bundled: BTreeMap<(IpAddr, IpAddr), usize>,
    cuts: BTreeSet<(IpAddr, IpAddr)>,
    ports: Ports,
    marks: Marked,
    groups: groups::Groups,
    tap: Option<Tap>,
    answers_closed_ports: bool,
}

/// The bounds on what hosts keep before they drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of connections that a listener keeps until they are accepted.
    pub backlog: usize,
    /// Number of messages that a connection keeps until they are received.
    pub queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { backlog: 128, queue: 1024 }
    }
}

impl Network {
    pub(crate) fn new(runtime: SimRuntime) -> Self {
        let state = NetworkState {
            counters: Counters::default(),
            limits: Limits::default(),
            rng: Rng::new(runtime.seed(), 2),
            streams: StreamTable::default(),
            default_link: Link::default(),
            links: BTreeMap::new(),
            busy: BTreeMap::new(),
            emulators: Vec::new(),
            emulated: BTreeMap::new(),
            bundles: Vec::new(),
            bundled: BTreeMap::new(),
            cuts: BTreeSet::new(),
            ports: Ports::default(),
            marks: Marked::default(),
            groups: groups::Groups::default(),
            tap: None,
            answers_closed_ports: true,
        };
        Self { shared: Arc::new(NetworkShared { runtime, state: Mutex::new(state) }) }
    }

    /// Returns the host with this address, as a datapath over datagrams. Hosts exist as soon as they are
    /// named.
    pub fn host(&self, ip: impl Into<IpAddr>) -> SimDatapath {
        SimDatapath::new(self.clone(), ip.into())
    }

    /// Gives this link to all pairs of hosts without a link of their own.
    pub fn set_link(&self, link: Link) {
        self.state().default_link = link;
    }

    /// Gives the direction from a host to another host its own link.
    pub fn set_link_between(&self, from: impl Into<IpAddr>, to: impl Into<IpAddr>, link: Link) {
        self.state().links.insert((from.into(), to.into()), link);
    }

    /// Makes datagrams of these directions, which share it, pass through `emulator` instead of a
    /// [`Bottleneck`]; the delay and the faults of their links follow. The emulator marks datagrams of
    /// connections that [ask for marks](bertha_core::Base::set_ecn). The directions leave any earlier
    /// emulator.
    pub fn emulate<I: Into<IpAddr>>(&self, directions: impl IntoIterator<Item = (I, I)>, emulator: Emulator) {
        let mut state = self.state();
        let number = state.emulators.len();
        state.emulators.push(emulator);
        let directions = directions.into_iter().map(|(from, to)| ((from.into(), to.into()), number));
        state.emulated.extend(directions);
    }

    /// Returns the time for which a datagram that is sent now waits in the [`Bottleneck`] or [`Emulator`] of
    /// this direction.
    pub fn queueing_delay(&self, from: impl Into<IpAddr>, to: impl Into<IpAddr>) -> Duration {
        let now = self.runtime().elapsed();
        let direction = (from.into(), to.into());
        let state = self.state();
        match state.emulated.get(&direction).and_then(|number| state.emulators.get(*number)) {
            Some(emulator) => emulator.queueing_delay(now),
            None => state.busy.get(&direction).copied().unwrap_or_default().saturating_sub(now),
        }
    }

    /// Drops messages from `from` to `to` until the cut is healed. Messages on their way still arrive.
    pub fn cut_one_way(&self, from: impl Into<IpAddr>, to: impl Into<IpAddr>) {
        self.state().cuts.insert((from.into(), to.into()));
    }

    /// Cuts two hosts off from each other.
    pub fn cut(&self, one: impl Into<IpAddr>, other: impl Into<IpAddr>) {
        let one = one.into();
        let other = other.into();
        self.cut_one_way(one, other);
        self.cut_one_way(other, one);
    }

    /// Ends a cut between two hosts, both ways.
    pub fn heal(&self, one: impl Into<IpAddr>, other: impl Into<IpAddr>) {
        let one = one.into();
        let other = other.into();
        let mut state = self.state();
        state.cuts.remove(&(one, other));
        state.cuts.remove(&(other, one));
    }

    /// Ends all cuts.
    pub fn heal_all(&self) {
        self.state().cuts.clear();
    }

    /// Bounds the queues of hosts, for listeners and connections that are made later.
    pub fn set_limits(&self, limits: Limits) {
        self.state().limits = limits;
    }

    /// Turns the answers of closed ports on or off: a host then tells the sender of a datagram that nothing
    /// is bound to the port, as kernels do by ICMP, and the sender's next `recv` or `send` fails once with
    /// [`Unreachable`](ErrorKind::Unreachable). The answers are on by default.
    pub fn answer_closed_ports(&self, answer: bool) {
        self.state().answers_closed_ports = answer;
    }

    /// Shows every datagram that a connection sends to `tap`, which may change or drop it, before the link's
    /// faults apply. The tap replaces any earlier tap. `tap` may call [`inject`](Self::inject). Streams are
    /// not tapped.
    pub fn tap(&self, tap: impl FnMut(&mut Datagram) -> Verdict + Send + 'static) {
        let old = self.state().tap.replace(Arc::new(Mutex::new(tap)));
        drop(old);
    }

    /// Removes the tap.
    pub fn untap(&self) {
        let old = self.state().tap.take();
        drop(old);
    }

    /// Takes the host down: its listeners and connections vanish without a word, and calls on them fail with
    /// [`Closed`](ErrorKind::Closed). The test should drop whatever ran on the host. The host can be used
    /// again at once.
    pub fn restart(&self, ip: impl Into<IpAddr>) {
        const RESTARTED: Ending =
            Ending { kind: ErrorKind::Closed, context: "the host of this end was restarted" };
        let ip = ip.into();
        let (backlogs, inboxes) = self.state().ports.restart(ip);
        let streams = self.state().streams.of_host(ip);
        for backlog in backlogs.into_iter().chain(streams.backlogs) {
            drop(backlog.end_now(RESTARTED));
        }
        let members = self.state().groups.restart(ip);
        for inbox in inboxes.into_iter().chain(members) {
            drop(inbox.end_now(RESTARTED));
        }
        for (stream, end) in streams.streams {
            stream.vanish(end, RESTARTED);
        }
    }

    /// Returns the counts of datagrams so far.
    pub fn counters(&self) -> Counters {
        self.state().counters
    }

    /// Returns the simulation's runtime.
    pub fn runtime(&self) -> &SimRuntime {
        &self.shared.runtime
    }

    fn mtu(&self, from: IpAddr, to: IpAddr) -> usize {
        self.state().link(from, to).mtu
    }

    fn state(&self) -> MutexGuard<'_, NetworkState> {
        self.shared.state.lock()
    }
}

impl NetworkState {
    fn link(&self, from: IpAddr, to: IpAddr) -> Link {
        self.links.get(&(from, to)).copied().unwrap_or(self.default_link)
    }

    /// Returns a local address on `ip` with `port`, or with a free port if it is zero.
    fn choose_port(&mut self, ip: IpAddr, port: u16) -> Result<SocketAddr, Error> {
        self.ports.choose(ip, port)
    }

    /// Returns true if a datagram that is sent now gets through.
    fn passes(&mut self, from: IpAddr, to: IpAddr) -> bool {
        let cut = self.cuts.contains(&(from, to));
        let lost = !cut && self.rng.chance(self.link(from, to).loss);
        self.counters.cut += u64::from(cut);
        self.counters.lost += u64::from(lost);
        !cut && !lost
    }

    /// Draws the passage of a datagram of `len` bytes that is sent at `now`; `None` if it does not arrive.
    fn draw(
        &mut self,
        from: IpAddr,
        to: IpAddr,
        len: usize,
        is_markable: bool,
        now: Duration,
    ) -> Option<Passage> {
        let queued = self.queue(from, to, len, is_markable, now)?;
        if !self.passes(from, to) {
            return None;
        }
        let (delay, reordered) = self.link(from, to).draw_delay(&mut self.rng);
        self.counters.reordered += u64::from(reordered);
        Some(Passage { delay: queued.delay + delay, ..queued })
    }

    /// Returns the passage through the emulator or the bottleneck of the link, if it has one; `None` if the
    /// datagram is dropped there.
    fn queue(
        &mut self,
        from: IpAddr,
        to: IpAddr,
        len: usize,
        is_markable: bool,
        now: Duration,
    ) -> Option<Passage> {
        let number = self.emulated.get(&(from, to));
        if let Some(emulator) = number.and_then(|number| self.emulators.get_mut(*number)) {
            return match emulator.admit(now, len as u64, is_markable) {
                Fate::Delivered { at, is_marked } => {
                    self.counters.marked += u64::from(is_marked);
                    Some(Passage { delay: at.saturating_sub(now), is_marked })
                }
                Fate::Dropped(cause) => {
                    self.counters.queue_full += u64::from(cause == Cause::BufferFull);
                    self.counters.lost += u64::from(cause == Cause::Chance);
                    None
                }
            };
        }
        let unmarked = |delay| Passage { delay, is_marked: false };
        let Some(bottleneck) = self.link(from, to).bottleneck else { return Some(unmarked(Duration::ZERO)) };
        let busy = self.busy.entry((from, to)).or_default();
        let stay = bottleneck.admit(len, busy.saturating_sub(now));
        match stay {
            Some(stay) => *busy = now + stay,
            None => self.counters.queue_full += 1,
        }
        stay.map(unmarked)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
