//! UDP over the loopback interface.

use bertha_core::{Addr, Base, Buf, Connection, Datapath, ErrorKind, Listener};
use bertha_datapath_kernel::{Udp, UdpConnection, UdpListener, Waiting};
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

fn message(connection: &UdpConnection, bytes: &[u8]) -> Buf {
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

async fn pair_over(udp: &Udp, on: &str) -> (UdpListener, UdpConnection, UdpConnection) {
    let listener = udp.listen(on.parse().unwrap()).await.unwrap();
    let client = udp.connect(listener.local_addr()).await.unwrap();
    client.send(message(&client, b"hello")).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"hello");
    assert_eq!(server.base().peer_addr(), client.base().local_addr());
    (listener, client, server)
}

async fn pair() -> (UdpListener, UdpConnection, UdpConnection) {
    pair_over(&Udp::new(), "127.0.0.1:0").await
}

/// Returns content that differs from number to number, of any length.
fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 31 + at) as u8).collect()
}

/// Sends a burst of messages of these lengths, and checks that all messages arrive, in order among messages
/// of equal length.
async fn exchange(from: &UdpConnection, to: &UdpConnection, lengths: &[usize]) {
    let burst = lengths.iter().enumerate().map(|(n, &len)| message(from, &content(n, len)));
    from.send_batch(burst).await.unwrap();
    let mut received = Vec::new();
    while received.len() < lengths.len() {
        assert!(to.recv_batch(&mut received, lengths.len()).await.unwrap() > 0);
    }
    let mut sent: Vec<_> = lengths.iter().enumerate().map(|(n, &len)| content(n, len)).collect();
    // Stable sorts keep the order of messages of equal length.
    sent.sort_by_key(Vec::len);
    received.sort_by_key(|message| message.len());
    for (n, (sent, received)) in sent.iter().zip(&received).enumerate() {
        assert_eq!(sent, &**received, "message {n} by length of {lengths:?}");
    }
}

#[tokio::test]
async fn bursts_arrive_whole_and_in_order_within_one_length() {
    for on in ["127.0.0.1:0", "[::1]:0"] {
        let (_listener, client, server) = pair_over(&Udp::new(), on).await;
        for count in [1, 2, 3, 31, 32, 33, 64, 65, 200] {
            for len in [1, 64, 1452, 1453, 2049] {
                exchange(&client, &server, &vec![len; count]).await;
                exchange(&server, &client, &vec![len; count]).await;
            }
            let unequal: Vec<_> = (0..count).map(|n| n * 97 % 1500).collect();
            exchange(&client, &server, &unequal).await;
            exchange(&server, &client, &unequal).await;
        }
    }
}

