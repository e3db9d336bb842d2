//! Clients whose address changes, since a NAT has given them another port, and servers that restart: the guide
//! `errors` says how such a connection ends.

use crate::lines::Lines;
use crate::secured::scene::{CLIENT, Hosts, Out, SERVER, Subject, over_datagrams};
use bertha_chunnels::{Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs, Messages};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, ErrorKind, Runtime, make_stack, select};
use bertha_datapath_kernel::Udp;
use bertha_datapath_sim::{Network, SimDatapath, SimTask, Verdict};
use bertha_negotiation::{Credentials, Negotiate, Runs, Settings, SharedKey};
use futures_util::FutureExt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

const IDLE: Duration = Duration::from_secs(5);

const PORT: u16 = 4242;

const OBSERVER: [u8; 4] = [10, 0, 0, 3];

/// The event after which the server does not know the client's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Moves,
    Restarts,
}

/// Starts a server, and returns its task and its connections.
async fn serve<S>(hosts: &Hosts, stack: S, settings: Settings) -> (SimTask, UnboundedReceiver<Out<S>>)
where
    S: Negotiate + Send + Sync + 'static,
    SimDatapath: Runs<S>,
{
    let mut incoming = stack.listen(hosts.server.clone(), (SERVER, PORT)).settings(settings).await.unwrap();
    let (accepted, connections) = unbounded_channel();
    let task = hosts.network.runtime().spawn(async move {
        while let Some(client) = incoming.next_or_refusal().await {
            if let Ok(client) = client {
                let _ = accepted.send(client);
            }
        }
    });
    (task, connections)
}

/// Lets the messages of a client come from another port, and those to this port go to the client. A message that goes to the
/// client's own port, or to an earlier one, is lost.
fn moves(network: &Network, client: Addr, by: u16) {
    let old = client.ip("test").unwrap();
    let mut new = old;
    new.set_port(old.port() ^ by);
    network.tap(move |datagram| {
        if datagram.from == old {
            datagram.from = new;
        } else if datagram.to == new {
            datagram.to = old;
        } else if datagram.to.ip() == old.ip() {
            return Verdict::Drop;
        }
        Verdict::Pass
    });
}

/// Returns the kind of the client's end after the event, and, if the client moves, of the server's end. Each
/// end comes within the idle time-out and its tenth.
async fn ends<S, C>(
    hosts: &Hosts,
    server: impl Fn() -> S,
    client: C,
    settings: &Settings,
    event: Event,
) -> (ErrorKind, Option<ErrorKind>)
where
    S: Negotiate + Send + Sync + 'static,
    C: Negotiate + Sync,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>> + Runs<C, Out: Connection<Data = Buf>>,
{
    let network = &hosts.network;
    let (mut task, mut connections) = serve(hosts, server(), settings.clone()).await;
    let here = client.connect(hosts.client.clone(), (SERVER, PORT)).settings(settings.clone()).await.unwrap();
    let there = connections.recv().await.unwrap();
    conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    let there = match event {
        Event::Moves => {
            moves(network, here.base().local_addr(), 1);
            Some(there)
        }
        Event::Restarts => {
            // The server is killed: no message of its dropped connection gets out.
            network.cut_one_way(SERVER, CLIENT);
            drop((there, task));
            network.restart(SERVER);
            network.heal_all();
            (task, connections) = serve(hosts, server(), settings.clone()).await;
            None
        }
    };
    let start = network.runtime().now();
    here.send(Bufs.make(&here, 7)).await.unwrap();
    let at_client = conformance::an_end_is_final(&here, &Bufs).await;
    let at_server = match &there {
        Some(there) => Some(conformance::an_end_is_final(there, &Bufs).await.kind()),
        None => None,
    };
    assert!(network.runtime().now() - start <= 2 * (IDLE + IDLE / 10), "{event:?}: {at_client}");
    network.untap();
    drop((task, connections));
    (at_client.kind(), at_server)
}

fn settings() -> Settings {
    Settings::default().idle_timeout(IDLE)
}

/// The server replies to messages of a connection that it does not know, and the client believes the reply.
#[test]
fn a_transport_without_credentials_is_reset() {
    over_datagrams(async |hosts| {
        let stack = || make_stack!(Ordered::new(), Reliable::new());
        let moved = ends(hosts, stack, stack(), &settings(), Event::Moves).await;
        assert_eq!(moved, (ErrorKind::Reset, Some(ErrorKind::TimedOut)));
        let restarted = ends(hosts, stack, stack(), &settings(), Event::Restarts).await;
        assert_eq!(restarted, (ErrorKind::Reset, None));
    });
}

