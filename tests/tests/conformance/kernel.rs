//! The conformance suites over kernel sockets.

use bertha_chunnels::{Nothing, Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs, Messages, Site};
use bertha_core::{Addr, Base, Buf, Chunk, Connection, Datapath, ErrorKind, Listener, make_stack};
use bertha_datapath_kernel::{Tcp, Udp, Unix, UnixStream, Waiting};
use bertha_tests::conformance::negotiated_ends;
use std::io::Write;
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LOOPBACK: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

const POLLING: [Waiting; 2] = [Waiting::Spin, Waiting::Adaptive { spin_for: Duration::from_micros(50) }];

/// Makes garbage of many lengths.
fn garbage() -> impl Iterator<Item = Vec<u8>> {
    let lens = [0, 1, 4, 7, 8, 9, 100, 1500, 9000, 65_507];
    lens.into_iter().map(|len| (0..len).map(|at| (at * 31 + len) as u8).collect())
}

async fn udp(udp: Udp, on: &str) {
    let on: Addr = on.parse().unwrap();
    let site = Site { server: &udp, client: &udp, on: &|| on.clone() };
    datagrams(&site, async |to| {
        let to = to.ip("test").unwrap();
        for payload in garbage() {
            // An answer finds the port closed.
            let socket = UdpSocket::bind((to.ip(), 0)).unwrap();
            socket.send_to(&payload, to).unwrap();
        }
    })
    .await;
}

/// Returns a name in the abstract namespace that no socket has.
fn unix_name() -> Addr {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("unix:@bertha-conformance-{}-{number}", std::process::id()).parse().unwrap()
}

async fn unix(unix: Unix) {
    let site = Site { server: &unix, client: &unix, on: &unix_name };
    datagrams(&site, async |to| {
        let name = to.unix("test").unwrap().to_str().unwrap().strip_prefix('@').unwrap();
        let to = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
        for payload in garbage() {
            // The listener can't answer a socket without a name.
            let socket = UnixDatagram::unbound().unwrap();
            socket.set_nonblocking(true).unwrap();
            socket.send_to_addr(&payload, &to).unwrap();
        }
    })
    .await;
}

async fn datagrams<D: Datapath>(site: &Site<'_, D, D>, attack: impl AsyncFn(&Addr)) {
    conformance::datapath(site).await;
    conformance::a_dropped_connection_forgets_its_address(site).await;
    conformance::nobody_there_is_unreachable(site).await;
    conformance::a_listener_survives(site, attack).await;
}

