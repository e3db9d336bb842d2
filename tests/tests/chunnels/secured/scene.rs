//! Two hosts, and connections between them.

use bertha_chunnels::{Quic, TlsIdentity, Trust};
use bertha_core::{Error, Runtime};
use bertha_datapath_sim::{Network, Sim, SimDatapath};
use bertha_negotiation::{Negotiate, Negotiated, Runs, Settings};

pub(crate) const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub(crate) const SERVER: [u8; 4] = [10, 0, 0, 2];

pub(crate) struct Hosts {
    pub(crate) network: Network,
    pub(crate) client: SimDatapath,
    pub(crate) server: SimDatapath,
}

/// Runs `check` over datagrams, with different orders of tasks.
pub(crate) fn over_datagrams(check: impl AsyncFn(&Hosts)) {
    for seed in 0..5 {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        let hosts = Hosts { client: network.host(CLIENT), server: network.host(SERVER), network };
        sim.run(check(&hosts));
    }
}

/// Runs `check` over streams.
pub(crate) fn over_streams(check: impl AsyncFn(&Hosts)) {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    let (client, server) = (network.host(CLIENT).streams(), network.host(SERVER).streams());
    let hosts = Hosts { network, client, server };
    sim.run(check(&hosts));
}

pub(crate) type Out<S> = Negotiated<<SimDatapath as Runs<S>>::Out>;

impl Hosts {
    /// Connects two ends whose stacks may differ, and returns their results.
    pub(crate) async fn try_connect<C, S>(
        &self,
        client: C,
        server: S,
        settings: Settings,
    ) -> (Result<Out<C>, Error>, Option<Result<Out<S>, Error>>)
    where
        C: Negotiate + Sync,
        S: Negotiate + Send + Sync + 'static,
        SimDatapath: Runs<C> + Runs<S>,
        <SimDatapath as Runs<S>>::Out: Send,
    {
        let mut incoming = server.listen(self.server.clone(), (SERVER, 0)).await.unwrap();
        let to = incoming.local_addr();
        let connecting = client.connect(self.client.clone(), to).settings(settings);
        let accepting = async {
            // A refused client leaves no connection to accept.
            let runtime = self.network.runtime();
            let patience = runtime.sleep_until(runtime.now() + std::time::Duration::from_secs(60));
            match futures_util::future::select(
                std::pin::pin!(incoming.next_or_refusal()),
                std::pin::pin!(patience),
            )
            .await
            {
                futures_util::future::Either::Left((accepted, _)) => accepted,
                futures_util::future::Either::Right(_) => None,
            }
        };
        let ends = futures_util::join!(connecting.into_future(), accepting);
        // The address stays in use, as the address of a server does.
        std::mem::forget(incoming);
        ends
    }

    /// Returns both ends of a connection with these stacks.
    pub(crate) async fn connect<C, S>(&self, client: C, server: S) -> (Out<C>, Out<S>)
    where
        C: Negotiate + Sync,
        S: Negotiate + Send + Sync + 'static,
        SimDatapath: Runs<C> + Runs<S>,
        <SimDatapath as Runs<S>>::Out: Send,
    {
        let (here, there) = self.try_connect(client, server, Settings::default()).await;
        (here.unwrap(), there.unwrap().unwrap())
    }
}

/// An end with a certificate that it has signed itself.
pub(crate) struct Subject {
    name: String,
    pub(crate) certificate: Vec<u8>,
    pub(crate) identity: TlsIdentity,
    pub(crate) trust: Trust,
}

impl Subject {
    pub(crate) fn new(name: &str) -> Self {
        Self::with_names([name.to_owned()])
    }

    /// Makes an end with the first of these names, and a certificate for all names.
    pub(crate) fn with_names<const N: usize>(names: [String; N]) -> Self {
        let name = names[0].clone();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
        let trust = Trust::ca_pem(made.cert.pem()).unwrap();
        Self { name, certificate: made.cert.der().to_vec(), identity, trust }
    }

    /// Makes a server with this certificate.
    pub(crate) fn server(&self) -> Quic {
        Quic::server(self.identity.clone()).unwrap()
    }

    /// Makes a client of the server with this certificate.
    pub(crate) fn client(&self) -> Quic {
        Quic::client(&self.name, self.trust.clone()).unwrap()
    }
}
