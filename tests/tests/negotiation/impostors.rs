//! Random bytes, other versions of the protocol, and floods from unknown addresses.

use crate::scene::{A, bytes, client, echo, server, server_addr, simulate};
use bertha_core::{Addr, Connection, Datapath, ErrorKind, make_stack};
use bertha_datapath_sim::{Network, Verdict};
use bertha_negotiation::Negotiate;
use bertha_negotiation::testing::wire::HEADER;
use std::sync::{Arc, Mutex};

#[test]
fn another_version_is_a_typed_error_on_both_sides() {
    simulate(1, async |network: Network| {
        // The client's offers become offers of version 9, with a valid check.
        network.tap(move |datagram| {
            if datagram.payload.first() == Some(&1) {
                let mut offer = datagram.payload.to_vec();
                let end = offer.len() - 4;
                offer[HEADER] = 9;
                let check = crc32fast::hash(&offer[..end]);
                offer[end..].copy_from_slice(&check.to_le_bytes());
                datagram.payload = offer;
            }
            Verdict::Pass
        });
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let stack = make_stack!(A);
        let (at_server, at_client) = futures_util::join!(
            incoming.next_or_refusal(),
            stack.connect(client(&network), server_addr()).into_future()
        );
        let (at_server, at_client) = (at_server.unwrap().err().unwrap(), at_client.err().unwrap());
        assert_eq!((at_server.kind(), at_client.kind()), (ErrorKind::Version, ErrorKind::Version));
        assert!(at_client.to_string().contains("version 9"), "{at_client}");
        assert_eq!(at_client.to_string(), at_server.to_string());
    });
}

#[test]
fn garbage_from_strangers_does_not_end_a_listener() {
    simulate(2, async |network: Network| {
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let record = recorded.clone();
        network.tap(move |datagram| {
            record.lock().unwrap().push(datagram.payload.to_vec());
            Verdict::Pass
        });
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let connection = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        network.untap();
        let templates = std::mem::take(&mut *recorded.lock().unwrap());

        let stranger = network.host([10, 0, 0, 3]);
        for round in 0..2000usize {
            let base = stranger.connect(server_addr()).await.unwrap();
            let mut payload = templates[round % templates.len()].clone();
            let at = round % payload.len();
            payload[at] = payload[at].wrapping_add(1 + (round / 256) as u8);
            payload.truncate(1 + round % (payload.len() + 20));
            base.send(bytes(&payload)).await.unwrap();
            if round % 100 == 0 {
                base.send(bytes(&vec![0xff; 65_507])).await.unwrap();
                connection.send(bytes(&[round as u8])).await.unwrap();
                assert_eq!(*connection.recv().await.unwrap(), [round as u8]);
            }
        }
        let late = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        late.send(bytes(b"hello")).await.unwrap();
        assert_eq!(*late.recv().await.unwrap(), *b"hello");
    });
}

#[test]
fn a_server_never_answers_with_more_than_it_was_sent() {
    simulate(3, async |network: Network| {
        let sizes = Arc::new(Mutex::new((0, 0)));
        let count = sizes.clone();
        let listening: Addr = server_addr();
        let listening = listening.ip("test").unwrap();
        network.tap(move |datagram| {
            let mut sizes = count.lock().unwrap();
            if datagram.to == listening {
                sizes.0 += datagram.payload.len();
            } else {
                sizes.1 += datagram.payload.len();
            }
            Verdict::Pass
        });
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        // A sender can make these messages without knowing a valid offer.
        for kind in 0..=255u8 {
            for len in [1, HEADER, HEADER + 1, 24] {
                let stranger = network.host([10, 0, 0, 3]).connect(server_addr()).await.unwrap();
                let mut payload = vec![7; len];
                payload[0] = kind;
                stranger.send(bytes(&payload)).await.unwrap();
            }
        }
        let probe = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        drop(probe);
        let (received, sent) = *sizes.lock().unwrap();
        assert!(sent > 0 && sent <= received, "{sent} bytes sent for {received} received");
    });
}
