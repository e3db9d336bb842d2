//! The connections and listeners that a process observes.

use crate::scene::{client, server, server_addr, simulate};
use bertha_chunnels::Nothing;
use bertha_core::Addr;
use bertha_datapath_sim::Network;
use bertha_negotiation::{IncomingStatistics, LinkStatistics, Negotiate, observing};

/// The port of this test alone: tests of one process share the list.
const PORT: u16 = 7171;

fn own() -> Addr {
    ([10, 0, 0, 2], PORT).into()
}

#[test]
fn connections_and_listeners_are_listed_from_the_start_until_their_end() {
    simulate(1, async |network: Network| {
        let connect = || Nothing.connect(client(&network), own());
        let mut before = Nothing.listen(server(&network), server_addr()).await.unwrap();
        let earlier = Nothing.connect(client(&network), server_addr());
        let (earlier, _served) = futures_util::join!(earlier.into_future(), before.next());
        earlier.unwrap();
        observing::start();
        let mut incoming = Nothing.listen(server(&network), own()).await.unwrap();
        let (here, there) = futures_util::join!(connect().into_future(), incoming.next());
        let (here, there) = (here.unwrap(), there.unwrap());
        let own_connections = || {
            let mut all = observing::observe().connections;
            all.retain(|it| it.local == own() || it.peer == own());
            all
        };
        let [first, second] = &own_connections()[..] else { panic!("{:?}", own_connections()) };
        assert!(first.number < second.number);
        assert!([&first.local, &second.local].contains(&&own()), "{first:?}");
        assert_eq!(first.agreement.to_string().split(',').next(), Some("Nothing"));
        assert!(first.statistics.get::<LinkStatistics>().unwrap().is_usable);
        let listeners = observing::observe().listeners;
        let listener = listeners.iter().find(|it| it.local == own()).unwrap();
        assert_eq!(listener.statistics.get::<IncomingStatistics>().unwrap().connections, 1);
        assert!(!listeners.iter().any(|it| it.local == server_addr()), "it began before");
        drop((here, there));
        // A dropped end is gone at once; the peers' tasks end with the simulation.
        assert!(own_connections().is_empty(), "{:?}", own_connections());
        drop(incoming);
        assert!(!observing::observe().listeners.iter().any(|it| it.local == own()));
    });
}

#[test]
fn ended_connections_are_listed_no_more() {
    simulate(2, async |network: Network| {
        observing::start();
        let other = Addr::from(([10, 0, 0, 2], PORT + 1));
        let mut incoming = Nothing.listen(server(&network), other.clone()).await.unwrap();
        for _ in 0..200 {
            let connecting = Nothing.connect(client(&network), other.clone());
            let (here, there) = futures_util::join!(connecting.into_future(), incoming.next());
            drop((here.unwrap(), there.unwrap()));
        }
        let left =
            observing::observe().connections.into_iter().find(|it| it.local == other || it.peer == other);
        assert!(left.is_none(), "{left:?}");
    });
}
