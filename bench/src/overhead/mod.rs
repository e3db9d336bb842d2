//! The program `bertha-bench overhead`: the cost of a Chunnel that does nothing, by equal calls through
//! stacks of 0, 1, 4 and 16 such Chunnels.

mod bare;
mod calls;
mod ends;
mod following;
mod qlog;
mod rows;
mod stacks;
mod stranger;

pub(crate) use calls::{BURST, Repeat, repeat};
pub(crate) use ends::{Memory, in_memory, over_negotiated_udp};
pub(crate) use following::Following;
pub(crate) use qlog::{instructions as qlog, probe as qlog_probe};
pub(crate) use rows::{instructions, run};
pub(crate) use stranger::instructions as stranger;

use crate::{Error, ErrorKind};
use std::fmt;

/// A measured operation: a call at an end of a connection that has a stack; the peer has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The Chunnel of which the stack consists.
    pub(crate) layer: Layer,
    /// Number of Chunnels: one of [`DEPTHS`].
    pub(crate) depth: usize,
    /// The path below the stack.
    pub(crate) path: Path,
    /// The call.
    pub(crate) call: Call,
}

/// The depths of the measured stacks.
pub(crate) const DEPTHS: [usize; 4] = [0, 1, 4, 16];

/// The Chunnel of a measured stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// [`Nothing`](bertha_chunnels::Nothing), which returns the future from below.
    PassThrough,
    /// [`Following`], which acts after the layer below.
    Following,
}

/// The path below a measured stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Two ends connected in memory.
    Memory,
    /// Kernel UDP over loopback, without negotiation.
    Udp,
    /// Kernel UDP over loopback, with a stack that the two ends agreed on.
    NegotiatedUdp,
}

/// A call at the end with the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A single message is sent.
    Send,
    /// A single message is received.
    Recv,
    /// [`BURST`] messages are sent.
    SendBatch,
    /// [`BURST`] messages are received.
    RecvBatch,
}

impl Path {
    /// All paths.
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Udp, Self::NegotiatedUdp];

    /// Returns the name in probes.
    pub(crate) fn probe(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Udp => "udp",
            Self::NegotiatedUdp => "negotiated-udp",
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Udp => "UDP",
            Self::NegotiatedUdp => "UDP, negotiated",
        }
    }
}

impl Call {
    /// All calls.
    pub(crate) const ALL: [Self; 4] = [Self::Send, Self::Recv, Self::SendBatch, Self::RecvBatch];

    /// Returns the name in probes.
    pub(crate) fn probe(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::SendBatch => "send-batch",
            Self::RecvBatch => "recv-batch",
        }
    }

    /// Returns the method's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::SendBatch => "send_batch",
            Self::RecvBatch => "recv_batch",
        }
    }

    /// Returns the number of messages that the call moves.
    pub(crate) fn messages(self) -> usize {
        match self {
            Self::Send | Self::Recv => 1,
            Self::SendBatch | Self::RecvBatch => BURST,
        }
    }
}

impl Case {
    /// Returns every measured case: layers that act only in memory, and no case twice.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let cases = Path::ALL.into_iter().flat_map(|path| {
            DEPTHS.into_iter().flat_map(move |depth| {
                [Layer::PassThrough, Layer::Following].into_iter().flat_map(move |layer| {
                    Call::ALL.into_iter().map(move |call| Self { layer, depth, path, call })
                })
            })
        });
        cases.filter(|case| case.layer == Layer::PassThrough || (case.path == Path::Memory && case.depth > 0))
    }

    /// Returns the case whose probe has this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|case| case.to_string() == name)
    }

    /// Runs the call this many times, for the instruction counter.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open) and of the connections.
    pub(crate) fn probe(self, iterations: u64) -> Result<(), Error> {
        self.open()?(iterations)
    }
}

/// Writes the name of the case's probe.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = match self.layer {
            Layer::PassThrough => "pass-through",
            Layer::Following => "following",
        };
        write!(f, "{}-{}-{}-{layer}", self.path.probe(), self.call.probe(), self.depth)
    }
}

/// Returns a connection's error.
fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, "moving messages through a stack")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_cases() {
        let cases: Vec<_> = Case::all().collect();
        assert_eq!(cases.len(), 4 * (3 * DEPTHS.len() + 3));
        assert!(cases.iter().all(|case| Case::named(&case.to_string()) == Some(*case)));
        assert_eq!(Case::named("memory-send-2-pass-through"), None);
    }

    #[test]
    fn every_case_runs() {
        for case in Case::all() {
            case.probe(3).unwrap();
        }
    }
}