/// The client is connected, so it receives from the address alone to which it has sent.
#[tokio::test]
async fn bursts_of_a_listener_on_all_addresses_leave_from_the_address_of_the_request() {
    for (on, at) in [("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "127.0.0.2"), ("[::]:0", "::1")] {
        let listener = Udp::new().listen(on.parse().unwrap()).await.unwrap();
        let Addr::Ip(bound) = listener.local_addr() else { panic!("no address of IP") };
        let client = Udp::new().connect((at.parse::<IpAddr>().unwrap(), bound.port()).into()).await.unwrap();
        client.send(message(&client, b"hello")).await.unwrap();
        let server = listener.accept().await.unwrap();
        assert_eq!(&*server.recv().await.unwrap(), b"hello");
        for may_be_marked in [false, true] {
            server.base().set_ecn(may_be_marked);
            exchange(&server, &client, &[64; 100]).await;
            exchange(&server, &client, &[7, 64, 64, 1453, 7, 0, 9, 1453]).await;
        }
    }
}

#[tokio::test]
async fn the_largest_datagram_fits_and_no_larger_one() {
    for (on, mtu) in [("127.0.0.1:0", 65_507), ("[::1]:0", 65_527)] {
        let (_listener, client, server) = pair_over(&Udp::new(), on).await;
        assert_eq!(client.base().mtu(), mtu);
        exchange(&client, &server, &[mtu, 0, mtu]).await;
        exchange(&server, &client, &[mtu, 0, mtu]).await;
        let oversize = || Buf::new(mtu + 1, 0).unwrap();
        assert_eq!(client.send(oversize()).await.unwrap_err().kind(), ErrorKind::TooLarge);
        let oversize_buffer = client.base().buffer(mtu + 1).unwrap();
        assert_eq!(client.send(oversize_buffer).await.unwrap_err().kind(), ErrorKind::TooLarge);
        let mut burst = [message(&client, b"before"), oversize(), message(&client, b"after")].into_iter();
        assert_eq!(client.send_batch(&mut burst).await.unwrap_err().kind(), ErrorKind::TooLarge);
        assert_eq!(&*server.recv().await.unwrap(), b"before");
        client.send_batch(burst).await.unwrap();
        assert_eq!(&*server.recv().await.unwrap(), b"after");
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    // No program gets this port by chance.
    let client = Udp::new().connect("127.0.0.1:1".parse().unwrap()).await.unwrap();
    client.send(message(&client, b"anybody?")).await.unwrap();
    assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Unreachable);
}

#[tokio::test]
async fn who_waits_hears_of_each_closed_port() {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = Udp::new().connect(peer.local_addr().unwrap().into()).await.unwrap();
    drop(peer);
    for _ in 0..3 {
        let mut waiting = std::pin::pin!(client.recv());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        client.send(message(&client, b"anybody?")).await.unwrap();
        assert_eq!(waiting.await.unwrap_err().kind(), ErrorKind::Unreachable);
    }
}

#[tokio::test]
async fn closing_wakes_who_waits() {
    let (_listener, client, server) = pair().await;
    for connection in [client, server] {
        let mut waiting = std::pin::pin!(connection.recv());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        connection.close().await.unwrap();
        assert_eq!(waiting.await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(connection.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        let late = message(&connection, b"late");
        assert_eq!(connection.send(late).await.unwrap_err().kind(), ErrorKind::Closed);
        let mut none = Vec::<Buf>::new();
        assert_eq!(connection.recv_batch(&mut none, 4).await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_dropped_connection_is_forgotten_and_its_peer_can_come_again() {
    let (listener, client, server) = pair().await;
    drop(server);
    client.send(message(&client, b"again")).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"again");
}

#[tokio::test]
async fn connections_outlive_their_listener_and_strangers_are_dropped() {
    let (listener, client, server) = pair().await;
    let stranger = Udp::new().connect(listener.local_addr()).await.unwrap();
    drop(listener);
    stranger.send(message(&stranger, b"hello?")).await.unwrap();
    client.send(message(&client, b"still there")).await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"still there");
    server.send(message(&server, b"yes")).await.unwrap();
    assert_eq!(&*client.recv().await.unwrap(), b"yes");
}

#[tokio::test]
async fn sending_goes_on_while_another_task_waits_to_receive() {
    let (_listener, client, server) = pair().await;
    let (received, ()) = tokio::join!(client.recv(), async {
        for _ in 0..100 {
            client.send(message(&client, b"ping")).await.unwrap();
            tokio::task::yield_now().await;
            server.recv().await.unwrap();
        }
        server.send(message(&server, b"done")).await.unwrap();
    });
    assert_eq!(&*received.unwrap(), b"done");
}

/// Runs a hundred clients, each on a task of its own, against a single listener whose connections each have a
/// task too.
async fn a_hundred_clients(udp: Udp) {
    const CLIENTS: usize = 100;
    const ROUNDS: usize = 50;
    let listener = udp.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let addr = listener.local_addr();
    let server = tokio::spawn(async move {
        for _ in 0..CLIENTS {
            let connection = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut messages = Vec::new();
                loop {
                    connection.recv_batch(&mut messages, 32).await.unwrap();
                    connection.send_batch(messages.drain(..)).await.unwrap();
                }
            });
        }
        listener
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (udp, addr) = (udp.clone(), addr.clone());
            tokio::spawn(async move {
                let client = udp.connect(addr).await.unwrap();
                for round in 0..ROUNDS {
                    let bytes = content(number * ROUNDS + round, 64);
                    client.send(message(&client, &bytes)).await.unwrap();
                    assert_eq!(&*client.recv().await.unwrap(), &bytes);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let listener = server.await.unwrap();
    assert_eq!(listener.dropped().dropped(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_clients_on_several_threads() {
    a_hundred_clients(Udp::new()).await;
}

#[tokio::test]
async fn a_hundred_clients_on_one_thread() {
    a_hundred_clients(Udp::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_spinning() {
    a_hundred_clients(Udp::new().waiting(Waiting::Spin)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_spinning_for_a_while() {
    let waiting = Waiting::Adaptive { spin_for: Duration::from_micros(20) };
    a_hundred_clients(Udp::new().waiting(waiting)).await;
}

#[tokio::test]
async fn the_wrong_kind_of_address_is_named() {
    let error = Udp::new().connect(Addr::Unix("/run/x".into())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("unix:/run/x"), "{error}");
    let error = Udp::new().listen("192.0.2.1:1".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("192.0.2.1:1"), "{error}");
}
