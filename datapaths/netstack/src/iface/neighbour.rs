//! The link-layer address of a neighbour, and how it is kept true: neighbour unreachability detection (RFC
//! 4861, section 7.3), for ARP as well (RFC 1122, section 2.3.2.1).
//!
//! Any node on the wire can claim any address. So a claim never replaces an address that the neighbour itself
//! has confirmed: the neighbour is asked at the confirmed address, in quick succession. Only if it is silent
//! there, the claimant takes its place, and is asked in turn: a service that has moved to another machine is
//! followed within half a second. Unsolicited statements are not believed otherwise, with an exception: a
//! neighbour that asks for this interface's address has to get a reply, so the address that it tells is used,
//! and asked in turn.

use crate::MacAddr;
use std::time::{Duration, Instant};

/// Time for which an address is valid (RFC 4861, REACHABLE_TIME, twice as long).
pub(crate) const REACHABLE: Duration = Duration::from_secs(60);

/// Time between requests (RFC 4861, RETRANS_TIMER).
const RETRANSMIT_INTERVAL: Duration = Duration::from_secs(1);

/// Time between requests while two nodes claim an address. A neighbour that lives answers within milliseconds.
const DISPUTE_RETRANSMIT_INTERVAL: Duration = Duration::from_millis(125);

/// Number of requests without a reply after which a neighbour counts as unreachable (RFC 4861,
/// MAX_UNICAST_SOLICIT and MAX_MULTICAST_SOLICIT).
const MAX_REQUESTS: u8 = 3;

/// Time between the beginnings of two disputes: a confirmed address is not asked about more often, however
/// often other nodes claim it.
const DISPUTE_INTERVAL: Duration = Duration::from_secs(1);

/// Time for which the address of a neighbour that did not answer is not asked for again.
const FAILED: Duration = Duration::from_secs(1);

/// A question about a neighbour's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// A question to all nodes on the wire.
    All,
    /// A question to the node that is thought to have the address.
    One(MacAddr),
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The address is known, and has to be looked up again at `until`.
    Known { mac: MacAddr, until: Instant },
    /// The neighbour has not replied yet.
    Resolving,
    /// The neighbour has not replied in time.
    Failed,
}

/// A message that names a neighbour's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statement {
    /// The message answers a question of this interface, or so it seems.
    Reply,
    /// The message asks this interface, and its sender has to get a reply (RFC 826).
    Request,
    /// The message neither answers nor asks this interface.
    Announcement,
}

/// Requests without a reply.
#[derive(Debug, Clone, Copy)]
struct Requests {
    number: u8,
    last: Instant,
    interval: Duration,
}

impl Requests {
    fn first(now: Instant) -> Self {
        Self { number: 1, last: now, interval: RETRANSMIT_INTERVAL }
    }

    /// Begins requests in quick succession.
    fn first_of_dispute(now: Instant) -> Self {
        Self { interval: DISPUTE_RETRANSMIT_INTERVAL, ..Self::first(now) }
    }

    fn due(self) -> Instant {
        self.last + self.interval
    }

    /// Counts another request; returns `None` if there were enough.
    fn next(self, now: Instant) -> Option<Self> {
        (self.number < MAX_REQUESTS).then_some(Self { number: self.number + 1, last: now, ..self })
    }
}

/// Another node that claims the neighbour's address.
#[derive(Debug, Clone, Copy)]
struct Claimant {
    mac: MacAddr,
    asked: bool,
}

/// Two claims to an address: the neighbour has confirmed its own, and this node has claimed the address since.
#[derive(Debug, Clone, Copy)]
struct Dispute {
    rival: MacAddr,
    begun: Instant,
}

