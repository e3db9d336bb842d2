//! Datapaths by name.

use crate::{Counted, Unknown};
use bertha::core::Properties;
use bertha::kernel::{Tcp, Udp, Unix, UnixStream};
use bertha::shm::Shm;
use bertha::{Datapath, Error};
use std::fmt;
use std::str::FromStr;

/// A datapath that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// Datagrams through the kernel.
    Udp,
    /// TCP through the kernel, with framed messages.
    Tcp,
    /// Unix datagram sockets.
    Unix,
    /// Unix stream sockets.
    UnixStream,
    /// Memory that two processes of a machine share.
    Shm,
    /// Datagrams through a DPDK port, which the environment describes.
    #[cfg(feature = "dpdk")]
    Dpdk,
    /// TCP through a DPDK port.
    #[cfg(feature = "dpdk")]
    DpdkTcp,
    /// Datagrams through Caladan, which the environment describes.
    #[cfg(feature = "caladan")]
    Caladan,
}

/// Work that runs over any datapath.
pub trait OverDatapath {
    /// The result of the work.
    type Output;

    /// Does the work over this datapath.
    ///
    /// # Errors
    /// Errors of the work.
    fn over<D: Datapath + Clone + Counted>(
        self,
        datapath: D,
    ) -> impl Future<Output = Result<Self::Output, Error>> + Send;
}

impl Transport {
    /// All datapaths of this build.
    pub const ALL: &[Self] = &[
        Self::Udp,
        Self::Tcp,
        Self::Unix,
        Self::UnixStream,
        Self::Shm,
        #[cfg(feature = "dpdk")]
        Self::Dpdk,
        #[cfg(feature = "dpdk")]
        Self::DpdkTcp,
        #[cfg(feature = "caladan")]
        Self::Caladan,
    ];

    /// The name that stands for topics, to which a program only [connects](crate::connect).
    pub const TOPIC: &str = "topic";

    /// Runs `work` over this datapath.
    ///
    /// # Errors
    /// Errors of the work.
    pub async fn run<W: OverDatapath>(self, work: W) -> Result<W::Output, Error> {
        match self {
            Self::Udp => work.over(Udp::new()).await,
            Self::Tcp => work.over(Tcp::new()).await,
            Self::Unix => work.over(Unix::new()).await,
            Self::UnixStream => work.over(UnixStream::new()).await,
            Self::Shm => work.over(Shm::new()).await,
            #[cfg(feature = "dpdk")]
            Self::Dpdk => work.over(bertha_datapath_dpdk::Dpdk::new()).await,
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => work.over(bertha_datapath_dpdk::Tcp::new()).await,
            #[cfg(feature = "caladan")]
            Self::Caladan => work.over(bertha_datapath_caladan::Bridged::new()).await,
        }
    }

    /// Returns the name of the datapath.
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Unix => "unix",
            Self::UnixStream => "unix-stream",
            Self::Shm => "shm",
            #[cfg(feature = "dpdk")]
            Self::Dpdk => "dpdk",
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => "dpdk-tcp",
            #[cfg(feature = "caladan")]
            Self::Caladan => "caladan",
        }
    }

    /// Returns the promises of its connections.
    pub fn properties(self) -> Properties {
        match self {
            Self::Udp => Properties::DATAGRAM,
            Self::Unix => {
                let mut properties = Properties::STREAM;
                properties.reliable = false;
                properties
            }
            Self::Tcp | Self::UnixStream | Self::Shm => Properties::STREAM,
            #[cfg(feature = "dpdk")]
            Self::Dpdk => Properties::DATAGRAM,
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => Properties::STREAM,
            #[cfg(feature = "caladan")]
            Self::Caladan => Properties::DATAGRAM,
        }
    }

    /// Returns a line about the datapath, without a full stop.
    pub fn description(self) -> &'static str {
        match self {
            Self::Udp => "Datagrams through the kernel",
            Self::Tcp => "TCP through the kernel, with framed messages",
            Self::Unix => "Unix datagram sockets",
            Self::UnixStream => "Unix stream sockets",
            Self::Shm => "Memory that two processes of a machine share",
            #[cfg(feature = "dpdk")]
            Self::Dpdk => "Datagrams through a DPDK port, which the environment describes",
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => "TCP through a DPDK port",
            #[cfg(feature = "caladan")]
            Self::Caladan => "Datagrams through Caladan, which the environment describes",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Transport {
    type Err = Unknown;

    fn from_str(name: &str) -> Result<Self, Unknown> {
        if cfg!(feature = "queue") && name == Self::TOPIC {
            return Err(Unknown::new("a topic is connected to: it has no listeners, and carries no calls"));
        }
        Self::ALL.iter().copied().find(|transport| transport.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|transport| transport.name()).collect();
            Unknown::new(format!("`{name}` is no datapath of this build, which has {}", known.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_datapath_has_a_name_of_its_own() {
        for transport in Transport::ALL {
            assert_eq!(transport.name().parse(), Ok(*transport));
        }
        let refusal = "UDP".parse::<Transport>().map_err(|unknown| unknown.to_string());
        assert!(refusal.is_err_and(|reason| reason.contains("udp, tcp, unix, unix-stream, shm")));
    }
}