async fn tcp(tcp: Tcp, on: &str) {
    let on: Addr = on.parse().unwrap();
    let site = Site { server: &tcp, client: &tcp, on: &|| on.clone() };
    conformance::datapath(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
    conformance::a_listener_survives(&site, async |to| {
        for bytes in garbage() {
            let mut stream = TcpStream::connect(to.ip("test").unwrap()).unwrap();
            stream.set_nonblocking(true).unwrap();
            let _some = stream.write(&bytes).unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn udp_on_one_thread() {
    for on in LOOPBACK {
        udp(Udp::new(), on).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn udp_on_several_threads() {
    for on in LOOPBACK {
        udp(Udp::new(), on).await;
    }
}

#[tokio::test]
async fn udp_that_polls() {
    for waiting in POLLING {
        udp(Udp::new().waiting(waiting), LOOPBACK[0]).await;
    }
}

#[tokio::test]
async fn tcp_on_one_thread() {
    for on in LOOPBACK {
        tcp(Tcp::new(), on).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tcp_on_several_threads() {
    for on in LOOPBACK {
        tcp(Tcp::new(), on).await;
    }
}

#[tokio::test]
async fn tcp_that_polls() {
    for waiting in POLLING {
        tcp(Tcp::new().waiting(waiting), LOOPBACK[0]).await;
    }
}

#[tokio::test]
async fn tcp_tells_of_a_close() {
    for on in LOOPBACK {
        let (tcp, on): (_, Addr) = (Tcp::new(), on.parse().unwrap());
        let site = Site { server: &tcp, client: &tcp, on: &|| on.clone() };
        let (client, server) = site.connected().await;
        conformance::the_peer_hears_of_a_close(&client, &server, &Bufs).await;
        let (client, server) = site.connected().await;
        conformance::the_peer_hears_of_a_close(&server, &client, &Bufs).await;
    }
}

#[tokio::test]
async fn a_clean_end_of_a_negotiated_connection_differs_from_a_cut_end() {
    let repeating = make_stack!(Ordered::new(), Reliable::new());
    for on in LOOPBACK {
        let on = || on.parse().unwrap();
        negotiated_ends(&Udp::new(), &Udp::new(), on, repeating.clone()).await;
        negotiated_ends(&Tcp::new(), &Tcp::new(), on, make_stack!(Nothing)).await;
        negotiated_ends(&Tcp::new(), &Tcp::new(), on, repeating.clone()).await;
    }
    negotiated_ends(&Unix::new(), &Unix::new(), unix_name, repeating).await;
    negotiated_ends(&UnixStream::new(), &UnixStream::new(), unix_name, make_stack!(Nothing)).await;
}

/// A server that listens at all addresses of the host answers from the address that was asked, since the
/// client's socket is connected to this address.
#[tokio::test]
async fn replies_leave_from_the_address_that_was_asked() {
    for (on, asked) in [
        ("0.0.0.0:0", ["127.0.0.2", "127.0.0.3"]),
        ("[::]:0", ["127.0.0.2", "::1"]),
        ("127.0.0.2:0", ["127.0.0.2"; 2]),
    ] {
        let listener = Udp::new().listen(on.parse().unwrap()).await.unwrap();
        let port = listener.local_addr().ip("test").unwrap().port();
        for asked in asked {
            let asked: IpAddr = asked.parse().unwrap();
            let client = Udp::new().connect((asked, port).into()).await.unwrap();
            client.send(Bufs.make(&client, 0)).await.unwrap();
            let server = listener.accept().await.unwrap();
            let here = server.base().local_addr().ip("test").unwrap().ip();
            assert_eq!(here.to_canonical(), asked);
            assert_eq!(Bufs.number(&server.recv().await.unwrap()), 0);
            server.send(Bufs.make(&server, 1)).await.unwrap();
            let answer = tokio::time::timeout(conformance::TIMEOUT, client.recv()).await;
            assert_eq!(Bufs.number(&answer.expect("no answer").unwrap()), 1);
            conformance::bursts_arrive_whole(&server, &client, &Bufs).await;
            conformance::bursts_arrive_whole(&client, &server, &Bufs).await;
        }
    }
}

/// The peer's bytes announce a message above the limit, so no bytes behind them can be read.
#[tokio::test]
async fn a_stream_of_garbage_ends_a_connection_for_good() {
    for hangs_up in [false, true] {
        let listener = Tcp::new().listen(LOOPBACK[0].parse().unwrap()).await.unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().ip("test").unwrap()).unwrap();
        let connection = listener.accept().await.unwrap();
        peer.write_all(&[0xff; 8]).unwrap();
        let _kept = (!hangs_up).then_some(peer);
        let end = conformance::an_end_is_final(&connection, &Bufs).await;
        assert_eq!(end.kind(), ErrorKind::Malformed, "{end}");
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_ends_a_connection_for_good() {
    let listener = Tcp::new().listen(LOOPBACK[0].parse().unwrap()).await.unwrap();
    let peer = TcpStream::connect(listener.local_addr().ip("test").unwrap()).unwrap();
    let connection = listener.accept().await.unwrap();
    connection.send(Buf::copy_of(b"never read", 0).unwrap()).await.unwrap();
    // The end of a stream with an unread message is a reset.
    while peer.peek(&mut [0; 1]).is_err() {}
    drop(peer);
    let end = conformance::an_end_is_final(&connection, &Bufs).await;
    assert_eq!(end.kind(), ErrorKind::Reset, "{end}");
    let again = connection.recv().await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Reset, "{again}");
}

#[tokio::test]
async fn unix_on_one_thread() {
    unix(Unix::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unix_on_several_threads() {
    unix(Unix::new()).await;
}

#[tokio::test]
async fn unix_that_polls() {
    for waiting in POLLING {
        unix(Unix::new().waiting(waiting)).await;
    }
}

async fn unix_stream(unix: UnixStream) {
    let site = Site { server: &unix, client: &unix, on: &unix_name };
    conformance::datapath(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
    conformance::a_listener_survives(&site, async |to| {
        let name = to.unix("test").unwrap().to_str().unwrap().strip_prefix('@').unwrap();
        let to = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
        for bytes in garbage() {
            let mut stream = std::os::unix::net::UnixStream::connect_addr(&to).unwrap();
            stream.set_nonblocking(true).unwrap();
            let _some = stream.write(&bytes).unwrap();
        }
    })
    .await;
    let (client, server) = site.connected().await;
    conformance::the_peer_hears_of_a_close(&client, &server, &Bufs).await;
    let (client, server) = site.connected().await;
    conformance::the_peer_hears_of_a_close(&server, &client, &Bufs).await;
}

#[tokio::test]
async fn unix_streams_on_one_thread() {
    unix_stream(UnixStream::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unix_streams_on_several_threads() {
    unix_stream(UnixStream::new()).await;
}

#[tokio::test]
async fn unix_streams_that_poll() {
    for waiting in POLLING {
        unix_stream(UnixStream::new().waiting(waiting)).await;
    }
}

/// Returns both ends of a connection of bytes.
async fn of_bytes<D: Datapath<Chunk>>(datapath: &D, on: Addr) -> (D::Connection, D::Connection)
where
    D::Listener: Listener<Chunk, Connection = D::Connection>,
{
    let listener = datapath.listen(on).await.unwrap();
    let client = datapath.connect(listener.local_addr()).await.unwrap();
    (client, listener.accept().await.unwrap())
}

#[tokio::test]
async fn bytes_over_tcp_on_one_thread() {
    for on in LOOPBACK {
        conformance::bytes(async || of_bytes(&Tcp::new().bytes(), on.parse().unwrap()).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_over_tcp_on_several_threads() {
    for on in LOOPBACK {
        conformance::bytes(async || of_bytes(&Tcp::new().bytes(), on.parse().unwrap()).await).await;
    }
}

#[tokio::test]
async fn bytes_over_tcp_that_polls() {
    for waiting in POLLING {
        let tcp = Tcp::new().waiting(waiting).bytes();
        conformance::bytes(async || of_bytes(&tcp, LOOPBACK[0].parse().unwrap()).await).await;
    }
}

#[tokio::test]
async fn bytes_over_unix_streams_on_one_thread() {
    conformance::bytes(async || of_bytes(&UnixStream::new().bytes(), unix_name()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_over_unix_streams_on_several_threads() {
    conformance::bytes(async || of_bytes(&UnixStream::new().bytes(), unix_name()).await).await;
}