/// With credentials the server proves a reset, and the proof is bound to the addresses of both ends.
#[test]
fn a_transport_with_credentials_is_reset_by_a_restarted_server() {
    over_datagrams(async |hosts| {
        let stack = || make_stack!(Ordered::new(), Reliable::new());
        let mut settings = settings();
        settings.credentials = Credentials::shared(SharedKey::new([7; 32]));
        let moved = ends(hosts, stack, stack(), &settings, Event::Moves).await;
        assert_eq!(moved, (ErrorKind::TimedOut, Some(ErrorKind::TimedOut)));
        let restarted = ends(hosts, stack, stack(), &settings, Event::Restarts).await;
        assert_eq!(restarted, (ErrorKind::Reset, None));
    });
}

/// The server resets a connection of its earlier life by a token that its identity gives.
#[test]
fn quic_is_reset_by_a_restarted_server() {
    over_datagrams(async |hosts| {
        let party = Subject::new("server");
        let mut secret = settings();
        secret.credentials = Credentials::shared(SharedKey::new([7; 32]));
        for settings in [settings(), secret] {
            let restarted = ends(hosts, || party.server(), party.client(), &settings, Event::Restarts).await;
            assert_eq!(restarted, (ErrorKind::Reset, None));
        }
    });
}

/// A server with another identity has no token that the client believes.
#[test]
fn quic_is_not_reset_by_another_identity() {
    over_datagrams(async |hosts| {
        let party = Subject::new("server");
        let lives = std::cell::Cell::new(0);
        let server = || {
            lives.set(lives.get() + 1);
            if lives.get() == 1 { party.server() } else { Subject::new("server").server() }
        };
        let restarted = ends(hosts, server, party.client(), &settings(), Event::Restarts).await;
        assert_eq!(restarted, (ErrorKind::TimedOut, None));
    });
}

/// The client moves twice, and is silent at each earlier address for longer than the idle time-out.
#[test]
fn quic_follows_a_client_that_moves() {
    over_datagrams(async |hosts| {
        let party = Subject::new("server");
        let mut secret = settings();
        secret.credentials = Credentials::shared(SharedKey::new([7; 32]));
        for settings in [settings(), secret] {
            let either = |quic| select!(quic, make_stack!(Ordered::new(), Reliable::new()));
            let (_task, mut connections) = serve(hosts, either(party.server()), settings.clone()).await;
            let stack = either(party.client());
            let here = stack.connect(hosts.client.clone(), (SERVER, PORT)).settings(settings).await.unwrap();
            let there = connections.recv().await.unwrap();
            for port in 1..=2 {
                moves(&hosts.network, here.base().local_addr(), port);
                let start = hosts.network.runtime().now();
                while hosts.network.runtime().now() - start < 3 * IDLE {
                    conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
                    hosts.network.runtime().sleep(IDLE / 4).await;
                }
            }
            // A connection that is quiet goes on as well.
            hosts.network.runtime().sleep(3 * IDLE).await;
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
            let (closed, end) = futures_util::join!(here.close(), there.recv());
            closed.unwrap();
            assert_eq!(end.unwrap_err().kind(), ErrorKind::Closed);
            hosts.network.untap();
        }
    });
}

/// The new address stands in the events of the server, and the old address beside it.
#[test]
fn the_server_tells_the_addresses_of_a_client_that_moves() {
    let follows = "negotiation: a client goes on at another address";
    let moved = "quic: the client sends from another address";
    over_datagrams(async |hosts| {
        let (lines, _guard) = Lines::capture();
        let told = |texts: &[&str]| lines.with(&[&["DEBUG", "bertha::"], texts].concat());
        let party = Subject::new("server");
        let (_task, mut connections) = serve(hosts, party.server(), settings()).await;
        let stack = party.client();
        let connecting = stack.connect(hosts.client.clone(), (SERVER, PORT)).settings(settings());
        let here = connecting.await.unwrap();
        let there = connections.recv().await.unwrap();
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        assert_eq!((told(&[follows]).len(), told(&[moved]).len()), (0, 0), "it has not moved");
        let before = here.base().local_addr().ip("test").unwrap().port();
        moves(&hosts.network, here.base().local_addr(), 1);
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        hosts.network.untap();
        let peer = format!("peer=10.0.0.1:{}", before ^ 1);
        let before = format!("before=10.0.0.1:{before}");
        let told = [told(&[follows, &peer]), told(&[moved, &peer, &before])].map(|events| events.len());
        assert_eq!(told, [1, 1], "{peer} {before}: {:#?}", lines.with(&["another address"]));
    });
}

