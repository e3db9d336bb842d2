//! `Tls` over real datapaths: the kernel's TCP, whose messages are framed, Unix sockets, and TCP over DPDK.

use bertha_chunnels::{Ordered, Reliable, Tls, TlsIdentity, Trust};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::{
    Addr, Base, Buf, CertificateChain, Connection, Error, ErrorKind, PeerIdentity, make_stack,
};
use bertha_datapath_dpdk::{self as dpdk, Config, Dpdk};
use bertha_datapath_kernel::{Tcp, Unix};
use bertha_negotiation::{Negotiate, Negotiated, Runs, Settings};
use bertha_tests::skip;
use futures_util::future::join;
use std::cell::Cell;

const NAME: &str = "store.example";

/// A client and a server that know each other's certificates.
struct Parties {
    client: Tls,
    server: Tls,
    /// The certificate of the server.
    shown: Vec<u8>,
}

impl Parties {
    fn new() -> Self {
        let [server, client] =
            [(); 2].map(|()| rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap());
        let identity = |made: &rcgen::CertifiedKey<rcgen::KeyPair>| {
            TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap()
        };
        let trust = |made: &rcgen::CertifiedKey<rcgen::KeyPair>| Trust::ca_pem(made.cert.pem()).unwrap();
        Self {
            client: Tls::client(NAME, trust(&server)).unwrap().identity(identity(&client)),
            server: Tls::server(identity(&server)).unwrap().require_clients(trust(&client)),
            shown: server.cert.der().to_vec(),
        }
    }
}

type Out<D, S> = Negotiated<<D as Runs<S>>::Out>;

/// Returns both ends of a connection, or their errors.
async fn meet<D, S>(
    datapaths: (&D, &D),
    on: Addr,
    client: S,
    server: S,
) -> (Result<Out<D, S>, Error>, Result<Out<D, S>, Error>)
where
    D: Runs<S> + Clone,
    S: Negotiate + 'static,
{
    let (at_server, at_client) = (datapaths.0.clone(), datapaths.1.clone());
    let mut incoming = server.listen(at_server, on).settings(Settings::default()).await.unwrap();
    let to = incoming.local_addr();
    let connecting = client.connect(at_client, to);
    let (there, here) = join(incoming.next_or_refusal(), connecting.into_future()).await;
    (here, there.unwrap())
}

/// Checks messages of all sizes, the identities, the ends, and a client with another trust, which is refused.
async fn check<D, S>(datapaths: (&D, &D), on: impl Fn() -> Addr, over: impl Fn(&Tls) -> S)
where
    D: Runs<S, Out: Connection<Data = Buf>> + Clone,
    S: Negotiate + 'static,
{
    let (parties, other) = (Parties::new(), Parties::new());
    let connect = async || {
        let (here, there) = meet(datapaths, on(), over(&parties.client), over(&parties.server)).await;
        (here.unwrap(), there.unwrap())
    };
    let (here, there) = connect().await;
    let known =
        Some(PeerIdentity::Certificates(CertificateChain::new([parties.shown.clone()], |_| String::new())));
    assert_eq!(here.explain().peer(), known);
    assert!(there.explain().peer().is_some());
    conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    for length in [0, 1, 16_384, 16_385, 60_000] {
        let mut message = here.base().buffer(length).unwrap();
        message.fill(length as u8);
        let (sent, received) = join(here.send(message), there.recv()).await;
        sent.unwrap();
        let received = received.unwrap();
        assert!(received.len() == length && received.iter().all(|byte| *byte == length as u8));
    }
    conformance::ends(connect, &Bufs).await;
    let (here, there) = meet(datapaths, on(), over(&other.client), over(&parties.server)).await;
    let kinds = [here.err().unwrap().kind(), there.err().unwrap().kind()];
    assert!(kinds.contains(&ErrorKind::Unauthenticated), "{kinds:?}");
}

#[tokio::test]
async fn tls_over_framed_tcp_of_the_kernel() {
    for on in ["127.0.0.1:0", "[::1]:0"] {
        check((&Tcp::new(), &Tcp::new()), || on.parse().unwrap(), |tls| make_stack!(tls.clone())).await;
    }
}

#[tokio::test]
async fn tls_over_unix_sockets() {
    // A connection keeps the name for as long as it lasts.
    let number = Cell::new(0);
    let on = || {
        let name =
            format!("unix:@bertha-secured-{}-{}", std::process::id(), number.replace(number.get() + 1));
        name.parse().unwrap()
    };
    let over = |tls: &Tls| make_stack!(tls.clone(), Ordered::new(), Reliable::new());
    check((&Unix::new(), &Unix::new()), on, over).await;
}

#[tokio::test]
async fn tls_over_tcp_of_dpdk() {
    let socket = std::env::temp_dir().join(format!("bertha-secured-{}", std::process::id()));
    let port = |number: u32, role: &str, address: &str| {
        let device =
            format!("net_memif{number},role={role},id=0,socket={},socket-abstract=no", socket.display());
        let address = vec![address.to_owned()];
        Dpdk::open(&Config { device: Some(device), address, buffers: 2047, ..Config::default() })
    };
    let server = match port(0, "server", "10.0.0.1/24") {
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            return skip(&format!("TLS over DPDK: {error}"));
        }
        server => server.unwrap(),
    };
    let client = port(1, "client", "10.0.0.2/24").unwrap();
    let datapaths = (dpdk::Tcp::over(&server), dpdk::Tcp::over(&client));
    let on = || "10.0.0.1:0".parse().unwrap();
    check((&datapaths.0, &datapaths.1), on, |tls| make_stack!(tls.clone())).await;
    // The ports stay open until the process ends: DPDK 22.11 reports `Invalid memory` where both ends of a
    // memif close at once in one process.
    std::mem::forget((server, client));
}
