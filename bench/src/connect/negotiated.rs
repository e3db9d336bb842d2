//! Clients that agree with the server, before or while they send.

use super::{Connect, Message, Trial, echo, failed, since, stack};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Connection};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Credentials, EarlyCache, IdentityKey, Negotiate, Settings, SharedKey, ZeroRtt};
use std::net::Ipv4Addr;
use std::time::Instant;

/// The proof of an end to the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    /// Nothing.
    None,
    /// A shared key, of both.
    SharedKey,
    /// The identity of the server.
    Identity,
}

impl Proof {
    /// The settings of client and server.
    fn settings(self) -> [Settings; 2] {
        let mut settings = [Settings::default(), Settings::default()];
        let identity = IdentityKey::from_seed([2; 32]);
        let shared = || Credentials::shared(SharedKey::new([1; 32]));
        let credentials = match self {
            Self::None => return settings,
            Self::SharedKey => [shared(), shared()],
            Self::Identity => [
                Credentials::default().trusting([identity.public()]),
                Credentials::default().identity(identity),
            ],
        };
        settings.iter_mut().zip(credentials).for_each(|(settings, mine)| settings.credentials = mine);
        settings
    }
}

/// Starts a server that echoes the messages of each client.
async fn serve(mut settings: Settings) -> Result<Addr, Error> {
    // One after the other, clients arrive faster than a server accepts them from one network by default.
    settings.offers_per_second = u32::MAX;
    let incoming = stack().listen(Udp::new(), (Ipv4Addr::LOCALHOST, 0)).settings(settings).await;
    let mut incoming = incoming.map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server"))?;
    let addr = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(accepted) = incoming.next().await {
            // A client notices by itself that there is no echo.
            let Ok(connection) = accepted else { continue };
            tokio::spawn(async move {
                while let Ok(message) = connection.recv().await {
                    if connection.send(message).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(addr)
}

/// Waits for the answer.
pub(super) struct AfterAnswer {
    server: Addr,
    settings: Settings,
}

impl AfterAnswer {
    pub(super) async fn new(proof: Proof) -> Result<Self, Error> {
        let [settings, servers] = proof.settings();
        Ok(Self { server: serve(servers).await?, settings })
    }
}

impl Connect for AfterAnswer {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let (server, settings) = (self.server.clone(), self.settings.clone());
        let started = Instant::now();
        let connection = stack().connect(Udp::new(), server).settings(settings).await.map_err(failed)?;
        let trial = measured(started, &connection).await?;
        connection.close().await.map_err(failed)?;
        Ok(trial)
    }
}

/// Does not wait.
pub(super) struct AtOnce {
    server: Addr,
    settings: Settings,
    cache: EarlyCache,
}

impl AtOnce {
    /// A client that knows the server already.
    pub(super) async fn new(proof: Proof) -> Result<Self, Error> {
        let [settings, mut servers] = proof.settings();
        servers.early_data = true;
        let (server, cache) = (serve(servers).await?, EarlyCache::new());
        let known = stack().connect(Udp::new(), server.clone()).early(&cache).settings(settings.clone());
        let known = known.await.map_err(failed)?;
        known.close().await.map_err(failed)?;
        Ok(Self { server, settings, cache })
    }
}

impl Connect for AtOnce {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let (server, settings) = (self.server.clone(), self.settings.clone());
        let started = Instant::now();
        let connection = stack().connect(Udp::new(), server).early(&self.cache).settings(settings);
        let connection = connection.await.map_err(failed)?;
        let trial = measured(started, &connection).await?;
        let agreement = connection.agreed().await.map_err(failed)?;
        if agreement.zero_rtt() != Some(&ZeroRtt::Taken(1)) {
            return Err(Error::new(
                ErrorKind::Bertha,
                format!("the message was to be taken early: {agreement}"),
            ));
        }
        connection.close().await.map_err(failed)?;
        Ok(trial)
    }
}

async fn measured(started: Instant, connection: &impl Connection<Data = Message>) -> Result<Trial, Error> {
    echo(connection).await.map_err(failed)?;
    let set_up = since(started);
    let started = Instant::now();
    echo(connection).await.map_err(failed)?;
    Ok(Trial { set_up, round_trip: since(started) })
}
