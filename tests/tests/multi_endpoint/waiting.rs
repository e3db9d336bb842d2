//! Several calls that wait for what comes next, of which some are cancelled.

use crate::crowd::Crowd;
use crate::seeds::with_seeds;
use bertha_chunnels::{ReceiverOrdered, SequencerOrdered};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Link, SimGroup};
use bertha_negotiation::{Gathers, Negotiate};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// A message is lost, and the next one waits for it, in hand of a call that is then cancelled. Another call waits all along.
async fn goes_on<S, C>(crowd: &Crowd, stack: impl Fn() -> S, cancelled: usize)
where
    S: Negotiate + 'static,
    SimGroup: Gathers<S, Out = C>,
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
