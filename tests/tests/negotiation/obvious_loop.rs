//! The loop that a newcomer writes serves on past clients that get no connection.

use crate::scene::{client, server, server_addr, simulate};
use bertha_chunnels::{Checksum, Nothing};
use bertha_core::{ErrorKind, make_stack};
use bertha_datapath_sim::Network;
use bertha_negotiation::Negotiate;

#[test]
fn a_refused_client_ends_no_loop_and_is_counted_by_its_error() {
    let statistics = simulate(1, async |network: Network| {
        let mut incoming = make_stack!(Nothing).listen(server(&network), server_addr()).await.unwrap();
        let clients = async {
            for _ in 0..2 {
                let other = make_stack!(Checksum::new());
                let error = other.connect(client(&network), server_addr()).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Refused);
            }
            make_stack!(Nothing).connect(client(&network), server_addr()).await.unwrap()
        };
        let (_client, served) = futures_util::join!(clients, incoming.next());
        let served = served.unwrap();
        let statistics = incoming.statistics();
        assert_eq!(statistics.connections, 1);
        drop(served);
        assert_eq!(incoming.statistics().connections, 0);
        statistics
    });
    assert_eq!((statistics.accepted, statistics.handshakes), (1, 0));
    assert_eq!(statistics.refused, [(ErrorKind::Refused, 2)]);
}
