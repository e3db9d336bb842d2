//! Congestion marks over UDP: the datagrams that may be marked, and the datagrams that are counted as marked.

use bertha_core::{Addr, Base, Buf, Connection, Datapath, EcnMarks, Listener};
use bertha_datapath_kernel::{Udp, UdpConnection};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// The peer, which sees and sets marks.
struct Other {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Other {
    fn bind(on: &str) -> Self {
        // The state belongs to another socket: the other options that it sets leave no room to report marks
        // of coalesced datagrams.
        let state = UdpSocketState::new(UdpSockRef::from(&UdpSocket::bind(on).unwrap())).unwrap();
        let socket = UdpSocket::bind(on).unwrap();
        match socket.local_addr().unwrap() {
            SocketAddr::V4(_) => SockRef::from(&socket).set_recv_tos_v4(true).unwrap(),
            SocketAddr::V6(_) => SockRef::from(&socket).set_recv_tclass_v6(true).unwrap(),
        }
        socket.set_nonblocking(true).unwrap();
        Self { socket, state }
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    /// Receives `count` datagrams, and returns the number of datagrams that may be marked.
    async fn receive(&self, count: usize) -> usize {
        let (mut received, mut markable) = (0, 0);
        let mut bytes = vec![0; 1 << 16];
        while received < count {
            let mut meta = [RecvMeta::default()];
            match self.state.recv(
                UdpSockRef::from(&self.socket),
                &mut [IoSliceMut::new(&mut bytes)],
                &mut meta,
            ) {
                Ok(_) => {
                    let datagrams = meta[0].len.div_ceil(meta[0].stride.max(1));
                    received += datagrams;
                    markable += if meta[0].ecn == Some(EcnCodepoint::Ect0) { datagrams } else { 0 };
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(received, count);
        markable
    }

    fn send(&self, destination: SocketAddr, contents: &[u8], ecn: Option<EcnCodepoint>) {
        let transmit = Transmit { destination, ecn, contents, segment_size: None, src_ip: None };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit).unwrap();
    }
}

/// Sends messages of equal and of different lengths, alone and in bursts, and returns their number.
async fn send_all_ways(connection: &UdpConnection) -> usize {
    let message = |len| Buf::new(len, 0).unwrap();
    connection.send(message(10)).await.unwrap();
    connection.send_batch((0..5).map(|_| message(100))).await.unwrap();
    connection.send_batch((0..5).map(|number| message(100 + number))).await.unwrap();
    11
}

/// Returns a connection of a listener, and its peer, which has sent a message that was received.
async fn accepted(on: &str) -> (UdpConnection, Other) {
    let listener = Udp::new().listen(on.parse::<Addr>().unwrap()).await.unwrap();
    let Addr::Ip(to) = listener.local_addr() else { panic!("no address of IP") };
    let other = Other::bind(on);
    other.send(to, b"hello", None);
    let connection = listener.accept().await.unwrap();
    assert_eq!(&*connection.recv().await.unwrap(), b"hello");
    (connection, other)
}

async fn connected(on: &str) -> (UdpConnection, Other) {
    let other = Other::bind(on);
    (Udp::new().connect(other.address().into()).await.unwrap(), other)
}

#[tokio::test]
async fn datagrams_may_be_marked_while_that_is_on() {
    for on in ["127.0.0.1:0", "[::1]:0"] {
        for (connection, other) in [connected(on).await, accepted(on).await] {
            let count = send_all_ways(&connection).await;
            assert_eq!(other.receive(count).await, 0, "{on}: off at first");
            assert!(connection.base().set_ecn(true));
            let count = send_all_ways(&connection).await;
            assert_eq!(other.receive(count).await, count, "{on}: on");
            assert!(connection.base().set_ecn(false));
            let count = send_all_ways(&connection).await;
            assert_eq!(other.receive(count).await, 0, "{on}: off again");
        }
    }
}

#[tokio::test]
async fn other_connections_of_a_listener_stay_unmarked() {
    let listener = Udp::new().listen("127.0.0.1:0".parse::<Addr>().unwrap()).await.unwrap();
    let Addr::Ip(to) = listener.local_addr() else { panic!("no address of IP") };
    let others = [Other::bind("127.0.0.1:0"), Other::bind("127.0.0.1:0")];
    let mut connections = Vec::new();
    for other in &others {
        other.send(to, b"hello", None);
        connections.push(listener.accept().await.unwrap());
        connections.last().unwrap().recv().await.unwrap();
    }
    assert!(connections[0].base().set_ecn(true));
    for (connection, other, share) in [(&connections[0], &others[0], 1), (&connections[1], &others[1], 0)] {
        let count = send_all_ways(connection).await;
        assert_eq!(other.receive(count).await, share * count);
        for _ in 0..3 {
            other.send(to, b"four", Some(EcnCodepoint::Ce));
            connection.recv().await.unwrap();
        }
        let share = share as u64;
        assert_eq!(connection.base().marks(), EcnMarks { datagrams: 3 * share, bytes: 12 * share });
    }
}

#[tokio::test]
async fn marks_are_counted_from_the_beginning_of_the_count() {
    for on in ["127.0.0.1:0", "[::1]:0"] {
        for (connection, other) in [connected(on).await, accepted(on).await] {
            let Addr::Ip(to) = connection.base().local_addr() else { panic!("no address of IP") };
            let send = |len: usize, ecn| other.send(to, &vec![0; len], ecn);
            send(10, Some(EcnCodepoint::Ce));
            connection.recv().await.unwrap();
            assert_eq!(connection.base().marks(), EcnMarks::default());
            assert!(connection.base().set_ecn(true));
            let mut received = Vec::new();
            // Datagrams come one at a time, and many at once.
            for count in [1, 1, 200] {
                for number in 0..count {
                    send(100, (number % 2 == 0).then_some(EcnCodepoint::Ce));
                    send(100, Some(EcnCodepoint::Ect0));
                }
                received.clear();
                while received.len() < 2 * count {
                    connection.recv_batch(&mut received, 64).await.unwrap();
                }
                assert!(received.iter().all(|message: &Buf| message.len() == 100));
            }
            let marks = connection.base().marks();
            assert_eq!(marks, EcnMarks { datagrams: 102, bytes: 10_200 }, "{on}");
        }
    }
}

#[tokio::test]
async fn a_stream_carries_no_marks() {
    use bertha_datapath_kernel::Tcp;
    let listener = Tcp::new().listen("127.0.0.1:0".parse::<Addr>().unwrap()).await.unwrap();
    let connection = Tcp::new().connect(listener.local_addr()).await.unwrap();
    assert!(!connection.base().set_ecn(true));
    assert_eq!(connection.base().marks(), EcnMarks::default());
}
