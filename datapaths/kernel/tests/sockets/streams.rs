//! TCP over the loopback interface, and Unix datagram sockets.

use bertha_core::{Base, Buf, Connection, Datapath, ErrorKind, Listener, Properties, Statistics};
use bertha_datapath_kernel::{DatagramStatistics, StreamStatistics, Tcp, Udp, Unix, UnixStream};
use futures_util::FutureExt;
use rustix::process::{Resource, Rlimit, setrlimit};
use socket2::{Domain, Socket, Type};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 31 + at) as u8).collect()
}

fn message(connection: &impl Connection, bytes: &[u8]) -> Buf {
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

fn abstract_name() -> bertha_core::Addr {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("unix:@bertha-test-{}-{number}", std::process::id()).parse().unwrap()
}

async fn pair<D: Datapath>(
    datapath: &D,
    on: bertha_core::Addr,
) -> (D::Listener, D::Connection, D::Connection) {
    let listener = datapath.listen(on).await.unwrap();
    let client = datapath.connect(listener.local_addr()).await.unwrap();
    client.send(message(&client, b"hello")).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"hello");
    assert_eq!(server.base().peer_addr(), client.base().local_addr());
    assert_eq!(client.base().peer_addr(), listener.local_addr());
    (listener, client, server)
}

/// Sends a burst of messages of these lengths while the peer receives it, and checks content and order.
async fn exchange<C: Connection<Data = Buf>>(from: &C, to: &C, lengths: &[usize]) {
    let burst = lengths.iter().enumerate().map(|(n, &len)| message(from, &content(n, len)));
    let mut received = Vec::new();
    let receive = async {
        while received.len() < lengths.len() {
            assert!(to.recv_batch(&mut received, 50).await.unwrap() > 0);
        }
    };
    let (sent, ()) = tokio::join!(from.send_batch(burst), receive);
    sent.unwrap();
    for (n, (&len, message)) in lengths.iter().zip(&received).enumerate() {
        assert_eq!(&**message, &content(n, len), "message {n}");
    }
}

async fn exchange_all<D: Datapath>(datapath: &D, on: bertha_core::Addr, largest: usize) {
    let (_listener, client, server) = pair(datapath, on).await;
    for count in [1, 2, 31, 32, 33, 200] {
        for len in [0, 1, 64, 2049] {
            exchange(&client, &server, &vec![len; count]).await;
            exchange(&server, &client, &vec![len; count]).await;
        }
        let unequal: Vec<_> = (0..count).map(|n| n * 97 % 5000).collect();
        exchange(&client, &server, &unequal).await;
        exchange(&server, &client, &unequal).await;
    }
    exchange(&client, &server, &[largest, 1, largest]).await;
    exchange(&server, &client, &[largest, 1, largest]).await;
    let oversize = Buf::new(client.base().mtu() + 1, 0).unwrap();
    assert_eq!(client.send(oversize).await.unwrap_err().kind(), ErrorKind::TooLarge);
    exchange(&client, &server, &[1]).await;
}

#[tokio::test]
async fn bursts_arrive_over_tcp() {
    for on in ["127.0.0.1:0", "[::1]:0"] {
        exchange_all(&Tcp::new(), on.parse().unwrap(), 1 << 20).await;
        exchange_all(&Tcp::new().send_buffer(4096).receive_buffer(4096), on.parse().unwrap(), 100_000).await;
    }
}

#[tokio::test]
async fn bursts_arrive_over_unix() {
    exchange_all(&Unix::new(), abstract_name(), 65_536).await;
}

