//! One window for all flows of an aggregate, in equal parts.

use super::{Aggregate, AggregateAlg, Grouping, GroupingKey, Subflow};
use crate::algorithms::handle::{Handle, register};
use crate::algorithms::window::{self, MIN, Round, Window};
use crate::algorithms::{cubic, newreno};
use portus::ipc::Ipc;
use portus::{DatapathInfo, Report};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// One window for the flows of each group, which behaves as the window of one flow, and of which each active
/// flow has an equal part.
///
/// A flow that joins has its part from its first acknowledgement on, without a slow start, and the other
/// parts shrink at once. A flow that reports nothing for a second, and for four round trips, needs no part;
/// its window is as large as the other windows, for when it sends again. A part is at least two packets. The
/// flows of a group are assumed to share a bottleneck: a loss of one flow counts for all.
#[derive(Debug, Clone, Copy)]
pub struct SharedWindow {
    grouping: Grouping,
    start: fn(f64) -> Box<dyn Window>,
}

impl SharedWindow {
    /// Makes a window that grows and shrinks as the window of [`NewReno`](crate::algorithms::NewReno).
    pub fn newreno(grouping: Grouping) -> Self {
        Self { grouping, start: |packets| Box::new(newreno::Reno::new(packets)) }
    }

    /// Makes a window that grows and shrinks as the window of [`Cubic`](crate::algorithms::Cubic).
    pub fn cubic(grouping: Grouping) -> Self {
        Self { grouping, start: |packets| Box::new(cubic::CubicState::new(cubic::Cubic::default(), packets)) }
    }
}

impl<I: Ipc> AggregateAlg<I> for SharedWindow {
    type Key = GroupingKey;
    type Aggregate = SharedWindowAggregate<I>;

    fn name() -> &'static str {
        "shared window"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs()
    }

    fn aggregate_by(&self, flow: &DatapathInfo) -> GroupingKey {
        self.grouping.key(flow)
    }

    fn create(&self, flow: Subflow<I>) -> SharedWindowAggregate<I> {
        let packet = f64::from(flow.info.mss.max(1));
        let mut aggregate = SharedWindowAggregate {
            window: (self.start)(f64::from(flow.info.init_cwnd) / packet),
            packet,
            flows: Vec::new(),
            now: Duration::ZERO,
            round: Sum::new(Duration::ZERO),
            recovery_until: Duration::ZERO,
        };
        aggregate.create_subflow(flow);
        aggregate
    }
}

/// The time without a report after which a flow is idle, and the same limit in round trips.
const IDLE: Duration = Duration::from_secs(1);
const IDLE_ROUNDS: u32 = 4;

/// An aggregate of [`SharedWindow`].
pub struct SharedWindowAggregate<I: Ipc> {
    window: Box<dyn Window>,
    /// The size of a packet in bytes.
    packet: f64,
    flows: Vec<Member<I>>,
    /// The time on the clock of the aggregate: the clock of its first flow, continued by the other flows.
    now: Duration,
    round: Sum,
    /// The end of the time in which losses count as one.
    recovery_until: Duration,
}

struct Member<I: Ipc> {
    number: u64,
    handle: Handle<I>,
    /// The time of the last report on the flow's clock, which begins with the flow; and the time on the
    /// aggregate's clock then.
    clock: Option<Duration>,
    heard: Duration,
    rtt: Duration,
}

/// The reports of one round trip.
struct Sum {
    start: Duration,
    acked: f64,
    rtt: Duration,
}

impl Sum {
    fn new(start: Duration) -> Self {
        Self { start, acked: 0.0, rtt: Duration::MAX }
    }

    /// Adds a report of a flow, whose bytes let the window grow if it used its part.
    fn add(&mut self, round: &Round, is_used: bool) {
        self.acked += if is_used { round.acked } else { 0.0 };
        self.rtt = self.rtt.min(round.rtt);
    }
}

