//! The end of a first flight: a waiting call completes it, or the connection itself if no call waits.

use crate::early_scene::{connect, defaults, known, learn_at, open, over, pause, say};
use crate::scene::{A, B, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, make_stack, select};
use bertha_datapath_sim::{Network, Verdict};
use bertha_negotiation::testing::wire::Kind;
use bertha_negotiation::{Negotiate, ZeroRtt};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

/// A time that is longer than a round trip, and shorter than the time after which a client repeats its offer.
const A_WHILE: Duration = Duration::from_millis(20);

/// Counts the first flights from now on, and loses the first `lost` of them.
fn count_flights(network: &Network, lost: usize) -> Arc<AtomicUsize> {
    let flights = Arc::new(AtomicUsize::new(0));
    let counted = flights.clone();
    network.tap(move |datagram| {
        let is_flight = datagram.payload[0] == Kind::Early as u8;
        match is_flight && counted.fetch_add(1, Ordering::Relaxed) < lost {
            true => Verdict::Drop,
            false => Verdict::Pass,
        }
    });
    flights
}

#[test]
fn an_application_that_does_not_wait_is_agreed_all_the_same() {
    simulate(1, async |network: Network| {
        let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
        let flights = count_flights(&network, 0);
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        pause(&network, A_WHILE).await;
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(1)));
        assert_eq!((history.lock().unwrap().len(), flights.load(Ordering::Relaxed)), (1, 1));
    });
}

#[test]
fn a_first_flight_is_repeated_while_nobody_waits() {
    simulate(2, async |network: Network| {
        let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
        let flights = count_flights(&network, 2);
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        pause(&network, Duration::from_millis(400)).await;
        assert_eq!(*history.lock().unwrap(), [["one"]]);
        assert_eq!(flights.load(Ordering::Relaxed), 3);
        assert_ne!(connection.explain().zero_rtt(), Some(&ZeroRtt::Unanswered));
    });
}

#[test]
fn who_stops_waiting_holds_nothing_up() {
    simulate(3, async |network: Network| {
        for is_kept in [true, false] {
            let (cache, _history) = known(&network, over!(select!(A, B)), defaults()).await;
            let connection = connect(&network, &cache, open()).await.unwrap();
            say(&connection, &["one"]).await;
            {
                let mut waiting = Box::pin(connection.recv());
                let polled = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
                assert!(polled, "the answer can't be there");
                // The future is kept and not polled any more, or dropped.
                let _kept = is_kept.then_some(waiting);
                pause(&network, A_WHILE).await;
                assert_ne!(connection.explain().zero_rtt(), Some(&ZeroRtt::Unanswered), "{is_kept}");
            }
            assert_eq!(connection.recv().await.unwrap(), "one");
            connection.close().await.unwrap();
            network.restart(crate::scene::SERVER);
        }
    });
}

#[test]
fn several_may_wait_and_each_gets_its_message() {
    simulate(4, async |network: Network| {
        let (cache, _history) = known(&network, over!(select!(A, B)), defaults()).await;
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one", "two", "three"]).await;
        let (mut first, mut second) = (pin!(connection.recv()), pin!(connection.recv()));
        poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending() && second.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        let (agreed, first, second) = futures_util::join!(connection.agreed(), first, second);
        assert_eq!(agreed.unwrap().zero_rtt(), Some(&ZeroRtt::Taken(1)));
        let mut heard = [first.unwrap(), second.unwrap()];
        heard.sort();
        assert_eq!(heard, ["one", "two"]);
    });
}

#[test]
fn a_server_that_stops_listening_answers_whom_it_has_let_in() {
    simulate(5, async |network: Network| {
        let listening = over!(select!(A, B)).listen(server(&network), server_addr());
        let mut incoming = listening.settings(open()).await.unwrap();
        let cache = learn_at(&network, &mut incoming, open()).await;
        let serving = async {
            let connection = incoming.next().await.unwrap();
            drop(incoming);
            pause(&network, A_WHILE).await;
            drop(connection);
        };
        let asking = async {
            let connection = connect(&network, &cache, open()).await.unwrap();
            say(&connection, &["one"]).await;
            pause(&network, A_WHILE / 2).await;
            assert_ne!(connection.explain().zero_rtt(), Some(&ZeroRtt::Unanswered));
        };
        futures_util::join!(serving, asking);
    });
}
