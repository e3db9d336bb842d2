//! Clients that agree with the server, before or while they send.

use super::{Connect, Trial, failed, measured, serve, stack};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Connection};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Credentials, EarlyCache, IdentityKey, Negotiate, Settings, SharedKey, ZeroRtt};
use std::time::Instant;

/// The proof of an end to its peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    /// No proof.
    None,
    /// A key that both ends share.
    SharedKey,
    /// The identity of the server.
    Identity,
}

impl Proof {
    /// Returns the settings of client and server.
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

/// A client that waits for the answer.
pub(super) struct AfterAnswer {
    server: Addr,
    settings: Settings,
}

impl AfterAnswer {
    pub(super) async fn new(proof: Proof) -> Result<Self, Error> {
        let [settings, servers] = proof.settings();
        Ok(Self { server: serve(stack(), Udp::new(), servers).await?, settings })
    }
}

impl Connect for AfterAnswer {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let server = self.server.clone();
        let settings = self.settings.clone();
        let started = Instant::now();
        let connection = stack().connect(Udp::new(), server).settings(settings).await.map_err(failed)?;
        let trial = measured(started, &connection).await?;
        connection.close().await.map_err(failed)?;
        Ok(trial)
    }
}

/// A client that does not wait for the answer.
pub(super) struct AtOnce {
    server: Addr,
    settings: Settings,
    cache: EarlyCache,
}

impl AtOnce {
    /// Creates a client that knows the server already.
    pub(super) async fn new(proof: Proof) -> Result<Self, Error> {
        let [settings, mut servers] = proof.settings();
        servers.early_data = true;
        let server = serve(stack(), Udp::new(), servers).await?;
        let cache = EarlyCache::new();
        let known = stack().connect(Udp::new(), server.clone()).early(&cache).settings(settings.clone());
        let known = known.await.map_err(failed)?;
        known.close().await.map_err(failed)?;
        Ok(Self { server, settings, cache })
    }
}

impl Connect for AtOnce {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let server = self.server.clone();
        let settings = self.settings.clone();
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
