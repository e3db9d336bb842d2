//! Datapaths as text.

use crate::losses::Counted;
use bertha::kernel::{Tcp, Udp, Unix, UnixStream};
use bertha::shm::Shm;
use bertha::{Datapath, Error};
use clap::ValueEnum;

/// A datapath that the command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
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
pub(crate) trait OverDatapath {
    /// Does the work over this datapath.
    ///
    /// # Errors
    /// Errors of the work.
    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<(), Error>;
}

impl Transport {
    /// Runs `work` over this datapath.
    ///
    /// # Errors
    /// Errors of the work.
    pub(crate) async fn run(self, work: impl OverDatapath) -> Result<(), Error> {
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

    /// Returns the datapath's name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
