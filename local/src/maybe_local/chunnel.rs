//! The Chunnel itself.

use super::MaybeLocalConnection;
use super::meeting::{Meeting, meet};
use crate::directory::{Directory, Key};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use bertha_datapath_shm::Shm;

/// Carries messages through shared memory if the peer is on this machine, and over the connection below if not.
///
/// The client asks the [`Directory`] of its machine for the address to which it has connected. A service that is not registered there,
/// belongs to a user with whom no memory is shared, or does not answer, is reached over the connection below; so is every
/// service while no directory runs, or while it does not answer. The connection below stays, and carries what is said about the connection.
/// [`MaybeLocalConnection::way`] says which way a connection has taken and why, and so do the
/// [agreement](https://docs.rs/bertha-negotiation/latest/bertha_negotiation/struct.Agreement.html) that `explain()` shows, and an event of
/// `tracing` at the level `debug`. A server that has registered nothing is warned once.
///
/// Memory is shared with the process behind the connection below alone: both ends compare over that connection what the directory has
/// told each of them. An attacker who can change the messages of the connection below gets the memory in the place of the peer, if its
/// user passes [`Shm::users`] at both ends.
///
/// Messages of a local peer go around the layers below, and lie in memory as they are. So `MaybeLocal` passes on the guarantees of the
/// layers below that shared memory has too: reliable, ordered, at most once, undamaged. It withdraws the other ones: above it nothing is
/// encrypted, authenticated, forward-secret, or from an identified peer, whatever stands below. A secure Chunnel has to stand above
/// `MaybeLocal`. Memory is shared only with [users](Shm::users) who may have it; the kernel vouches for the user at the other end.
///
/// The longest message is that of the shared memory for local peers, 64 KiB by default, and that of the connection below for other peers.
///
/// A connection stays with its way. Where a peer has moved here or away, or has registered meanwhile, an
/// [upgradable](https://docs.rs/bertha-negotiation) stack `select!(MaybeLocal::new(directory), Nothing)` goes from one alternative to
/// the other and back, and loses nothing.
#[derive(Debug, Clone, Identity)]
#[chunnel(
    needs(Reliable, Ordered),
    withdraws(Encrypted, Authenticated, ForwardSecret, PeerIdentified),
    no_early_data
)]
pub struct MaybeLocal {
    directory: Directory,
    shm: Shm,
    service: Option<Key>,
}

impl MaybeLocal {
    /// Local are those that this directory knows.
    pub fn new(directory: Directory) -> Self {
        Self { directory, shm: Shm::new(), service: None }
    }

    /// Shares memory with these settings: users, ring, waiting.
    #[must_use]
    pub fn through(self, shm: Shm) -> Self {
        Self { shm, ..self }
    }

    /// Looks for the service of this name, and not for the address to which the client has connected: where that is not one under
    /// which the service registers, as behind a port that is forwarded to a container.
    #[must_use]
    pub fn service(self, name: &str) -> Self {
        Self { service: Some(name.into()), ..self }
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for MaybeLocal {
    type Connection = MaybeLocalConnection<Inner>;

    /// Takes one message from the client to the server, and for local peers two in each direction.
    ///
    /// # Errors
    /// Errors of the connection below; [`Malformed`](bertha_core::ErrorKind::Malformed) if the peer sends another message,
    /// [`Unavailable`](bertha_core::ErrorKind::Unavailable) among participants.
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let meeting = Meeting { directory: &self.directory, shm: &self.shm, service: self.service.as_ref() };
        let met = meet(meeting, &inner, context.role()).await.map_err(|error| error.at("MaybeLocal"))?;
        match &met {
            Ok(_) => context.note("MaybeLocal", "shared memory"),
            Err(far) => context.note("MaybeLocal", format_args!("no shared memory: {far}")),
        }
        let connection = MaybeLocalConnection::new(inner, met);
        context.observes(connection.taken());
        Ok(connection)
    }
}
