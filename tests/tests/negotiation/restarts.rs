//! Peers that restart, and messages from before the restart.

use crate::scene::{A, CLIENT, SERVER, bytes, client, echo, server, server_addr, simulate};
use bertha_core::{Connection, Describe, ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::Negotiate;
use bertha_negotiation::testing::wire::{self, Kind, Offer, Tag};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn a_restarted_server_resets_its_old_clients() {
    simulate(1, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let connecting = async { make_stack!(A).connect(client(&network), server_addr()).await };
        let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let connected = connected.unwrap();
        // The server is killed without notice: no message of its dropped connection gets out.
        network.cut_one_way(SERVER, CLIENT);
        drop((served, incoming));
        network.restart(SERVER);
        network.heal_all();
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        connected.send(bytes(b"still there?")).await.unwrap();
        assert_eq!(connected.recv().await.unwrap_err().kind(), ErrorKind::Reset);
        let again = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        again.send(bytes(b"hello")).await.unwrap();
        assert_eq!(*again.recv().await.unwrap(), *b"hello");
    });
}

#[test]
fn a_killed_server_is_unreachable() {
    simulate(2, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let connecting = async { make_stack!(A).connect(client(&network), server_addr()).await };
        let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let connected = connected.unwrap();
        network.cut_one_way(SERVER, CLIENT);
        drop((served, incoming));
        network.restart(SERVER);
        network.heal_all();
        connected.send(bytes(b"anyone?")).await.unwrap();
        assert_eq!(connected.recv().await.unwrap_err().kind(), ErrorKind::Unreachable);
    });
}

#[test]
fn a_client_that_restarts_on_its_port_gets_a_new_connection() {
    simulate(3, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let from = client(&network).from_port(5000);
        let connecting = async { make_stack!(A).connect(from.clone(), server_addr()).await };
        let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let (old, connected) = (served.unwrap().unwrap(), connected.unwrap());
        network.cut(CLIENT, SERVER);
        drop(connected);
        network.restart(CLIENT);
        network.heal_all();
        // The server's application waits on the old connection, and accepts new connections meanwhile, as
        // servers do.
        let connecting = async {
            let connected = make_stack!(A).connect(from, server_addr()).await.unwrap();
            connected.send(bytes(b"reborn")).await.unwrap();
            connected
        };
        let (end, served, connected) =
            futures_util::join!(old.recv(), incoming.next_or_refusal(), connecting);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Reset);
        let served = served.unwrap().unwrap();
        assert_eq!(*served.recv().await.unwrap(), *b"reborn");
        served.send(bytes(b"welcome")).await.unwrap();
        assert_eq!(*connected.recv().await.unwrap(), *b"welcome");
        drop(old);
        served.send(bytes(b"still here")).await.unwrap();
        assert_eq!(*connected.recv().await.unwrap(), *b"still here");
    });
}

/// The restarted client's confirmation is lost, and meanwhile an attacker plays back offers of the past.
#[test]
fn offers_that_are_played_back_keep_no_restarted_client_out() {
    simulate(5, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let from = client(&network).from_port(5000);
        let connecting = async { make_stack!(A).connect(from.clone(), server_addr()).await };
        let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let (old, connected) = (served.unwrap().unwrap(), connected.unwrap());
        network.cut(CLIENT, SERVER);
        drop(connected);
        network.restart(CLIENT);
        network.heal_all();
        let (attacker, mut is_lost) = (network.clone(), false);
        network.tap(move |datagram| {
            if datagram.payload[0] != Kind::Confirm as u8 || std::mem::replace(&mut is_lost, true) {
                return Verdict::Pass;
            }
            for id in 1..4 {
                let offer = Offer::new(id, &make_stack!(A).nodes()).unwrap();
                let payload = wire::encode(Kind::Offer, Tag::of(id), &offer).unwrap();
                attacker.inject(&Datagram { payload, ..datagram.clone() }).unwrap();
            }
            Verdict::Drop
        });
        let asking = async {
            let connected = make_stack!(A).connect(from, server_addr()).await.unwrap();
            network.runtime().sleep(Duration::from_millis(10)).await;
            connected.send(bytes(b"reborn")).await.unwrap();
            assert_eq!(*connected.recv().await.unwrap(), *b"welcome");
        };
        let serving = async {
            let served = incoming.next().await.unwrap();
            assert_eq!(*served.recv().await.unwrap(), *b"reborn");
            served.send(bytes(b"welcome")).await.unwrap();
            served
        };
        let (end, _served, ()) = futures_util::join!(old.recv(), serving, asking);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Reset);
    });
}

/// All messages of an earlier connection arrive once more, long after it has ended, at the connection that
/// now has its address.
#[test]
fn late_duplicates_of_an_earlier_connection_change_nothing() {
    simulate(4, async |network: Network| {
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let record = recorded.clone();
        network.tap(move |datagram| {
            record.lock().unwrap().push(datagram.clone());
            Verdict::Pass
        });
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let from = client(&network).from_port(5000);
        let first = make_stack!(A).connect(from.clone(), server_addr()).await.unwrap();
        first.send(bytes(b"old")).await.unwrap();
        assert_eq!(*first.recv().await.unwrap(), *b"old");
        first.close().await.unwrap();
        drop(first);
        // A task holds the port until the server has seen the close.
        network.runtime().sleep_until(network.runtime().now() + Duration::from_millis(1)).await;
        network.untap();

        let second = make_stack!(A).connect(from, server_addr()).await.unwrap();
        let recorded = std::mem::take(&mut *recorded.lock().unwrap());
        assert!(recorded.len() >= 6);
        for datagram in recorded {
            network.inject(&datagram).unwrap();
        }
        let runtime = network.runtime();
        let pause = runtime.sleep_until(runtime.now() + Duration::from_secs(1));
        futures_util::future::select(std::pin::pin!(pause), std::pin::pin!(second.recv())).await;
        for number in 0..10 {
            second.send(bytes(&[number])).await.unwrap();
            assert_eq!(*second.recv().await.unwrap(), [number]);
        }
        assert!(second.dropped() > 0, "what was late is counted");
    });
}
