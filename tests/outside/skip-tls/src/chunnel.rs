//! The Chunnel that does the work of two.

use crate::TlsUnlessLocalConnection;
use bertha_chunnels::Tls;
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime,
    Secured,
};
use bertha_local::{MaybeLocal, MaybeLocalConnection};

/// Shared memory to peers of this machine, without a handshake and without encryption; TLS to all other
/// peers.
///
/// A local peer is a process of a user with whom memory is shared: the directory and the kernel vouch for its
/// user instead of a certificate, also for clients of a server that requires certificates. The local peer is
/// the process behind the connection below, unless an attacker changes the messages of that connection and
/// itself is a process of such a user. Messages between local peers do not leave the machine, so no other
/// machine can record them; they are not damaged, and arrive once.
#[derive(Debug, Clone, Identity)]
#[chunnel(
    guarantees(Authenticated, IntegrityChecked, AtMostOnce, ForwardSecret),
    withdraws(Encrypted, PeerIdentified),
    needs(Reliable, Ordered),
    no_early_data
)]
pub struct TlsUnlessLocal {
    tls: Tls,
    maybe_local: MaybeLocal,
}

impl TlsUnlessLocal {
    /// Makes a Chunnel that works as `tls` above `maybe_local`, but speaks no TLS to local peers.
    pub fn new(tls: Tls, maybe_local: MaybeLocal) -> Self {
        Self { tls, maybe_local }
    }
}

impl<Inner: Carries<Buf, Self> + Carries<Buf, MaybeLocal>> Chunnel<Inner> for TlsUnlessLocal {
    type Connection = TlsUnlessLocalConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        match self.maybe_local.connect_wrap(inner, context).await?.remote() {
            Ok(inner) => {
                let tls = self.tls.connect_wrap(inner, context).await?;
                Ok(TlsUnlessLocalConnection::Remote(tls))
            }
            Err(local) => {
                bind(&local, context).await?;
                Ok(TlsUnlessLocalConnection::Local(local))
            }
        }
    }
}

/// Length of the hash of the agreement and of a key, in bytes.
const BINDING: usize = 64;

/// Binds the local connection to the agreement, as TLS does.
///
/// The ends agree over the connection below, which attackers can reach. The client sends the hash of its
/// agreement through the memory that both ends share, and the server compares it with its own hash. The
/// client also sends a key for the messages about the connection, which still take the connection below.
async fn bind<Inner>(
    local: &MaybeLocalConnection<Inner>,
    context: ConnectContext<'_, Inner>,
) -> Result<(), Error>
where
    Inner: Connection<Data = Buf>,
{
    let transcript = context.transcript().unwrap_or_default();
    let mut key = [0; 32];
    if context.role() == Role::Client {
        for part in key.as_chunks_mut::<8>().0 {
            *part = local.base().runtime().random().to_ne_bytes();
        }
        let mut message = local.base().buffer(BINDING)?;
        message.copy_from_slice(&[transcript, key].concat());
        local.send(message).await?;
    } else {
        let message = local.recv().await?;
        match message.split_first_chunk::<32>() {
            Some((theirs, rest)) if *theirs == transcript && rest.len() == key.len() => {
                key.copy_from_slice(rest)
            }
            _ => {
                let what = "the two ends have not agreed on the same stack: somebody altered what they said";
                return Err(Error::new(ErrorKind::Unauthenticated, what).at("TlsUnlessLocal"));
            }
        }
    }
    context.secured(Secured::new(key));
    Ok(())
}