/// An observer sends what it has seen from an address of its own. It gets no reset, and the connection goes on.
#[test]
fn an_observer_of_quic_ends_nothing() {
    over_datagrams(async |hosts| {
        let network = &hosts.network;
        let party = Subject::new("server");
        let (_task, mut connections) = serve(hosts, party.server(), settings()).await;
        let stack = party.client();
        let here = stack.connect(hosts.client.clone(), (SERVER, PORT)).settings(settings()).await.unwrap();
        let there = connections.recv().await.unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = seen.clone();
        let from = here.base().local_addr().ip("test").unwrap();
        network.tap(move |datagram| {
            if datagram.from == from {
                all.lock().unwrap().push(datagram.payload.clone());
            }
            Verdict::Pass
        });
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        network.untap();
        // A copy that overtakes its original would be a packet of a client that has moved, and QUIC would ask the new address.
        network.runtime().sleep(Duration::from_millis(1)).await;
        let observers: Vec<_> = (0..10).map(|_| network.host(OBSERVER)).collect();
        let mut wires = Vec::new();
        for observer in &observers {
            let wire = observer.connect((SERVER, PORT).into()).await.unwrap();
            let seen = seen.lock().unwrap().clone();
            for bytes in &seen {
                // One packet as it was, and one that only begins as it did.
                wire.send(Buf::copy_of(bytes, 0).unwrap()).await.unwrap();
                let mut other = Buf::copy_of(bytes, 0).unwrap();
                let last = other.len() - 1;
                other[last] ^= 1;
                wire.send(other).await.unwrap();
            }
            wires.push(wire);
        }
        network.runtime().sleep(Duration::from_millis(100)).await;
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        let header = seen.lock().unwrap()[0][..8].to_vec();
        for wire in &wires {
            while let Some(Ok(reply)) = wire.recv().now_or_never() {
                assert!(!reply.starts_with(&header), "QUIC has replied by {} bytes", reply.len());
            }
        }
        let start = network.runtime().now();
        while network.runtime().now() - start < 3 * IDLE {
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
            network.runtime().sleep(IDLE / 4).await;
        }
    });
}

/// Passes datagrams between a client and a server, and takes another socket towards the server each time that the number changes.
async fn pass_on(near: Arc<UdpSocket>, server: SocketAddr, place: watch::Receiver<usize>) {
    let mut place = place;
    let mut client = None;
    loop {
        let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        place.borrow_and_update();
        let (mut there, mut back) = ([0; 65_536], [0; 65_536]);
        loop {
            tokio::select! {
                _ = place.changed() => break,
                received = near.recv_from(&mut there) => {
                    let (len, from) = received.unwrap();
                    client = Some(from);
                    far.send_to(&there[..len], server).await.unwrap();
                }
                received = far.recv_from(&mut back) => {
                    let (len, _) = received.unwrap();
                    near.send_to(&back[..len], client.unwrap()).await.unwrap();
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quic_follows_a_client_over_udp() {
    let party = Subject::new("server");
    let settings = Settings::default().idle_timeout(Duration::from_secs(1));
    let listening = party.server().listen(Udp::new(), "127.0.0.1:0".parse::<Addr>().unwrap());
    let mut incoming = listening.settings(settings.clone()).await.unwrap();
    let server = incoming.local_addr().ip("test").unwrap();
    let near = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let to: Addr = near.local_addr().unwrap().into();
    let (moves, place) = watch::channel(0);
    let passing = tokio::spawn(pass_on(near, server, place));
    let (accepted, mut connections) = unbounded_channel();
    let accepting = tokio::spawn(async move {
        while let Some(client) = incoming.next_or_refusal().await {
            let _ = accepted.send(client);
        }
    });
    let here = party.client().connect(Udp::new(), to).settings(settings).await.unwrap();
    let there = connections.recv().await.unwrap().unwrap();
    for place in 1..=2 {
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        moves.send(place).unwrap();
        for _ in 0..8 {
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
    let (closed, end) = futures_util::join!(here.close(), there.recv());
    closed.unwrap();
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Closed);
    passing.abort();
    accepting.abort();
}
