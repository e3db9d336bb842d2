//! The places in which streams of bytes are tested: pairs of connected ends, over each datapath and stack.

use bertha_chunnels::{Bytes, Ordered, Reliable, Tls, TlsIdentity, Trust};
use bertha_core::{Addr, Chunk, Connection, Datapath, ErrorKind, Listener, make_stack};
use bertha_datapath_dpdk::{Config, Dpdk};
use bertha_datapath_kernel::{Tcp, Udp, UnixStream};
use bertha_negotiation::{Negotiate, Negotiated, Runs};
use bertha_tests::skip;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(crate) fn loopback() -> Addr {
    "127.0.0.1:0".parse().unwrap()
}

pub(crate) fn unix_name() -> Addr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Relaxed);
    format!("unix:@bertha-byte-streams-{}-{number}", std::process::id()).parse().unwrap()
}

/// Returns both ends of a connection over datapaths of bytes.
pub(crate) async fn of_bytes<D: Datapath<Chunk>>(
    [server, client]: [&D; 2],
    on: Addr,
) -> (D::Connection, D::Connection) {
    let listener = server.listen(on).await.unwrap();
    let client = client.connect(listener.local_addr()).await.unwrap();
    (client, listener.accept().await.unwrap())
}

/// Returns both ends of a negotiated connection.
async fn negotiated<C, S, D>(
    client: C,
    server: S,
    datapath: D,
) -> (Negotiated<<D as Runs<C>>::Out>, Negotiated<<D as Runs<S>>::Out>)
where
    C: Negotiate + Sync,
    S: Negotiate + Send + Sync + 'static,
    D: Runs<C> + Runs<S> + Clone,
    <D as Runs<S>>::Out: Send,
{
    let mut incoming = server.listen(datapath.clone(), loopback()).await.unwrap();
    let to = incoming.local_addr();
    let accepting = tokio::spawn(async move { (incoming.next().await.unwrap(), incoming) });
    let client = client.connect(datapath, to).await.unwrap();
    let (server, incoming) = accepting.await.unwrap();
    // The listener serves its connections, so it stays alive as long as the process.
    std::mem::forget(incoming);
    (client, server)
}

pub(crate) async fn tcp() -> (impl Connection<Data = Chunk>, impl Connection<Data = Chunk>) {
    let tcp = Tcp::new().bytes();
    of_bytes([&tcp, &tcp], loopback()).await
}

pub(crate) async fn unix() -> (impl Connection<Data = Chunk>, impl Connection<Data = Chunk>) {
    let unix = UnixStream::new().bytes();
    of_bytes([&unix, &unix], unix_name()).await
}

pub(crate) async fn tls() -> (impl Connection<Data = Chunk>, impl Connection<Data = Chunk>) {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    let client = Tls::client("store.example", Trust::ca_pem(made.cert.pem()).unwrap()).unwrap();
    let server = Tls::server(identity).unwrap();
    negotiated(make_stack!(Bytes, client), make_stack!(Bytes, server), Tcp::new()).await
}

pub(crate) async fn datagrams() -> (impl Connection<Data = Chunk>, impl Connection<Data = Chunk>) {
    let stack = || make_stack!(Bytes, Ordered::new(), Reliable::new());
    negotiated(stack(), stack(), Udp::new()).await
}

/// Returns TCP over two ports that share memory. Without DPDK, reports that the test is skipped.
pub(crate) fn dpdk() -> Option<[bertha_datapath_dpdk::Tcp<Chunk>; 2]> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = 2 * NEXT.fetch_add(1, Relaxed);
    let socket = std::env::temp_dir().join(format!("bertha-byte-streams-{}-{number}", std::process::id()));
    let open = |number: u32, role: &str, address: &str| {
        let device =
            format!("net_memif{number},role={role},id=0,socket={},socket-abstract=no", socket.display());
        let address = vec![address.to_owned()];
        match Dpdk::open(&Config { device: Some(device), address, buffers: 2047, ..Config::default() }) {
            Ok(dpdk) => Some(dpdk),
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                skip(&format!("streams of bytes over DPDK: {error}"));
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    };
    let ports = [open(number, "server", "10.0.0.1/24")?, open(number + 1, "client", "10.0.0.2/24")?];
    let tcp = [0, 1].map(|end: usize| bertha_datapath_dpdk::Tcp::over(&ports[end]).bytes());
    // The ports stay open until the process ends: DPDK 22.11 reports `Invalid memory` where both ends of a
    // memif close at once in one process.
    std::mem::forget(ports);
    Some(tcp)
}

pub(crate) async fn over_dpdk(
    [server, client]: &[bertha_datapath_dpdk::Tcp<Chunk>; 2],
) -> (impl Connection<Data = Chunk> + use<>, impl Connection<Data = Chunk> + use<>) {
    of_bytes([server, client], "10.0.0.1:0".parse().unwrap()).await
}