#[derive(Debug, Clone, Copy)]
enum NeighbourState {
    /// All nodes are asked (INCOMPLETE), and once more the first claimant since the last request.
    Resolving { requests: Requests, claimant: Option<Claimant> },
    /// No node has answered, and no node is asked again before `until`.
    Failed { until: Instant },
    /// The neighbour named the address itself, and was not asked there yet (STALE). `all_asked` says that all
    /// nodes were asked before.
    Claimed { mac: MacAddr, all_asked: bool },
    /// The neighbour is asked at the address, which is in use meanwhile (PROBE): after some time, or because of
    /// a dispute.
    Asked { mac: MacAddr, requests: Requests, dispute: Option<Dispute> },
    /// The neighbour is asked at an address that was only claimed before, and is in use meanwhile. A rival
    /// that claims the address is asked as well.
    AskedFirst { mac: MacAddr, requests: Requests, rival: Option<Claimant>, all_asked: bool },
    /// The neighbour has answered (REACHABLE). No dispute begins before `quiet`.
    Reachable { mac: MacAddr, until: Instant, quiet: Instant },
    /// The neighbour has answered, and a rival has claimed its address since. The neighbour has to be asked
    /// at `due`.
    Disputed { mac: MacAddr, rival: MacAddr, due: Instant },
}

/// A change that concerns users of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// No change.
    Nothing,
    /// A neighbour for which frames wait has an address now, or none is expected.
    Settled,
    /// An address that was looked up is not valid any more.
    Invalid,
}

/// A change that the passing of time causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    Ask(Question),
    /// The neighbour is silent, so the rival has its place, and has to be asked.
    Replaced(Question),
    /// No node has answered.
    Settled,
    /// The neighbour is silent, and has to be forgotten.
    Gone,
}

/// What is known about a neighbour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbour {
    state: NeighbourState,
    /// Time at which the neighbour was first heard of, or last confirmed.
    pub(crate) since: Instant,
    /// True if this end wants to talk to the neighbour, and does not only answer a stranger.
    pub(crate) wanted: bool,
}

impl Neighbour {
    /// Creates the entry of a neighbour about which all nodes have been asked.
    pub(crate) fn resolving(wanted: bool, now: Instant) -> Self {
        let state = NeighbourState::Resolving { requests: Requests::first(now), claimant: None };
        Self { state, since: now, wanted }
    }

    /// Creates the entry of a neighbour that has asked this interface.
    pub(crate) fn claimed(mac: MacAddr, now: Instant) -> Self {
        Self { state: NeighbourState::Claimed { mac, all_asked: false }, since: now, wanted: false }
    }

    /// Returns true if no address is known.
    pub(crate) fn is_unresolved(&self) -> bool {
        matches!(self.state, NeighbourState::Resolving { .. } | NeighbourState::Failed { .. })
    }

    /// Returns true if all nodes are being asked about the neighbour.
    pub(crate) fn is_resolving(&self) -> bool {
        matches!(self.state, NeighbourState::Resolving { .. })
    }

    /// Returns the rank by which neighbours are forgotten when there are too many: neighbours that strangers
    /// may have invented come first.
    pub(crate) fn rank(&self) -> (u8, Instant) {
        let rank = match self.state {
            NeighbourState::Claimed { .. } => 0,
            NeighbourState::Resolving { .. } | NeighbourState::Failed { .. } => 1 + u8::from(self.wanted),
            NeighbourState::AskedFirst { .. } => 3,
            NeighbourState::Asked { .. }
            | NeighbourState::Reachable { .. }
            | NeighbourState::Disputed { .. } => 4,
        };
        (rank, self.since)
    }

    /// Returns true if the neighbour's address was looked up.
    pub(crate) fn is_used(&self) -> bool {
        !(self.is_unresolved() || matches!(self.state, NeighbourState::Claimed { .. }))
    }

