//! The start of a shard's thread.

use super::shard::{self, Inlets, ShardListeners, WithResp};
use super::thread::{self, Addrs, Opened, Thread};
use super::{Listening, Shard, Stopper, listening};
use crate::Messages;
use crate::resp::{self, Fronts, RespAddr, Sharing};
use bertha::chunnels::Checksum;
use bertha::prelude::*;
use bertha::{Error, Settings};
use bertha_program::tls::Encryption;
use bertha_runtime::tokio::descriptors::raise_limit;
use std::net::SocketAddr;

/// The settings of a shard.
pub(super) struct ShardSettings {
    pub(super) addr: SocketAddr,
    pub(super) shard: Shard,
    pub(super) encryption: Option<Encryption>,
    pub(super) inlets: Inlets,
    pub(super) with_resp: Option<RespSettings>,
}

/// The settings by which a shard serves clients that speak RESP.
pub(super) struct RespSettings {
    addrs: Vec<RespAddr>,
    sharing: Sharing,
    end: resp::RouteEnd,
    shared: resp::RespShared,
}

/// Starts the thread of a shard.
///
/// # Errors
/// Fails if an address can't be used, or if the system can't start a thread.
pub(super) fn start_shard(
    number: usize,
    settings: ShardSettings,
    stopper: &Stopper,
) -> Result<Thread, Error> {
    let ShardSettings { addr, shard, encryption, inlets, with_resp } = settings;
    let name = format!("shard {number}");
    let stop = stopper.subscribe();
    let messages = Messages::new();
    match encryption {
        None => thread::start(
            name,
            open(make_stack!(messages, Checksum::new()), addr, Settings::default(), with_resp),
            move |listeners| shard::run(listeners, shard, inlets, stop),
        ),
        Some(encryption) => {
            let settings = encryption.settings(Settings::default());
            thread::start(
                name,
                open(make_stack!(messages, encryption.wire()), addr, settings, with_resp),
                move |listeners| shard::run(listeners, shard, inlets, stop),
            )
        }
    }
}

/// Opens the listeners of a shard.
async fn open<S>(
    stack: S,
    addr: SocketAddr,
    settings: Settings,
    with_resp: Option<RespSettings>,
) -> Result<Opened<ShardListeners<S>>, Error>
where
    S: Negotiate + 'static,
    listening::Datapath: Runs<S>,
{
    let listening = Listening::open(stack, addr, settings).await?;
    let mut addrs = Addrs { bertha: listening.addr()?, resp: Vec::new(), shared: Vec::new() };
    let with_resp = match with_resp {
        None => None,
        Some(RespSettings { addrs: wanted, sharing, end, shared }) => {
            let fronts = Fronts::open(&wanted, sharing).await?;
            addrs.resp = fronts.addrs();
            addrs.shared = fronts.shared();
            Some(WithResp { fronts, end, shared })
        }
    };
    Ok(Opened { addrs, listeners: ShardListeners { listening, with_resp } })
}

/// The ends by which shards serve clients that speak RESP, a shard after another.
pub(super) struct RespEnds {
    addrs: Vec<RespAddr>,
    ends: std::vec::IntoIter<resp::RouteEnd>,
    shared: resp::RespShared,
}

/// The file descriptors that a thread needs for itself, and those that the process needs besides.
const DESCRIPTORS_OF_THREAD: usize = 16;
const DESCRIPTORS_BESIDES: usize = 32;

impl RespEnds {
    /// For clients at these addresses. Raises the process's limit of file descriptors as far as it may.
    pub(super) fn new(addrs: Vec<RespAddr>, ends: Vec<resp::RouteEnd>, settings: resp::Settings) -> Self {
        let besides = DESCRIPTORS_BESIDES + addrs.len() + DESCRIPTORS_OF_THREAD * (ends.len() + 1);
        let allowed = usize::try_from(raise_limit()).unwrap_or(usize::MAX);
        let most = allowed.saturating_sub(besides).max(1);
        if most < settings.clients {
            tracing::info!(most, "the limit of file descriptors allows fewer clients than the settings");
        }
        Self { addrs, ends: ends.into_iter(), shared: resp::RespShared::new(settings, most) }
    }

    /// Returns the state that the clients of all shards share.
    pub(super) fn shared(&self) -> resp::RespShared {
        self.shared.clone()
    }

    /// The end of the next shard. The first one listens at all addresses, and the others where it found that they can too.
    pub(super) fn next(&mut self, first: Option<&Thread>) -> Option<RespSettings> {
        let sharing = match first {
            _ if self.shared.settings.reuse_port => Sharing::Further,
            Some(_) => Sharing::Further,
            None if self.ends.len() > 1 => Sharing::First,
            None => Sharing::Alone,
        };
        let addrs = first.map_or(&self.addrs, |first| &first.addrs().shared).clone();
        Some(RespSettings { addrs, sharing, end: self.ends.next()?, shared: self.shared.clone() })
    }
}
