//! The sockets of a listener's shards, among which the kernel picks.

use super::{DatagramConnection, DatagramSocket};
use crate::Waiting;
use crate::endpoint::Endpoint;
use bertha_bpf_sys::{KEY, KeySet};
use bertha_core::{Error, ErrorKind, Route, STEERED_PREFIX, Siblings};
use bertha_runtime::polling::Limits;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

const _: () = assert!(KEY == STEERED_PREFIX);

/// The sockets of shards, as the datapath has opened them.
#[derive(Debug)]
pub struct Steered<S> {
    /// A socket for each shard.
    pub(crate) shards: Vec<S>,
    /// The prefixes of the messages that the kernel steers.
    pub(crate) prefixes: KeySet,
}

/// The shards of a listener. No socket is closed before the last route has ended: the kernel picks a socket by
/// its number, and gives the number of a closed socket to another.
pub(super) struct Group<S: DatagramSocket> {
    shards: Vec<Arc<Endpoint<S>>>,
    prefixes: KeySet,
}

impl<S: DatagramSocket> Group<S> {
    pub(super) fn new(Steered { shards, prefixes }: Steered<S>, limits: Limits, waiting: Waiting) -> Self {
        let endpoint = |socket| {
            let endpoint = Endpoint::listening(Arc::new(socket), limits, waiting);
            // Messages of peers without a connection are dropped and counted.
            endpoint.stop_listening();
            endpoint
        };
        Self { shards: shards.into_iter().map(endpoint).collect(), prefixes }
    }

    /// Returns connections to the peer of `connection`, one at each shard.
    pub(super) fn siblings(
        self: &Arc<Self>,
        peer: &S::Peer,
        prefix: [u8; STEERED_PREFIX],
    ) -> Siblings<DatagramConnection<S>> {
        let sibling = |endpoint: &Arc<Endpoint<S>>| {
            let slot = endpoint.join(peer.clone());
            let socket = endpoint.socket();
            let remote = socket.remote(peer);
            let base = socket.base(peer, &remote);
            DatagramConnection::new(endpoint.clone(), slot, base, remote)
        };
        let connections = self.shards.iter().map(sibling).collect();
        let route = Arc::new(KernelRoute { group: self.clone(), prefix, has_begun: Mutex::new(false) });
        Siblings { connections, route }
    }
}

/// The steering of the messages of one connection.
struct KernelRoute<S: DatagramSocket> {
    group: Arc<Group<S>>,
    prefix: [u8; STEERED_PREFIX],
    has_begun: Mutex<bool>,
}

impl<S: DatagramSocket> Route for KernelRoute<S> {
    fn begin(&self) -> Result<(), Error> {
        let mut has_begun = self.has_begun.lock();
        if !*has_begun {
            self.group.prefixes.insert(&self.prefix).map_err(not_begun)?;
            *has_begun = true;
        }
        Ok(())
    }
}

impl<S: DatagramSocket> Drop for KernelRoute<S> {
    fn drop(&mut self) {
        if *self.has_begun.get_mut()
            && let Err(error) = self.group.prefixes.remove(&self.prefix)
        {
            tracing::debug!(%error, "the kernel goes on to steer the messages of a connection that has ended");
        }
    }
}

#[cold]
fn not_begun(error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::ArgumentListTooLong | io::ErrorKind::OutOfMemory => ErrorKind::Exhausted,
        _ => ErrorKind::Io,
    };
    let what = format!("the kernel steers no further connection: {error}");
    Error::new(kind, what).because(error)
}
