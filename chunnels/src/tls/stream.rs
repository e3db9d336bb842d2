//! TLS for the streams of protocols that are not Bertha's.

use super::{TARGET, Tls};
use crate::certificates::side::{Config, Side};
use crate::certificates::{noted, refusal};
use bertha_core::{Addr, Error, ErrorKind};
use rustls::{CommonState, HandshakeKind};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

impl Tls {
    /// Encrypts a stream of bytes of another program, which speaks the protocol that [`protocol`](Self::protocol) has named. The identities
    /// and the trust are those of connections, and so are the sessions; there is neither an agreement nor a length in front of a message.
    ///
    /// This end refuses a program that does not confirm the protocol. The caller limits the time of the handshake.
    ///
    /// # Errors
    /// The errors of a connection's handshake. The alert for the other end has then been written, as far as the socket had room for it.
    pub async fn stream<S>(
        &self,
        socket: S,
        peer: &Addr,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<S>, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin,
    {
        let shaken = shake(&self.side, socket).await;
        match &shaken {
            Ok(stream) => {
                let (_, state) = stream.get_ref();
                let is_resumed = is_resumed(state);
                self.side.warn_of_peer(state.peer_certificates().unwrap_or_default(), peer);
                self.side.handshakes().done(is_resumed);
                tracing::debug!(target: TARGET, %peer, resumed = is_resumed, "the handshake is done");
            }
            Err(error) => {
                self.side.handshakes().failed();
                tracing::debug!(target: TARGET, %peer, %error, "the handshake failed");
            }
        }
        shaken.map_err(|error| error.at("Tls"))
    }
}

async fn shake<S>(side: &Side, socket: S) -> Result<TlsStream<S>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream: TlsStream<S> = match side.config()? {
        Config::Client(config, name) => {
            step(side, TlsConnector::from(config).connect(name, socket)).await?.into()
        }
        Config::Server(config) => step(side, TlsAcceptor::from(config).accept(socket)).await?.into(),
    };
    let (_, state) = stream.get_ref();
    if state.alpn_protocol() != Some(side.protocol().as_bytes()) {
        return Err(side.no_protocol());
    }
    if is_resumed(state) && side.identifies_peer() {
        refusal::step(side, || side.check_again(state.peer_certificates().unwrap_or_default()))?;
    }
    Ok(stream)
}

fn is_resumed(state: &CommonState) -> bool {
    state.handshake_kind() == Some(HandshakeKind::Resumed)
}

/// Drives a handshake, and explains its error.
async fn step<T>(side: &Side, mut shaking: impl Future<Output = io::Result<T>> + Unpin) -> Result<T, Error> {
    poll_fn(|context| {
        noted::take();
        let polled = Pin::new(&mut shaking).poll(context);
        // The error is of the step that has noted what it refuses.
        polled.map_err(|error| explained(error, side))
    })
    .await
}

#[cold]
fn explained(error: io::Error, side: &Side) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        let what = "the other end ended the stream during the TLS handshake";
        return Error::new(ErrorKind::Reset, what).because(error);
    }
    match error.downcast::<rustls::Error>() {
        Ok(error) => refusal::explain(error, side, noted::take().as_ref().map(|refused| &*refused.shown)),
        Err(error) => error.into(),
    }
}
