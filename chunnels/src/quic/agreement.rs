//! The checks between the handshake of QUIC and the first message: the protocol, the other end's identity, and the proofs of the
//! agreement.

use super::stream::{NOT_ACCEPTED, OTHER_AGREEMENT};
use crate::certificates::binding::{self, PROOF, Proofs};
use crate::certificates::refusal;
use crate::certificates::side::Side;
use bertha_core::{Addr, Error, ErrorKind, Secured};
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connection, ConnectionError, ReadError, ReadExactError, RecvStream, SendStream, WriteError};
use rustls::pki_types::CertificateDer;

/// A connection that both ends have agreed to use.
pub(super) struct Agreed {
    pub(super) secured: Secured,
    pub(super) outgoing: SendStream,
    /// The peer's stream, if it has begun.
    pub(super) incoming: Option<RecvStream>,
}

/// The reason why a connection is not used.
pub(super) enum Failed {
    /// This end refuses the connection.
    Here(Error),
    /// The connection has ended.
    Connection(ConnectionError),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl From<ConnectionError> for Failed {
    fn from(error: ConnectionError) -> Self {
        Self::Connection(error)
    }
}

pub(super) async fn agree(
    side: &Side,
    connection: &Connection,
    transcript: Option<&[u8; 32]>,
    peer: &Addr,
) -> Result<Agreed, Failed> {
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    if data.is_none_or(|data| data.protocol.as_deref() != Some(side.protocol().as_bytes())) {
        return Err(side.no_protocol().into());
    }
    let shown = connection.peer_identity();
    let shown = shown.and_then(|shown| shown.downcast::<Vec<CertificateDer<'static>>>().ok());
    let shown = shown.map_or_else(Vec::new, |shown| *shown);
    if side.identifies_peer() {
        // The check is repeated since `quinn` does not tell if a session was resumed, for which TLS checks
        // nothing.
        refusal::step(side, || side.check_again(&shown)).inspect_err(|error| {
            connection.close(NOT_ACCEPTED, error.context().as_bytes());
        })?;
    }
    let export = |into: &mut [u8; 32], label: &[u8], context: &[u8]| {
        let exported = connection.export_keying_material(into, label, context);
        exported.map_err(|_| Error::new(ErrorKind::Reset, "TLS has no keys to export"))
    };
    let mut outgoing = connection.open_uni().await?;
    let incoming = match transcript {
        Some(transcript) => {
            let proofs = Proofs::new(export, transcript, side.is_client())?;
            Some(prove(connection, &proofs, &mut outgoing).await?)
        }
        None => None,
    };
    side.warn_of_peer(&shown, peer);
    let secured = Secured::new(binding::control_key(export, transcript)?);
    let secured = match side.peer(&shown) {
        Some(peer) => secured.with_peer(peer),
        None => secured,
    };
    Ok(Agreed { secured, outgoing, incoming })
}

/// Sends the proof of this end, and checks the proof of the other end.
async fn prove(
    connection: &Connection,
    proofs: &Proofs,
    outgoing: &mut SendStream,
) -> Result<RecvStream, Failed> {
    outgoing.write_all(&proofs.ours()).await.map_err(|error| match error {
        WriteError::ConnectionLost(error) => Failed::Connection(error),
        other => Error::new(ErrorKind::Reset, other.to_string()).into(),
    })?;
    let mut incoming = connection.accept_uni().await?;
    let mut proof = [0; PROOF];
    incoming.read_exact(&mut proof).await.map_err(|error| match error {
        ReadExactError::ReadError(ReadError::ConnectionLost(error)) => Failed::Connection(error),
        other => Error::new(ErrorKind::Malformed, other.to_string()).into(),
    })?;
    if proofs.is_theirs(&proof) {
        return Ok(incoming);
    }
    connection.close(OTHER_AGREEMENT, b"the agreement was altered on its way");
    let what = "the other end proved another agreement: the negotiation was altered on its way";
    Err(Error::new(ErrorKind::Unauthenticated, what).into())
}
