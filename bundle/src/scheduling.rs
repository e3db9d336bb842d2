//! The order in which packets leave a box.

use crate::Header;

/// The order in which packets leave a [`Sendbox`](crate::Sendbox).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduling {
    /// Packets leave in the order of their arrival.
    Fifo,
    /// Flows take turns, so that each flow sends as many bytes as any other (stochastic fair queueing,
    /// McKenney 1990, with the turns of deficit round robin, Shreedhar and Varghese 1995). There are 1,024
    /// turns; flows with colliding hashes share a turn.
    FairAmongFlows,
    /// Packets of a class leave only while no packet of a higher class waits. Lower classes may wait for
    /// ever.
    Priority(Priorities),
}

/// The classes of [`Scheduling::Priority`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Priorities {
    /// Eight classes by the differentiated services code point: the higher its class selector, which is its
    /// upper three bits, the higher the class (RFC 2474).
    CodePoints,
    /// A class for each port, the highest first, and a lowest class for all other packets. A packet is of a
    /// port's class if it comes from this port or goes to it. At most 1,023 ports count.
    Ports(Vec<u16>),
}

/// Number of turns of [`Scheduling::FairAmongFlows`], and largest number of classes.
pub(crate) const TURNS: usize = 1_024;

impl Scheduling {
    /// Returns the number of queues.
    pub(crate) fn queues(&self) -> usize {
        match self {
            Self::Fifo => 1,
            Self::FairAmongFlows => TURNS,
            Self::Priority(Priorities::CodePoints) => 8,
            Self::Priority(Priorities::Ports(ports)) => ports.len().min(TURNS - 1) + 1,
        }
    }

    /// Returns the number of the packet's queue. Of classes, the highest has the number zero.
    pub(crate) fn queue(&self, header: &Header) -> usize {
        match self {
            Self::Fifo => 0,
            Self::FairAmongFlows => (header.flow() % TURNS as u64) as usize,
            Self::Priority(Priorities::CodePoints) => usize::from(7_u8.saturating_sub(header.dscp >> 3)),
            Self::Priority(Priorities::Ports(ports)) => {
                let ports = &ports[..ports.len().min(TURNS - 1)];
                let is_of = |port: &u16| header.source.port() == *port || header.destination.port() == *port;
                ports.iter().position(is_of).unwrap_or(ports.len())
            }
        }
    }

    pub(crate) fn is_strict(&self) -> bool {
        matches!(self, Self::Priority(_))
    }
}
