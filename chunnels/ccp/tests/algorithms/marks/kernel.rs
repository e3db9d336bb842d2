//! Over kernel UDP, with a router that marks.

use super::router::Router;
use super::{dctcp, stop};
use bertha_chunnels::Reliable;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_kernel::Udp;

const MESSAGES: usize = 4_000;

/// Sends messages through a router, and returns the router with the number of marks that the peer reported.
async fn through_a_router(client: Reliable, server: Reliable) -> (Router, u64) {
    let listener = Udp::new().listen("127.0.0.1:0".parse::<Addr>().unwrap()).await.unwrap();
    let Addr::Ip(address) = listener.local_addr() else { panic!("no address of IP") };
    let router = Router::to(address, 7);
    let base = Udp::new().connect(router.address.into()).await.unwrap();
    let client = client.wrap(base).await.unwrap();
    client.send(Buf::new(8, 0).unwrap()).await.unwrap();
    let server = server.wrap(listener.accept().await.unwrap()).await.unwrap();
    let receiving = async {
        for _ in 0..=MESSAGES {
            server.recv().await.unwrap();
        }
    };
    let sending = async {
        for _ in 0..MESSAGES {
            client.send(Buf::new(1_200, 0).unwrap()).await.unwrap();
        }
        client.drain().await.unwrap();
    };
    tokio::join!(receiving, sending);
    let told = client.statistics().packets_marked;
    (router, told)
}

#[tokio::test]
async fn each_mark_of_a_router_is_told_to_the_sender_and_its_agent() {
    let (ccp, agent) = dctcp();
    let (router, told) =
        through_a_router(Reliable::new().ecn().with(ccp.clone()), Reliable::new().ecn()).await;
    assert_eq!(ccp.datapath().refusals(), []);
    stop(agent);
    let (markable, all) = router.markable();
    assert!(markable == all && all >= MESSAGES as u64, "{markable} of {all} could be marked");
    assert!(router.marked() > 200, "{} marked", router.marked());
    // An acknowledgement of this end may be marked last, about which the peer has no message to send.
    let marked = router.marked();
    assert!(told <= marked && told + 4 >= marked, "{told} told of {marked}");
}

#[tokio::test]
async fn unless_asked_for_no_datagram_may_be_marked() {
    let (router, told) = through_a_router(Reliable::new(), Reliable::new().ecn()).await;
    assert_eq!((router.markable().0, router.marked(), told), (0, 0, 0));
    let (router, told) = through_a_router(Reliable::new().ecn(), Reliable::new()).await;
    let (markable, all) = router.markable();
    assert!(told == 0 && markable < all / 2, "{markable} of {all} could be marked");
}
