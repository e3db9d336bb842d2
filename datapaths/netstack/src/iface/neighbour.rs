//! One neighbour's link-layer address, and how it is kept true: neighbour unreachability detection (RFC 4861, section 7.3), for ARP
//! as well (RFC 1122, section 2.3.2.1).
//!
//! Anybody on the wire can claim any address. So a claim never replaces an address that the neighbour itself has confirmed: the
//! neighbour is asked at that address, and only if it is silent there, everybody is asked anew. Nothing that nobody asked for is believed,
//! but for the address of one that asks us: it is to get a reply, so it is used, and asked in turn.

use crate::MacAddr;
use std::time::{Duration, Instant};

/// The time for which an address is valid (RFC 4861, REACHABLE_TIME, twice as long).
pub(crate) const REACHABLE: Duration = Duration::from_secs(60);

/// The pause between requests (RFC 4861, RETRANS_TIMER).
const RETRANSMIT_INTERVAL: Duration = Duration::from_secs(1);

/// The requests without a reply after which a neighbour counts as unreachable (RFC 4861, MAX_UNICAST_SOLICIT and
/// MAX_MULTICAST_SOLICIT).
const MAX_REQUESTS: u8 = 3;

/// The time for which a confirmed address is not asked about again, however often others claim it.
const DISPUTE_INTERVAL: Duration = Duration::from_secs(1);

/// The time for which an address at which nobody answered is not asked for again.
const FAILED: Duration = Duration::from_secs(1);

/// A question about a neighbour's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// To everybody on the wire.
    All,
    /// To the one that is thought to have it.
    One(MacAddr),
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The address, to be looked up again at `until`.
    Known { mac: MacAddr, until: Instant },
    /// The neighbour has yet to reply.
    Resolving,
    /// The neighbour has not replied.
    Failed,
}

/// A message that names a neighbour's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statement {
    /// The reply to a question of ours, or so it seems.
    Reply,
    /// A question to us, by one that is to get a reply (RFC 826).
    Request,
    /// Neither asked for nor asking us.
    Announcement,
}

/// Requests without a reply.
#[derive(Debug, Clone, Copy)]
struct Requests {
    number: u8,
    last: Instant,
}

impl Requests {
    fn first(now: Instant) -> Self {
        Self { number: 1, last: now }
    }

    fn due(self) -> Instant {
        self.last + RETRANSMIT_INTERVAL
    }

    /// One more; `None` if there were enough.
    fn next(self, now: Instant) -> Option<Self> {
        (self.number < MAX_REQUESTS).then_some(Self { number: self.number + 1, last: now })
    }
}

/// Another one that says that it has the neighbour's address.
#[derive(Debug, Clone, Copy)]
struct Claimant {
    mac: MacAddr,
    asked: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Everybody is asked (INCOMPLETE), and the first claimant since the last request once more.
    Resolving { requests: Requests, claimant: Option<Claimant> },
    /// Nobody has answered, and nobody is asked again before `until`.
    Failed { until: Instant },
    /// It named the address itself, and was not asked there yet (STALE). Everybody may have been asked before.
    Claimed { mac: MacAddr, all_asked: bool },
    /// It is asked at the address, which is in use meanwhile (PROBE).
    Asked { mac: MacAddr, requests: Requests },
    /// The same, and the address was only claimed before. Another that claims it is asked as well.
    AskedFirst { mac: MacAddr, requests: Requests, rival: Option<Claimant>, all_asked: bool },
    /// It has answered (REACHABLE).
    Reachable { mac: MacAddr, until: Instant },
    /// It has answered, and another one claims its address since then. To be asked at `due`.
    Disputed { mac: MacAddr, due: Instant },
}

/// A change that concerns others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// None.
    Nothing,
    /// A neighbour that frames wait for has an address now, or none is to be expected.
    Settled,
    /// An address that was looked up is not valid any more.
    Invalid,
}

/// The change that time brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    Ask(Question),
    /// Nobody has answered.
    Settled,
    /// The neighbour is silent, and to be forgotten.
    Gone,
}

/// A neighbour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbour {
    state: State,
    /// The time when it was first heard of, or last confirmed.
    pub(crate) since: Instant,
    /// This end wants to talk to it, and does not answer a stranger alone.
    pub(crate) wanted: bool,
}

impl Neighbour {
    /// One that everybody has been asked about.
    pub(crate) fn resolving(wanted: bool, now: Instant) -> Self {
        let state = State::Resolving { requests: Requests::first(now), claimant: None };
        Self { state, since: now, wanted }
    }

    /// One that has asked us.
    pub(crate) fn claimed(mac: MacAddr, now: Instant) -> Self {
        Self { state: State::Claimed { mac, all_asked: false }, since: now, wanted: false }
    }

    /// Whether no address is known.
    pub(crate) fn is_unresolved(&self) -> bool {
        matches!(self.state, State::Resolving { .. } | State::Failed { .. })
    }

    /// Whether everybody is being asked about it.
    pub(crate) fn is_resolving(&self) -> bool {
        matches!(self.state, State::Resolving { .. })
    }

    /// The order in which neighbours are forgotten when there are too many: those that strangers may have invented first.
    pub(crate) fn rank(&self) -> (u8, Instant) {
        let rank = match self.state {
            State::Claimed { .. } => 0,
            State::Resolving { .. } | State::Failed { .. } => 1 + u8::from(self.wanted),
            State::AskedFirst { .. } => 3,
            State::Asked { .. } | State::Reachable { .. } | State::Disputed { .. } => 4,
        };
        (rank, self.since)
    }