async fn closing<D: Datapath>(datapath: D, on: bertha_core::Addr) {
    let (_listener, client, server) = pair(&datapath, on).await;
    for connection in [client, server] {
        let mut waiting = std::pin::pin!(connection.recv());
        assert!(waiting.as_mut().now_or_never().is_none_or(|early| early.is_err()));
        connection.close().await.unwrap();
        assert_eq!(connection.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        let late = message(&connection, b"late");
        assert_eq!(connection.send(late).await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn closing_ends_a_connection() {
    closing(Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    closing(Unix::new(), abstract_name()).await;
}

async fn echo_many<D: Datapath + Clone>(datapath: D, on: bertha_core::Addr) {
    let listener = datapath.listen(on).await.unwrap();
    let addr = listener.local_addr();
    tokio::spawn(async move {
        loop {
            let connection = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut messages = Vec::new();
                while connection.recv_batch(&mut messages, 32).await.is_ok() {
                    connection.send_batch(messages.drain(..)).await.unwrap();
                }
            });
        }
    });
    let clients: Vec<_> = (0..50)
        .map(|number| {
            let (datapath, addr) = (datapath.clone(), addr.clone());
            tokio::spawn(async move {
                let client = datapath.connect(addr).await.unwrap();
                for round in 0..50 {
                    let bytes = content(number * 50 + round, 64);
                    client.send(message(&client, &bytes)).await.unwrap();
                    assert_eq!(&*client.recv().await.unwrap(), &bytes);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_clients_on_several_threads() {
    echo_many(Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    echo_many(Unix::new(), abstract_name()).await;
}

#[tokio::test]
async fn many_clients_on_one_thread() {
    echo_many(Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    echo_many(Unix::new(), abstract_name()).await;
}

#[tokio::test]
async fn tcp_tells_the_other_end_and_delivers_what_was_sent_before() {
    let (_listener, client, server) = pair(&Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    client.send(message(&client, b"last")).await.unwrap();
    client.close().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"last");
    assert_eq!(server.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(client.base().properties(), Properties::STREAM);
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable() {
    // No program gets this port by chance.
    let nobody = "127.0.0.1:1".parse().unwrap();
    assert_eq!(Tcp::new().connect(nobody).await.unwrap_err().kind(), ErrorKind::Unreachable);
    let error = Unix::new().connect("unix:/nowhere/at/all".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

#[tokio::test]
async fn a_message_beyond_the_largest_ends_the_stream() {
    let listener = Tcp::new().largest(100).listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let mut stream = std::net::TcpStream::connect(listener.local_addr().ip("test").unwrap()).unwrap();
    stream.write_all(b"\0\0\0\x02ok\0\0\0\x65").unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"ok");
    for _ in 0..2 {
        assert_eq!(server.recv().await.unwrap_err().kind(), ErrorKind::Malformed);
    }
}

#[tokio::test]
async fn a_cancelled_send_leaves_no_half_message() {
    let datapath = Tcp::new().send_buffer(4096).receive_buffer(4096);
    let (_listener, client, server) = pair(&datapath, "127.0.0.1:0".parse().unwrap()).await;
    // The message is far larger than the buffers: the stream has taken a part of it when the future is
    // dropped.
    let large = content(7, 4 << 20);
    assert!(client.send(message(&client, &large)).now_or_never().is_none());
    let receive = async {
        assert!(*server.recv().await.unwrap() == large[..], "the rest goes out first");
        assert_eq!(&*server.recv().await.unwrap(), b"after");
    };
    let (sent, ()) = tokio::join!(client.send(message(&client, b"after")), receive);
    sent.unwrap();
    assert!(client.send(message(&client, &large)).now_or_never().is_none());
    let (closed, received) = tokio::join!(client.close(), server.recv());
    closed.unwrap();
    assert!(*received.unwrap() == large[..], "closing sends the rest");
}

#[tokio::test]
async fn a_socket_file_is_removed_with_its_last_user() {
    let path = std::env::temp_dir().join(format!("bertha-unix-{}.sock", std::process::id()));
    let (listener, client, server) = pair(&Unix::new(), path.clone().into()).await;
    let error = Unix::new().listen(path.clone().into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    drop(listener);
    assert!(path.exists());
    client.send(message(&client, b"still")).await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"still");
    drop(server);
    assert!(!path.exists());
    assert_eq!(client.send(message(&client, b"gone")).await.unwrap_err().kind(), ErrorKind::Unreachable);
}

#[tokio::test]
async fn an_oversize_datagram_does_not_end_a_unix_listener() {
    let (listener, client, server) = pair(&Unix::new(), abstract_name()).await;
    let stranger = std::os::unix::net::UnixDatagram::unbound().unwrap();
    let name = listener.local_addr();
    let name = name.unix("test").unwrap().to_str().unwrap();
    let addr = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
        &name[1..],
    );
    stranger.send_to_addr(&vec![0; 65_537], &addr.unwrap()).unwrap();
    client.send(message(&client, b"next")).await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"next");
    assert_eq!(listener.dropped().oversize, 1);
}

#[tokio::test]
async fn a_port_in_use_is_said_to_be() {
    let listener = Tcp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = Tcp::new().listen(listener.local_addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let listener = Udp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = Udp::new().listen(listener.local_addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains("in use"), "{error}");
}

/// Streams whose peers begin a message and do not end it share a bound, and only those that grew the longest ago go beyond it.
#[tokio::test]
async fn unfinished_messages_of_a_listener_keep_to_its_memory() {
    const STRANGERS: usize = 40;
    let datapath = Tcp::new().unfinished(2 << 20);
    let listener = datapath.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let addr = listener.local_addr().ip("test").unwrap();
    let (mut strangers, mut ends) = (tokio::task::JoinSet::new(), tokio::task::JoinSet::new());
    for _ in 0..STRANGERS {
        let stream = std::net::TcpStream::connect(addr).unwrap();
        let server = listener.accept().await.unwrap();
        ends.spawn(async move { server.recv().await.map(drop).unwrap_err() });
        strangers.spawn_blocking(move || {
            let mut stream = stream;
            stream.write_all(&(1_u32 << 20).to_be_bytes()).unwrap();
            // It may be ended meanwhile.
            let _ = stream.write_all(&[7; 200_000]);
            stream
        });
    }
    let _strangers = strangers.join_all().await;
    // No more than ten have what they were sent.
    for _ in 0..STRANGERS - 10 {
        let end = ends.join_next().await.unwrap().unwrap();
        assert_eq!(end.kind(), ErrorKind::Reset, "{end}");
        assert!(end.context().contains("unfinished messages"), "{end}");
    }
    assert!(listener.abandoned() >= STRANGERS as u64 - 10);
    // Whoever ends a message is served, also beside the others.
    let client = datapath.connect(listener.local_addr()).await.unwrap();
    let server = listener.accept().await.unwrap();
    exchange(&client, &server, &[900_000, 5, 900_000]).await;
}

#[tokio::test]
async fn a_limit_of_received_messages_holds_until_it_is_lifted() {
    let (_listener, client, server) = pair(&Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    server.base().limit_received(100);
    exchange(&client, &server, &[100, 0, 100]).await;
    server.base().limit_received(usize::MAX);
    exchange(&client, &server, &[100_000]).await;
    server.base().limit_received(100);
    client.send(message(&client, &[1; 101])).await.unwrap();
    assert_eq!(server.recv().await.unwrap_err().kind(), ErrorKind::Malformed);
}

/// The timers of the sockets at 127.0.0.1 with this local port, as the system shows them: 2 is the one of `SO_KEEPALIVE`.
/// Other tests have sockets with this port at other addresses.
fn timers(port: u16) -> BTreeSet<String> {
    let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let fields = sockets.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let local = format!("0100007F:{port:04X}");
    let connected = fields.filter(|fields| fields[1] == local && fields[3] == "01");
    connected.map(|fields| fields[5][..2].to_owned()).collect()
}

#[tokio::test]
async fn silent_peers_are_asked_for_a_keep_alive_unless_that_is_turned_off() {
    for (datapath, timer) in [(Tcp::new(), "02"), (Tcp::new().keep_alive(None), "00")] {
        let (listener, client, _server) = pair(&datapath, "127.0.0.1:0".parse().unwrap()).await;
        for end in [client.base().local_addr(), listener.local_addr()] {
            let port = end.ip("test").unwrap().port();
            // Until what was sent is acknowledged, another timer runs.
            while timers(port).iter().any(|timer| !["00", "02"].contains(&&**timer)) {
                tokio::task::yield_now().await;
            }
            assert_eq!(timers(port), BTreeSet::from([timer.to_owned()]), "{end}");
        }
    }
}

/// Set in the process whose descriptors the test below uses up.
const FEW_DESCRIPTORS: &str = "BERTHA_TEST_FEW_DESCRIPTORS";

/// A listener that found no spare descriptor gets one again as soon as the process has one, and turns away the clients for which
/// there is none for long.
#[test]
fn a_listener_without_a_spare_descriptor_gets_one_again() {
    if std::env::var_os(FEW_DESCRIPTORS).is_none() {
        let mut this = std::process::Command::new(std::env::current_exe().unwrap());
        this.args([
            "--exact",
            "streams::a_listener_without_a_spare_descriptor_gets_one_again",
            "--nocapture",
        ]);
        let output = this.env(FEW_DESCRIPTORS, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let [waiting, late, last, behind] = [client(), client(), client(), client()];
        let limit = Rlimit { current: Some(64), maximum: Some(64) };
        setrlimit(Resource::Nofile, limit).unwrap();
        let mut others: Vec<_> = all_descriptors().collect();
        // The socket of the listener takes the only one that is left.
        others.pop();
        let listener = Tcp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().ip("test").unwrap().into();
        waiting.connect(&address).unwrap();
        for _ in 0..10 {
            assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::Exhausted);
        }
        // The next descriptor is the client's, which is held until there is a spare one too.
        others.pop();
        assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::Exhausted);
        others.pop();
        let connection = listener.accept().await.unwrap();
        (&waiting).write_all(&[0, 0, 0, 1, 7]).unwrap();
        assert_eq!(*connection.recv().await.unwrap(), [7]);
        assert_eq!(listener.turned_away(), 0);
        // No descriptor is left but the spare one.
        late.connect(&address).unwrap();
        while listener.turned_away() == 0 {
            assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::Exhausted);
        }
        assert!(has_ended(&late));
        // A client that has got the last descriptor is not held for ever.
        drop(listener);
        others.extend(all_descriptors());
        others.pop();
        let listener = Tcp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        for client in [&last, &behind] {
            client.connect(&listener.local_addr().ip("test").unwrap().into()).unwrap();
        }
        others.pop();
        while listener.turned_away() == 0 {
            assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::Exhausted);
        }
        assert!(has_ended(&last));
        // Its descriptor is the spare one, and the client behind it gets the next.
        assert_eq!(listener.turned_away(), 1);
        others.pop();
        let connection = listener.accept().await.unwrap();
        (&behind).write_all(&[0, 0, 0, 1, 8]).unwrap();
        assert_eq!(*connection.recv().await.unwrap(), [8]);
    });
}

/// Takes all descriptors that the process has left.
fn all_descriptors() -> impl Iterator<Item = std::fs::File> {
    std::iter::from_fn(|| std::fs::File::open("/dev/null").ok())
}

/// Returns true if the peer ends the stream.
fn has_ended(mut stream: &Socket) -> bool {
    matches!(stream.read(&mut [0]), Ok(0) | Err(_))
}

fn told<T: bertha_core::statistics::LayerStatistics + Clone>(connection: &impl Connection) -> T {
    let mut statistics = Statistics::default();
    connection.observe(&mut statistics);
    statistics.get::<T>().unwrap().clone()
}

async fn tells_a_slow_receiver<D: Datapath>(datapath: &D, on: bertha_core::Addr) -> StreamStatistics {
    let (_listener, client, server) = pair(datapath, on).await;
    let idle: [StreamStatistics; 2] = [told(&client), told(&server)];
    assert!(idle.iter().all(|it| !it.is_full && it.to_receive_bytes == Some(0)), "{idle:?}");
    // The kernel moves bytes to the peer behind the call that found no room.
    for _ in 0..20 {
        while client.send(message(&client, &[7; 50_000])).now_or_never().is_some() {}
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let (here, there): (StreamStatistics, StreamStatistics) = (told(&client), told(&server));
    assert!(here.is_full && here.to_receive_bytes == Some(0), "{here:?}");
    assert!(!there.is_full && there.to_receive_bytes > Some(0), "{there:?}");
    assert!(here.send_buffer > Some(0) && here.receive_buffer > Some(0), "{here:?}");
    here
}

#[tokio::test]
async fn a_receiver_that_does_not_receive_is_seen_in_the_statistics_of_both_ends() {
    let tcp = tells_a_slow_receiver(&Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    assert!(tcp.segment > Some(500), "{tcp:?}");
    assert!(tcp.congestion.is_some_and(|name| name.chars().all(|it| it.is_ascii_graphic())));
    let unix = tells_a_slow_receiver(&UnixStream::new(), abstract_name()).await;
    assert_eq!((unix.segment, unix.congestion), (None, None));
}

#[tokio::test]
async fn datagrams_that_a_full_queue_drops_are_in_the_statistics() {
    let udp = Udp::new().queue(2);
    let (listener, client, server) = pair(&udp, "127.0.0.1:0".parse().unwrap()).await;
    assert_eq!(told::<DatagramStatistics>(&server).counters.dropped(), 0);
    for _ in 0..5 {
        client.send(message(&client, b"unread")).await.unwrap();
    }
    // The call for the second connection receives for the first, whose queue has room for two messages.
    let second = udp.connect(listener.local_addr()).await.unwrap();
    second.send(message(&second, b"second")).await.unwrap();
    assert_eq!(&*listener.accept().await.unwrap().recv().await.unwrap(), b"second");
    let counters = told::<DatagramStatistics>(&server).counters;
    assert_eq!((counters.overflow, counters.dropped()), (3, 3), "{counters:?}");
    assert!(told::<DatagramStatistics>(&client).receive_buffer > Some(0));
}
