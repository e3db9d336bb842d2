//! The losses of a datapath's port, which concern all of its connections.

use bertha::kernel::{Tcp, Udp, Unix, UnixStream};
use bertha::shm::Shm;
use serde::Serialize;
use std::fmt;

/// Frames and messages that a port lost, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(Vec<Loss>);

/// Frames or messages that a port lost for a single reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Loss {
    reason: &'static str,
    frames: u64,
}

/// A datapath whose port may count its losses.
pub trait Counted {
    /// Returns the losses since the port was opened; none if the datapath has no port of its own.
    fn losses(&self) -> Losses {
        Losses::default()
    }
}

impl Counted for Udp {}
impl Counted for Tcp {}
impl Counted for Unix {}
impl Counted for UnixStream {}
impl Counted for Shm {}
#[cfg(feature = "caladan")]
impl Counted for bertha_datapath_caladan::Bridged {}

#[cfg(feature = "dpdk")]
impl Counted for bertha_datapath_dpdk::Dpdk {
    fn losses(&self) -> Losses {
        let (port, stack) = (self.statistics().unwrap_or_default(), self.counters().unwrap_or_default());
        let all = [
            ("the port's receive queue was full", port.missed),
            ("no buffer was free to receive into", port.no_mbuf),
            ("the port received with errors", port.receive_errors),
            ("the port could not send", port.send_errors),
            ("the connection's queue was full", stack.overflow),
            ("closed port, or too many strangers", stack.unknown),
            ("another queue's ring was full", stack.ring_full),
            ("the neighbour did not answer", stack.unresolved),
            ("the port did not take frames of the stack", stack.not_sent),
            (
                "damaged, or in fragments",
                stack.stack.checksum + stack.stack.malformed + stack.stack.fragments,
            ),
            ("seconds in which the port was stuck", stack.stuck),
        ];
        Losses(all.map(|(reason, frames)| Loss { reason, frames }).to_vec())
    }
}

#[cfg(feature = "dpdk")]
impl Counted for bertha_datapath_dpdk::Tcp {
    fn losses(&self) -> Losses {
        self.dpdk().losses()
    }
}

impl Losses {
    /// Returns the losses since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let count = |reason| before.0.iter().find(|loss| loss.reason == reason).map_or(0, |loss| loss.frames);
        let since = |loss: &Loss| Loss { frames: loss.frames.saturating_sub(count(loss.reason)), ..*loss };
        Self(self.0.iter().map(since).collect())
    }

    /// Returns the reasons that occurred; `None` if the datapath has no port of its own.
    pub fn rows(&self) -> Option<Vec<Loss>> {
        let occurred = || self.0.iter().filter(|loss| loss.frames > 0).copied().collect();
        (!self.0.is_empty()).then(occurred)
    }
}

/// Writes the reasons that occurred, behind the other figures of a line; nothing if the datapath has no port of its own.
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(rows) = self.rows() else { return Ok(()) };
        let rows: Vec<_> = rows.iter().map(|loss| format!("{} {}", loss.frames, loss.reason)).collect();
        write!(f, "; lost by the port: {}", if rows.is_empty() { "none".into() } else { rows.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(full: u64, damaged: u64) -> Losses {
        Losses(vec![Loss { reason: "full", frames: full }, Loss { reason: "damaged", frames: damaged }])
    }

    #[test]
    fn losses_are_told_since_the_last_time() {
        assert_eq!(losses(7, 3).since(&losses(5, 3)), losses(2, 0));
        assert_eq!(losses(7, 3).since(&Losses::default()), losses(7, 3));
        assert_eq!(losses(2, 0).to_string(), "; lost by the port: 2 full");
        assert_eq!(losses(0, 0).to_string(), "; lost by the port: none");
        assert_eq!((Losses::default().to_string(), Losses::default().rows()), (String::new(), None));
    }
}