    /// Whether its address was looked up.
    pub(crate) fn is_used(&self) -> bool {
        !(self.is_unresolved() || matches!(self.state, State::Claimed { .. }))
    }

    /// The time of the next [step](Self::step).
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.state {
            State::Resolving { requests, claimant: Some(Claimant { asked: false, .. }) }
            | State::AskedFirst { requests, rival: Some(Claimant { asked: false, .. }), .. } => {
                Some(requests.last)
            }
            State::Resolving { requests, .. }
            | State::Asked { requests, .. }
            | State::AskedFirst { requests, .. } => Some(requests.due()),
            State::Failed { until: due } | State::Disputed { due, .. } => Some(due),
            State::Claimed { .. } | State::Reachable { .. } => None,
        }
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, now: Instant) -> Step {
        if self.due().is_none_or(|due| now < due) {
            return Step::Nothing;
        }
        match &mut self.state {
            State::Resolving { claimant: Some(other), .. } | State::AskedFirst { rival: Some(other), .. }
                if !other.asked =>
            {
                other.asked = true;
                Step::Ask(Question::One(other.mac))
            }
            State::Resolving { requests, claimant } => match requests.next(now) {
                Some(next) => {
                    (*requests, *claimant) = (next, None);
                    Step::Ask(Question::All)
                }
                None => {
                    self.state = State::Failed { until: now + FAILED };
                    Step::Settled
                }
            },
            State::Asked { mac, requests } | State::AskedFirst { mac, requests, .. } => {
                match requests.next(now) {
                    Some(next) => {
                        *requests = next;
                        Step::Ask(Question::One(*mac))
                    }
                    None => Step::Gone,
                }
            }
            State::Disputed { mac, .. } => {
                let mac = *mac;
                self.state = State::Asked { mac, requests: Requests::first(now) };
                Step::Ask(Question::One(mac))
            }
            State::Failed { .. } => Step::Gone,
            State::Claimed { .. } | State::Reachable { .. } => Step::Nothing,
        }
    }

    /// Its address, for use. An address that it has not confirmed lately is used while it is asked.
    pub(crate) fn look_up(&mut self, now: Instant) -> (Resolution, Step) {
        let requests = Requests::first(now);
        let step = match self.state {
            State::Claimed { mac, all_asked } => {
                self.state = State::AskedFirst { mac, requests, rival: None, all_asked };
                Step::Ask(Question::One(mac))
            }
            State::Reachable { mac, until } if now >= until => {
                self.state = State::Asked { mac, requests };
                Step::Ask(Question::One(mac))
            }
            _ => self.step(now),
        };
        let resolution = match self.state {
            State::Resolving { .. } => Resolution::Resolving,
            State::Failed { .. } => Resolution::Failed,
            State::Asked { mac, requests } | State::AskedFirst { mac, requests, .. } => {
                Resolution::Known { mac, until: requests.due() }
            }
            State::Reachable { mac, until } => Resolution::Known { mac, until },
            State::Disputed { mac, due } => Resolution::Known { mac, until: due + RETRANSMIT_INTERVAL },
            State::Claimed { mac, .. } => Resolution::Known { mac, until: now },
        };
        (resolution, step)
    }

    /// Hears that its address is `mac`.
    pub(crate) fn hear(&mut self, mac: MacAddr, statement: Statement, now: Instant) -> Change {
        let reply = statement == Statement::Reply;
        match &mut self.state {
            State::Resolving { .. } if reply => {
                self.confirm(mac, now);
                Change::Settled
            }
            State::Resolving { .. } if statement == Statement::Request => {
                self.state = State::Claimed { mac, all_asked: true };
                Change::Settled
            }
            State::Resolving { claimant, .. } => {
                claimant.get_or_insert(Claimant { mac, asked: false });
                Change::Nothing
            }
            State::Claimed { all_asked: true, .. } if reply => {
                self.confirm(mac, now);
                Change::Nothing
            }
            State::Claimed { mac: known, .. } => {
                if statement == Statement::Request {
                    *known = mac;
                }
                Change::Nothing
            }
            State::Failed { .. } => {
                if statement == Statement::Request {
                    self.state = State::Claimed { mac, all_asked: false };
                }
                Change::Nothing
            }
            State::Asked { mac: known, .. } => {
                if reply && *known == mac {
                    self.confirm(mac, now);
                }
                Change::Nothing
            }
            State::AskedFirst { mac: first, rival, all_asked, .. } => {
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
            State::Reachable { mac: before, .. } => {
                if *before != mac {
                    let (mac, due) = (*before, self.since + DISPUTE_INTERVAL);
                    self.state = State::Disputed { mac, due };
                }
                Change::Nothing
            }
            State::Disputed { .. } => Change::Nothing,
        }
    }

    /// Whether a statement that its address is `mac` contradicts what it has confirmed.
    pub(crate) fn is_disputed_by(&self, mac: MacAddr) -> bool {
        match self.state {
            State::Asked { mac: known, .. }
            | State::Reachable { mac: known, .. }
            | State::Disputed { mac: known, .. } => known != mac,
            _ => false,
        }
    }

    fn confirm(&mut self, mac: MacAddr, now: Instant) {
        self.state = State::Reachable { mac, until: now + REACHABLE };
        self.since = now;
    }

    /// The one that answered may be gone: its address is as good as any claim from now on.
    pub(crate) fn distrust(&mut self) {
        if let State::Asked { mac, .. }
        | State::AskedFirst { mac, .. }
        | State::Reachable { mac, .. }
        | State::Disputed { mac, .. } = self.state
        {
            self.state = State::Claimed { mac, all_asked: false };
        }
    }
}
