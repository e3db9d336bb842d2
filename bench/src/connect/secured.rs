//! Clients that agree with the server, and then shake hands by a Chunnel that encrypts: with the session of an earlier connection,
//! or without.

use super::{Connect, Message, Trial, failed, measured, serve};
use crate::Error;
#[cfg(feature = "tls")]
use crate::harness::Certificate;
#[cfg(feature = "quic")]
use bertha_chunnels::Quic;
#[cfg(feature = "tls")]
use bertha_chunnels::Tls;
use bertha_chunnels::{Noise, NoiseKey, Serialize};
use bertha_core::{Addr, Connection, make_stack};
#[cfg(feature = "tls")]
use bertha_datapath_kernel::Tcp;
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Runs, Settings};
use std::time::Instant;

/// A function that makes the stack of a client that is about to connect.
type Make<S> = Box<dyn Fn() -> Result<S, bertha_core::Error>>;

/// A client that connects over a datapath, with a stack that encrypts.
pub(super) struct Client<S, D> {
    datapath: D,
    server: Addr,
    make: Make<S>,
}

/// Returns a client of `Noise` with a key of both ends.
pub(super) async fn noise_shared() -> Result<impl Connect, Error> {
    let stack = || make_stack!(Serialize::<Message>::new(), Noise::shared(&[7; 32]));
    Client::new(Udp::new(), stack(), Box::new(move || Ok(stack()))).await
}

/// Returns a client of `Noise` whose ends each prove a key of their own.
pub(super) async fn noise_static() -> Result<impl Connect, Error> {
    let [client, server] = [1, 2].map(|byte| NoiseKey::from_bytes([byte; 32]));
    let of_client = client.public();
    let of_server = server.public();
    let make = move || Ok(make_stack!(Serialize::<Message>::new(), Noise::client(client.clone(), of_server)));
    let server = make_stack!(Serialize::<Message>::new(), Noise::server(server, [of_client]));
    Client::new(Udp::new(), server, Box::new(make)).await
}

/// Returns a client of `Tls` over the kernel's TCP.
#[cfg(feature = "tls")]
pub(super) async fn tls(is_resuming: bool) -> Result<impl Connect, Error> {
    let certificate = Certificate::new()?;
    let server = Tls::server(certificate.identity().map_err(failed)?).map_err(failed)?;
    let trust = certificate.trust().map_err(failed)?;
    let make =
        move || Ok(make_stack!(Serialize::<Message>::new(), Tls::client(Certificate::NAME, trust.clone())?));
    let make = sessions(is_resuming, make)?;
    Client::new(Tcp::new(), make_stack!(Serialize::<Message>::new(), server), make).await
}

#[cfg(feature = "quic")]
pub(super) async fn quic(is_resuming: bool) -> Result<impl Connect, Error> {
    let certificate = Certificate::new()?;
    let server = Quic::server(certificate.identity().map_err(failed)?).map_err(failed)?;
    let trust = certificate.trust().map_err(failed)?;
    let make =
        move || Ok(make_stack!(Serialize::<Message>::new(), Quic::client(Certificate::NAME, trust.clone())?));
    let make = sessions(is_resuming, make)?;
    Client::new(Udp::new(), make_stack!(Serialize::<Message>::new(), server), make).await
}

/// Clones of a stack share sessions; a new stack has none.
#[cfg(feature = "tls")]
fn sessions<S: Clone + 'static>(
    is_resuming: bool,
    make: impl Fn() -> Result<S, bertha_core::Error> + 'static,
) -> Result<Make<S>, Error> {
    if !is_resuming {
        return Ok(Box::new(make));
    }
    let kept = make().map_err(failed)?;
    Ok(Box::new(move || Ok(kept.clone())))
}

impl<S, D> Client<S, D>
where
    S: Negotiate + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Message>> + Clone,
{
    async fn new(datapath: D, server: S, make: Make<S>) -> Result<Self, Error> {
        let server = serve(server, datapath.clone(), Settings::default()).await?;
        Ok(Self { datapath, server, make })
    }
}

impl<S, D> Connect for Client<S, D>
where
    S: Negotiate + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Message>> + Clone,
{
    async fn connect(&mut self) -> Result<Trial, Error> {
        let started = Instant::now();
        let stack = (self.make)().map_err(failed)?;
        let connection = stack.connect(self.datapath.clone(), self.server.clone()).await.map_err(failed)?;
        let trial = measured(started, &connection).await?;
        connection.close().await.map_err(failed)?;
        Ok(trial)
    }
}
