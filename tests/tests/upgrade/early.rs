//! Changes on a connection that was in use before the server had answered.

use crate::scene::{A, B, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{EarlyCache, Negotiate, Pick, Settings, ZeroRtt};

#[test]
fn the_server_changes_the_stack_of_a_client_that_connected_early() {
    simulate(1, async |network: Network| {
        let cache = EarlyCache::new();
        let stack = || make_stack!(Serialize::<String>::new(), select!(A, B)).upgradable();
        let mut settings = Settings::default();
        settings.early_data = true;
        let listening = stack().listen(server(&network), server_addr()).settings(settings);
        let mut incoming = listening.await.unwrap();
        for is_early in [false, true] {
            let serving = async {
                let served = incoming.next().await.unwrap();
                assert_eq!(served.recv().await.unwrap(), "one");
                served.upgrade(Pick::alternative(1)).await.unwrap();
                served.send("two".into()).await.unwrap();
                served
            };
            let asking = async {
                let asking = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
                asking.send("one".into()).await.unwrap();
                assert_eq!(asking.recv().await.unwrap(), "two");
                asking
            };
            let (served, asking) = futures_util::join!(serving, asking);
            let explained = asking.explain();
            let zero_rtt = explained.zero_rtt().unwrap();
            assert_eq!(*zero_rtt == ZeroRtt::Taken(1), is_early, "{zero_rtt}");
            assert!(served.explain().to_string().contains('B'), "{}", served.explain());
        }
    });
}