impl<I: Ipc> SharedWindowAggregate<I> {
    /// Reads the time on a flow's clock, and continues the clock of the aggregate.
    fn tick(&mut self, number: u64, round: &Round) {
        let Some(member) = self.flows.iter_mut().find(|member| member.number == number) else { return };
        // The clocks have no common beginning: the clock of a new flow is set by the last report of any flow.
        let at = member.clock.map_or(self.now, |clock| member.heard + round.now.saturating_sub(clock));
        self.now = self.now.max(at);
        (member.clock, member.heard, member.rtt) = (Some(round.now), at, round.rtt);
    }

    /// Lets the window grow by the bytes of a round trip.
    fn end_round(&mut self) {
        let Sum { acked, rtt, .. } = self.round;
        if acked > 0.0 {
            self.window.on_round(&Round { acked, rtt, now: self.now, lag: Duration::ZERO });
        }
        self.round = Sum::new(self.now);
    }

    fn active(&self) -> usize {
        let is_active = |member: &&Member<I>| {
            let idle_after = IDLE.max(member.rtt * IDLE_ROUNDS);
            member.heard + idle_after >= self.now
        };
        self.flows.iter().filter(is_active).count().max(1)
    }

    /// Returns the number of bytes of one flow's part.
    fn part(&self) -> u32 {
        let packets = (self.window.packets() / self.active() as f64).max(MIN);
        register(packets * self.packet)
    }

    /// Gives each flow its part.
    fn apportion(&self) {
        let part = self.part();
        self.flows.iter().for_each(|member| member.handle.set(&[("Cwnd", part)]));
    }
}

impl<I: Ipc> Aggregate<I> for SharedWindowAggregate<I> {
    fn create_subflow(&mut self, flow: Subflow<I>) {
        let number = flow.number;
        let handle = Handle::new(flow.datapath);
        self.flows.push(Member { number, handle, clock: None, heard: self.now, rtt: Duration::ZERO });
        // The flow counts from now on: the other flows leave it its part.
        let part = self.part();
        self.flows
            .iter_mut()
            .filter(|it| it.number == number)
            .for_each(|it| window::begin(&mut it.handle, part));
        self.apportion();
    }

    fn on_report(&mut self, number: u64, report: Report) {
        let Some(member) = self.flows.iter().find(|member| member.number == number) else { return };
        let Some(measured) = window::measured(&member.handle, &report, self.packet) else { return };
        let before = self.part();
        let start = member.heard;
        self.tick(number, &measured.round);
        let round = Round { now: self.now, ..measured.round };
        let is_recovering = self.now < self.recovery_until;
        // A lost peer of one flow says nothing about the path of the other flows.
        let is_timeout = measured.timeout > 0 && self.active() == 1;
        let is_lost = measured.lost > 0 || measured.timeout > 0;
        let is_used = window::is_used(f64::from(before) / self.packet, measured.in_flight);
        self.round.add(&round.after(start, self.recovery_until), is_used);
        if is_timeout {
            self.window.on_timeout();
        } else if is_lost && !is_recovering {
            // Bytes that were acknowledged before a loss count, as they would have at their acknowledgements.
            self.end_round();
            self.window.on_loss(&round);
            self.recovery_until = measured.recovered_at(self.now);
        } else if self.now >= self.round.start + self.round.rtt {
            self.end_round();
        }
        if self.part() != before {
            self.apportion();
        } else if let Some(member) = self.flows.iter().find(|member| member.number == number) {
            // An agent that does not answer counts as gone.
            member.handle.set(&[("Cwnd", before)]);
        }
    }

    fn close_subflow(&mut self, number: u64) {
        self.flows.retain(|member| member.number != number);
        self.apportion();
    }
}

impl<I: Ipc> fmt::Debug for SharedWindowAggregate<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWindowAggregate")
            .field("packets", &self.window.packets())
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}
