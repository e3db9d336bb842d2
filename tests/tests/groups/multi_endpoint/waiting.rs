//! Several calls that wait for the next message; some of the calls are cancelled.

use crate::multi_endpoint::crowd::Crowd;
use crate::multi_endpoint::seeds::with_seeds;
use bertha_chunnels::{Pace, ReceiverOrdered, SequencerOrdered};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Link, SimGroup};
use bertha_negotiation::rendezvous::{Rendezvous, RunsAmong};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// A message is lost. A call holds the next message and waits for the lost message, and is then cancelled.
/// Another call waits all along.
async fn goes_on<S, C>(crowd: &Crowd, stack: impl Fn() -> S, cancelled: usize)
where
    S: Rendezvous + 'static,
    SimGroup: RunsAmong<S, Out = C>,
    C: Connection<Data = Buf>,
{
    let message = |text: &str| Buf::copy_of(text.as_bytes(), 40).unwrap();
    let leader = crowd.join(1, stack()).await.unwrap();
    let other = crowd.join(2, stack()).await.unwrap();
    crowd.pause(Duration::from_secs(1)).await;
    let mut calls = vec![Box::pin(other.recv()), Box::pin(other.recv())];
    let sending = async {
        crowd.pause(Duration::from_millis(1)).await;
        for (text, loss) in [("lost", 1.0), ("next", 0.0)] {
            crowd.network.set_link_between(Crowd::ip(1), Crowd::ip(2), Link { loss, ..Link::default() });
            leader.send(message(text)).await.unwrap();
        }
        crowd.pause(Duration::from_millis(10)).await;
    };
    let [one, two] = &mut calls[..] else { unreachable!() };
    let waiting = select(one, two);
    assert!(matches!(select(waiting, pin!(sending)).await, Either::Right(_)), "it has to wait");
    drop(calls.remove(cancelled));
    let late = pin!(crowd.pause(Duration::from_secs(1)));
    let received = select(calls.remove(0), late).await;
    let Either::Left((received, _)) = received else { panic!("nobody hands it out") };
    assert_eq!(&*received.unwrap(), b"next");
}

#[test]
fn who_waits_for_the_next_message_gets_it_though_another_call_was_cancelled() {
    for cancelled in 0..2 {
        with_seeds(10, async |crowd, _| {
            goes_on(crowd, || make_stack!(ReceiverOrdered::new()), cancelled).await;
        });
        with_seeds(10, async |crowd, _| {
            goes_on(crowd, || make_stack!(SequencerOrdered::new()), cancelled).await;
        });
    }
}

/// A sequencer's call is cancelled while it forwards the messages that it has put in order. Another call
/// waits all along.
#[test]
fn a_sequencer_goes_on_with_what_a_cancelled_call_had_in_hand() {
    for cancelled in 0..2 {
        with_seeds(10, async |crowd, _| {
            let message = |text: &str| Buf::copy_of(text.as_bytes(), 80).unwrap();
            let stack = || make_stack!(SequencerOrdered::new(), Pace::new(1_000).burst(1));
            let leader = crowd.join(1, stack()).await.unwrap();
            let other = crowd.join(2, stack()).await.unwrap();
            crowd.pause(Duration::from_secs(1)).await;
            let mut calls = vec![Box::pin(leader.recv()), Box::pin(leader.recv())];
            let sending = async {
                crowd.pause(Duration::from_millis(1)).await;
                leader.send(message("its own")).await.unwrap();
                other.send(message("the other's")).await.unwrap();
                crowd.pause(Duration::from_millis(5)).await;
            };
            let [one, two] = &mut calls[..] else { unreachable!() };
            let waiting = select(one, two);
            assert!(matches!(select(waiting, pin!(sending)).await, Either::Right(_)), "it has to wait");
            drop(calls.remove(cancelled));
            let late = pin!(crowd.pause(Duration::from_secs(1)));
            let Either::Left((received, _)) = select(calls.remove(0), late).await else {
                panic!("nobody hands it out")
            };
            assert_eq!(&*received.unwrap(), b"the other's");
        });
    }
}
