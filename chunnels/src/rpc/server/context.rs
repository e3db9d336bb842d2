//! The circumstances of a call, for its handler.

use crate::rpc::{Failure, Metadata};
use bertha_core::{Addr, Base, Connection, PeerIdentity};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// The circumstances of a call: who calls, with which metadata, and until when. Clones are of the same call.
///
/// A method of `#[bertha::service]` with a parameter of type `&Context` gets it, and so may a [`Service`](super::Service), by
/// [`Request::context`](super::Request::context). A method decides by it if the caller may call:
///
/// ```
/// use bertha_chunnels::rpc::{Context, Failure, FailureKind, Method, handler_with_context, serve};
/// # use bertha_chunnels::rpc::Message;
/// # use bertha_core::{Connection, Error};
/// const ERASE: Method = Method::new("erase");
///
/// async fn erase(context: Context, name: String) -> Result<(), Failure> {
///     match context.peer() {
///         Some(peer) => println!("{peer} erases {name}"),
///         None => return Err(Failure::of(FailureKind::Denied, "erasing needs a certificate")),
///     }
///     context.add_trailer("freed-bytes", "4096")
/// }
///
/// # async fn example(connection: impl Connection<Data = Message>) -> Result<(), Error> {
/// serve(connection, handler_with_context(ERASE, erase)).await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    deadline: Option<Instant>,
    peer: Option<PeerIdentity>,
    peer_addr: Addr,
    metadata: Metadata,
    trailers: Mutex<Metadata>,
}

impl Context {
    pub(super) fn new(
        deadline: Option<Instant>,
        peer: Option<PeerIdentity>,
        peer_addr: Addr,
        metadata: Metadata,
    ) -> Self {
        Self(Arc::new(Inner { deadline, peer, peer_addr, metadata, trailers: Mutex::default() }))
    }

    /// Takes the trailers that were given.
    pub(super) fn take_trailers(&self) -> Metadata {
        std::mem::take(&mut *self.0.trailers.lock())
    }

    /// Returns the time, by the clock of the connection's runtime, at which the client gives up. The call is then cancelled here, too.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    /// Returns the identity that the peer had proved to this connection when the call arrived: by the agreement, to a
    /// secure Chunnel, or by the kernel of this machine. `None` if the server asked for no identity.
    pub fn peer(&self) -> Option<&PeerIdentity> {
        self.0.peer.as_ref()
    }

    /// Returns the address of the peer when the call arrived, which proves nothing.
    pub fn peer_addr(&self) -> &Addr {
        &self.0.peer_addr
    }

    /// Returns the metadata that the caller has sent. It proves nothing by itself.
    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    /// Adds an entry to the metadata that goes back with the response, with the end of a stream of responses, or with the
    /// failure. A failure whose trailers make it larger than a message goes without them. The trailers of a call that
    /// is cancelled or whose deadline passes are lost, as is an entry that is added after the outcome.
    ///
    /// # Errors
    /// [`Malformed`](crate::rpc::FailureKind::Malformed) and [`TooLarge`](crate::rpc::FailureKind::TooLarge), for an entry that
    /// [`Metadata::add`] does not take.
    pub fn add_trailer(&self, key: &str, value: impl AsRef<[u8]>) -> Result<(), Failure> {
        let added = self.0.trailers.lock().add(key, value);
        added.map_err(|error| Failure::of_metadata(&error))
    }
}

/// A connection of any type, as far as its peer is concerned.
pub(super) trait OfPeer: Sync {
    fn identity(&self) -> Option<PeerIdentity>;
    fn addr(&self) -> Addr;
}

impl<C: Connection> OfPeer for C {
    fn identity(&self) -> Option<PeerIdentity> {
        self.peer_identity()
    }

    fn addr(&self) -> Addr {
        self.base().peer_addr()
    }
}