    /// Returns the time of the next [step](Self::step).
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.state {
            NeighbourState::Resolving { requests, claimant: Some(Claimant { asked: false, .. }) }
            | NeighbourState::AskedFirst { requests, rival: Some(Claimant { asked: false, .. }), .. } => {
                Some(requests.last)
            }
            NeighbourState::Resolving { requests, .. }
            | NeighbourState::Asked { requests, .. }
            | NeighbourState::AskedFirst { requests, .. } => Some(requests.due()),
            NeighbourState::Failed { until: due } | NeighbourState::Disputed { due, .. } => Some(due),
            NeighbourState::Claimed { .. } | NeighbourState::Reachable { .. } => None,
        }
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, now: Instant) -> Step {
        if self.due().is_none_or(|due| now < due) {
            return Step::Nothing;
        }
        match &mut self.state {
            NeighbourState::Resolving { claimant: Some(other), .. }
            | NeighbourState::AskedFirst { rival: Some(other), .. }
                if !other.asked =>
            {
                other.asked = true;
                Step::Ask(Question::One(other.mac))
            }
            NeighbourState::Resolving { requests, claimant } => match requests.next(now) {
                Some(next) => {
                    (*requests, *claimant) = (next, None);
                    Step::Ask(Question::All)
                }
                None => {
                    self.state = NeighbourState::Failed { until: now + FAILED };
                    Step::Settled
                }
            },
            NeighbourState::Asked { mac, requests, .. }
            | NeighbourState::AskedFirst { mac, requests, .. } => match requests.next(now) {
                Some(next) => {
                    *requests = next;
                    Step::Ask(Question::One(*mac))
                }
                None => self.give_up(now),
            },
            &mut NeighbourState::Disputed { mac, rival, .. } => {
                let dispute = Some(Dispute { rival, begun: now });
                let requests = Requests::first_of_dispute(now);
                self.state = NeighbourState::Asked { mac, requests, dispute };
                Step::Ask(Question::One(mac))
            }
            NeighbourState::Failed { .. } => Step::Gone,
            NeighbourState::Claimed { .. } | NeighbourState::Reachable { .. } => Step::Nothing,
        }
    }

    /// Gives up a neighbour that was asked often enough: a rival gets its place, if there is a rival.
    fn give_up(&mut self, now: Instant) -> Step {
        let NeighbourState::Asked { mac: silent, dispute: Some(Dispute { rival, .. }), .. } = self.state
        else {
            return Step::Gone;
        };
        self.state = NeighbourState::AskedFirst {
            mac: rival,
            requests: Requests::first_of_dispute(now),
            // The neighbour may still answer, later than it should.
            rival: Some(Claimant { mac: silent, asked: true }),
            all_asked: false,
        };
        Step::Replaced(Question::One(rival))
    }

    /// Returns the neighbour's address, for use. An address that was not confirmed lately is used while the
    /// neighbour is asked.
    pub(crate) fn look_up(&mut self, now: Instant) -> (Resolution, Step) {
        let requests = Requests::first(now);
        let step = match self.state {
            NeighbourState::Claimed { mac, all_asked } => {
                self.state = NeighbourState::AskedFirst { mac, requests, rival: None, all_asked };
                Step::Ask(Question::One(mac))
            }
            NeighbourState::Reachable { mac, until, .. } if now >= until => {
                self.state = NeighbourState::Asked { mac, requests, dispute: None };
                Step::Ask(Question::One(mac))
            }
            _ => self.step(now),
        };
        let resolution = match self.state {
            NeighbourState::Resolving { .. } => Resolution::Resolving,
            NeighbourState::Failed { .. } => Resolution::Failed,
            NeighbourState::Asked { mac, requests, .. }
            | NeighbourState::AskedFirst { mac, requests, .. } => {
                Resolution::Known { mac, until: requests.due() }
            }
            NeighbourState::Reachable { mac, until, .. } => Resolution::Known { mac, until },
            NeighbourState::Disputed { mac, due, .. } => {
                Resolution::Known { mac, until: due + DISPUTE_RETRANSMIT_INTERVAL }
            }
            NeighbourState::Claimed { mac, .. } => Resolution::Known { mac, until: now },
        };
        (resolution, step)
    }

    /// Records a statement that the neighbour's address is `mac`.
    pub(crate) fn hear(&mut self, mac: MacAddr, statement: Statement, now: Instant) -> Change {
        let reply = statement == Statement::Reply;
        match &mut self.state {
            NeighbourState::Resolving { .. } if reply => {
                self.confirm(mac, now);
                Change::Settled
            }
            NeighbourState::Resolving { .. } if statement == Statement::Request => {
                self.state = NeighbourState::Claimed { mac, all_asked: true };
                Change::Settled
            }
            NeighbourState::Resolving { claimant, .. } => {
                claimant.get_or_insert(Claimant { mac, asked: false });
                Change::Nothing
            }
            NeighbourState::Claimed { all_asked: true, .. } if reply => {
                self.confirm(mac, now);
                Change::Nothing
            }
            NeighbourState::Claimed { mac: known, .. } => {
                if statement == Statement::Request {
                    *known = mac;
                }
                Change::Nothing
            }
            NeighbourState::Failed { .. } => {
                if statement == Statement::Request {
                    self.state = NeighbourState::Claimed { mac, all_asked: false };
                }
                Change::Nothing
            }
            &mut NeighbourState::Asked { mac: known, dispute, .. } => {
                match dispute {
                    _ if known == mac => {
                        if reply {
                            self.confirm(mac, now);
                        }
                    }
                    None => self.state = NeighbourState::Disputed { mac: known, rival: mac, due: now },
                    Some(_) => {}
                }
                Change::Nothing
            }
            NeighbourState::AskedFirst { mac: first, rival, all_asked, .. } => {
                let is_first = *first == mac;
                let asked = *all_asked || rival.is_some_and(|rival| rival.asked && rival.mac == mac);
                match statement {
                    Statement::Reply if is_first => {
                        self.confirm(mac, now);
                        Change::Nothing
                    }
                    Statement::Reply if asked => {
                        self.confirm(mac, now);
                        Change::Invalid
                    }
                    Statement::Request if !is_first && rival.is_none() => {
                        *rival = Some(Claimant { mac, asked: false });
                        Change::Nothing
                    }
                    _ => Change::Nothing,
                }
            }
            &mut NeighbourState::Reachable { mac: known, quiet, .. } => {
                if known != mac {
                    self.state = NeighbourState::Disputed { mac: known, rival: mac, due: quiet.max(now) };
                }
                Change::Nothing
            }
            NeighbourState::Disputed { .. } => Change::Nothing,
        }
    }

    /// Returns true if the address `mac` contradicts the address that the neighbour has confirmed.
    pub(crate) fn is_disputed_by(&self, mac: MacAddr) -> bool {
        match self.state {
            NeighbourState::Asked { mac: known, .. }
            | NeighbourState::Reachable { mac: known, .. }
            | NeighbourState::Disputed { mac: known, .. } => known != mac,
            _ => false,
        }
    }

    fn confirm(&mut self, mac: MacAddr, now: Instant) {
        let quiet = match self.state {
            NeighbourState::Asked { dispute: Some(Dispute { begun, .. }), .. } => begun + DISPUTE_INTERVAL,
            NeighbourState::AskedFirst { rival: Some(_), .. } => now + DISPUTE_INTERVAL,
            _ => now,
        };
        self.state = NeighbourState::Reachable { mac, until: now + REACHABLE, quiet };
        self.since = now;
    }

    /// Records that the node that answered may be gone: its address counts as a mere claim from now on.
    pub(crate) fn distrust(&mut self) {
        if let NeighbourState::Asked { mac, .. }
        | NeighbourState::AskedFirst { mac, .. }
        | NeighbourState::Reachable { mac, .. }
        | NeighbourState::Disputed { mac, .. } = self.state
        {
            self.state = NeighbourState::Claimed { mac, all_asked: false };
        }
    }
}
