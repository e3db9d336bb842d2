//! The counts of parties that are not taken.

use bertha_core::{Error, ErrorKind};
use std::array::from_fn;
use std::sync::atomic::{AtomicU64, Ordering};

/// A door of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The socket of applications.
    Socket,
    /// The socket of operators.
    Orders,
    /// The port of daemons.
    Listen,
    /// The port of gRPC.
    Grpc,
}

/// The reason why a party is not taken, or loses its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The system gives no connection, mostly for want of descriptors.
    Unaccepted,
    /// Its address has all that one may have.
    PerAddress,
    /// A newcomer has its place.
    Evicted,
    /// The handshake of TLS failed.
    Tls,
    /// It said nothing in time.
    Silent,
    /// The wish of the party is refused, also for want of memory.
    Refused,
    /// Its connection failed.
    Failed,
}

impl Door {
    const ALL: [Self; 4] = [Self::Socket, Self::Orders, Self::Listen, Self::Grpc];

    /// Returns the name, which is that of the option.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Orders => "orders",
            Self::Listen => "listen",
            Self::Grpc => "grpc",
        }
    }
}

impl Reason {
    const ALL: [Self; 7] = [
        Self::Unaccepted,
        Self::PerAddress,
        Self::Evicted,
        Self::Tls,
        Self::Silent,
        Self::Refused,
        Self::Failed,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Unaccepted => "unaccepted",
            Self::PerAddress => "per-address",
            Self::Evicted => "evicted",
            Self::Tls => "tls",
            Self::Silent => "silent",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// Returns the reason for which an error has kept a party out.
    pub(crate) fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::TimedOut => Self::Silent,
            ErrorKind::Unauthenticated => Self::Tls,
            ErrorKind::Refused
            | ErrorKind::Version
            | ErrorKind::Malformed
            | ErrorKind::TooLarge
            // The daemon has no room for an application.
            | ErrorKind::Exhausted => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// Returns the reason for which an error in a handshake of TLS has kept a party out.
    pub(crate) fn of_tls(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::TimedOut => Self::Silent,
            ErrorKind::Exhausted => Self::Evicted,
            _ => Self::Tls,
        }
    }
}

/// The numbers of parties that were not taken, for each door and reason.
#[derive(Debug)]
pub(crate) struct NotTakenCounts([[AtomicU64; Reason::ALL.len()]; Door::ALL.len()]);

impl Default for NotTakenCounts {
    fn default() -> Self {
        Self(from_fn(|_| from_fn(|_| AtomicU64::new(0))))
    }
}

impl NotTakenCounts {
    pub(crate) fn add(&self, door: Door, reason: Reason) {
        self.0[door as usize][reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number for each name of a door and of a reason.
    pub(crate) fn read(&self) -> impl Iterator<Item = ([&'static str; 2], u64)> {
        let pairs = Door::ALL.into_iter().flat_map(|door| Reason::ALL.map(|reason| (door, reason)));
        pairs.map(|(door, reason)| {
            let count = &self.0[door as usize][reason as usize];
            ([door.name(), reason.name()], count.load(Ordering::Relaxed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_door_and_reason_has_a_count_of_its_own() {
        let counts = NotTakenCounts::default();
        for (place, door) in Door::ALL.into_iter().enumerate() {
            for (at, reason) in Reason::ALL.into_iter().enumerate() {
                (0..=10 * place + at).for_each(|_| counts.add(door, reason));
            }
        }
        let read: Vec<_> = counts.read().collect();
        assert_eq!(read.first(), Some(&(["socket", "unaccepted"], 1)));
        assert_eq!(read.last(), Some(&(["grpc", "failed"], 37)));
        let mut numbers: Vec<_> = read.iter().map(|(_, count)| count).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), 28);
    }

    #[test]
    fn each_error_has_a_reason() {
        let reasons = |kind| {
            let error = Error::new(kind, "no");
            (Reason::of(&error), Reason::of_tls(&error))
        };
        for (kind, reason, in_tls) in [
            (ErrorKind::TimedOut, Reason::Silent, Reason::Silent),
            (ErrorKind::Unauthenticated, Reason::Tls, Reason::Tls),
            (ErrorKind::Refused, Reason::Refused, Reason::Tls),
            (ErrorKind::Version, Reason::Refused, Reason::Tls),
            (ErrorKind::Malformed, Reason::Refused, Reason::Tls),
            (ErrorKind::TooLarge, Reason::Refused, Reason::Tls),
            (ErrorKind::Exhausted, Reason::Refused, Reason::Evicted),
            (ErrorKind::Closed, Reason::Failed, Reason::Tls),
            (ErrorKind::Reset, Reason::Failed, Reason::Tls),
            (ErrorKind::Io, Reason::Failed, Reason::Tls),
        ] {
            assert_eq!(reasons(kind), (reason, in_tls), "{kind:?}");
        }
    }
}
