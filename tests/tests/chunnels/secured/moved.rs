//! Clients whose address changes, since a NAT has given them another port, and servers that restart: the guide
//! `errors` says how such a connection ends.

use crate::secured::scene::{CLIENT, Hosts, Out, SERVER, Subject, over_datagrams};
use bertha_chunnels::{Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs, Messages};
use bertha_core::{Base, Buf, Connection, ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::{SimDatapath, SimTask, Verdict};
use bertha_negotiation::{Credentials, Negotiate, Runs, Settings, SharedKey};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const IDLE: Duration = Duration::from_secs(5);

const PORT: u16 = 4242;

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
        while let Some(client) = incoming.next().await {
            if let Ok(client) = client {
                let _ = accepted.send(client);
            }
        }
    });
    (task, connections)
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
            let old = here.base().local_addr().ip("test").unwrap();
            let mut new = old;
            new.set_port(old.port() ^ 1);
            network.tap(move |datagram| {
                if datagram.from == old {
                    datagram.from = new;
                } else if datagram.to == new {
                    datagram.to = old;
                }
                Verdict::Pass
            });
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

/// A server that has forgotten the connection has no proof, so the client believes no reset.
#[test]
fn quic_without_credentials_times_out() {
    over_datagrams(async |hosts| {
        let party = Subject::new("server");
        for (event, at_server) in [(Event::Moves, Some(ErrorKind::TimedOut)), (Event::Restarts, None)] {
            let ended = ends(hosts, || party.server(), party.client(), &settings(), event).await;
            assert_eq!(ended, (ErrorKind::TimedOut, at_server));
        }
    });
}

/// Credentials beside `Quic` let a restarted server prove a reset.
#[test]
fn quic_with_credentials_is_reset_by_a_restarted_server() {
    over_datagrams(async |hosts| {
        let party = Subject::new("server");
        let mut settings = settings();
        settings.credentials = Credentials::shared(SharedKey::new([7; 32]));
        let restarted = ends(hosts, || party.server(), party.client(), &settings, Event::Restarts).await;
        assert_eq!(restarted, (ErrorKind::Reset, None));
    });
}
