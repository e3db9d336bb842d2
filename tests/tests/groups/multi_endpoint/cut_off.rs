//! Participants that are cut off from the store while the other participants still hear from them; and
//! participants that came and went.

use crate::multi_endpoint::counting::Counting;
use crate::multi_endpoint::crowd::Crowd;
use crate::multi_endpoint::seeds::with_seeds;
use bertha_chunnels::{Batch, Nothing};
use bertha_core::{Buf, Connection, Error, make_stack};
use bertha_datapath_sim::Link;
use bertha_negotiation::Pick;
use bertha_negotiation::rendezvous::{Name, Rendezvous};
use futures_util::future::{Either, join, join3, select};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn message(text: &str) -> Buf {
    Buf::copy_of(text.as_bytes(), 40).unwrap()
}

async fn send_again_and_again(crowd: &Crowd, to: &impl Connection<Data = Buf>, text: &str) {
    loop {
        to.send(message(text)).await.unwrap();
        crowd.pause(Duration::from_millis(5)).await;
    }
}

async fn receive_until(from: &impl Connection<Data = Buf>, text: &str) -> Result<(), Error> {
    while &*from.recv().await? != text.as_bytes() {}
    Ok(())
}

/// Returns true if the message `text` comes within `limit`.
async fn hears(crowd: &Crowd, from: &impl Connection<Data = Buf>, text: &str, limit: Duration) -> bool {
    let receiving = pin!(receive_until(from, text));
    matches!(select(receiving, pin!(crowd.pause(limit))).await, Either::Left((Ok(()), _)))
}

/// The first participant waits for a lost message of the second for a limited time, even while the third,
/// which is cut off, goes on sending in the old round.
#[test]
fn who_is_cut_off_from_the_store_and_talks_on_holds_up_no_change() {
    with_seeds(30, async |crowd, _| {
        let stack = || make_stack!(bertha_core::select!(Nothing, Batch::new()));
        let way = Counting::new(Arc::new(crowd.store.clone()));
        let cut = way.cut.clone();
        let (one, two) = (crowd.join(1, stack()).await.unwrap(), crowd.join(2, stack()).await.unwrap());
        let name = Name::new("crowd").unwrap();
        let three =
            stack().rendezvous(crowd.group(3), way, name).settings(crowd.settings.clone()).await.unwrap();
        crowd.pause(Duration::from_secs(1)).await;
        cut.store(true, Ordering::Relaxed);
        for (text, loss) in [("first", 0.0), ("lost", 1.0), ("last", 0.0)] {
            crowd.network.set_link_between(Crowd::ip(2), Crowd::ip(1), Link { loss, ..Link::default() });
            two.send(message(text)).await.unwrap();
        }
        let asking = async {
            one.upgrade(Pick::alternative(1)).await.unwrap();
            send_again_and_again(crowd, &two, "in the new round").await;
        };
        let talking = send_again_and_again(crowd, &three, "in the old round");
        let others = async { join(receive_until(&two, "never"), receive_until(&three, "never")).await };
        let all = async { join3(asking, talking, others).await };
        let hearing = pin!(hears(crowd, &one, "in the new round", Duration::from_secs(20)));
        let heard = matches!(select(hearing, pin!(all)).await, Either::Left((true, _)));
        assert!(heard, "waits for what was lost");
    });
}

/// Each participant takes a place in the table of the round's senders.
#[test]
fn however_many_come_and_go_during_a_round_the_next_one_is_heard() {
    with_seeds(1, async |crowd, _| {
        let one = crowd.join(0, make_stack!(Nothing)).await.unwrap();
        for number in 0..1_500 {
            let other = crowd.join(1, make_stack!(Nothing)).await.unwrap();
            let text = format!("message of {number}");
            other.send(message(&text)).await.unwrap();
            assert!(hears(crowd, &one, &text, Duration::from_secs(1)).await, "{text} is not heard");
            other.close().await.unwrap();
            drop(other);
            crowd.pause(Duration::from_millis(500)).await;
        }
    });
}
