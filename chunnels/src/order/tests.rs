use super::{Ordered, OrderedByKey, OrderedConnection};
use bertha_core::statistics::Observed;
use bertha_core::{Buf, Chunnel, Connection, ErrorKind, Statistics, Wrap};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use futures_util::FutureExt;

fn message(bytes: &[u8]) -> Buf {
    Buf::copy_of(bytes, 8).unwrap()
}

/// Returns the connection after the messages of a stack have arrived in the order that `order` picks.
async fn shuffled<S>(stack: &S, messages: &[&[u8]], order: &[usize]) -> PairConnection<TokioRuntime, Buf>
where
    S: Chunnel<
            PairConnection<TokioRuntime, Buf>,
            Connection = OrderedConnection<PairConnection<TokioRuntime, Buf>>,
        >,
{
    let (here, wire) = pair_of::<_, Buf>(TokioRuntime);
    let here = stack.wrap(here).await.unwrap();
    let (relay, there) = pair_of::<_, Buf>(TokioRuntime);
    let mut sent = Vec::new();
    for bytes in messages {
        here.send(message(bytes)).await.unwrap();
        sent.push(wire.recv().await.unwrap());
    }
    for at in order {
        relay.send(message(&sent[*at])).await.unwrap();
    }
    // The relay is kept open, so that a receiver that misses a message waits for ever and does not fail.
    std::mem::forget(relay);
    there
}

#[tokio::test]
async fn messages_come_in_the_order_in_which_they_were_sent() {
    let stack = Ordered::new();
    let there = shuffled(&stack, &[b"a", b"b", b"c", b"d"], &[1, 3, 0, 0, 2]).await;
    let there = stack.wrap(there).await.unwrap();
    assert_eq!(&*there.recv().await.unwrap(), b"a");
    let mut burst = Vec::new();
    while burst.len() < 3 {
        there.recv_batch(&mut burst, 2).await.unwrap();
    }
    assert!(burst.iter().map(|message| &message[..]).eq([b"b", b"c", b"d"]));
    assert_eq!(there.dropped(), 1);
}

#[tokio::test]
async fn keys_wait_for_their_own_only() {
    let stack = OrderedByKey::new(|message| message.get(..1).unwrap_or_default());
    let there = shuffled(&stack, &[b"a0", b"b0", b"a1", b"b1"], &[2, 3, 1, 0]).await;
    let there = stack.wrap(there).await.unwrap();
    let mut got = Vec::new();
    for _ in 0..4 {
        got.push(String::from_utf8(there.recv().await.unwrap().to_vec()).unwrap());
    }
    assert_eq!(got, ["b0", "b1", "a0", "a1"]);
}

#[tokio::test]
async fn a_stack_that_loses_messages_is_found_out() {
    let stack = Ordered::new().capacity(2);
    let there = shuffled(&stack, &[b"a", b"b", b"c", b"d", b"e"], &[0, 2, 3, 4]).await;
    let there = stack.wrap(there).await.unwrap();
    there.recv().await.unwrap();
    for _ in 0..2 {
        let error = there.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("message 1 is missing"), "{error}");
    }
    let mut none = Vec::new();
    assert_eq!(there.recv_batch(&mut none, 9).await.unwrap_err().kind(), ErrorKind::Invalid);
}

/// Of two receivers, the receiver that waits below gets the message that the other receiver made ready.
#[tokio::test]
async fn nobody_waits_for_what_is_there() {
    let stack = Ordered::new();
    let there = shuffled(&stack, &[b"a", b"b"], &[1, 0]).await;
    let there = stack.wrap(there).await.unwrap();
    let (first, second) = futures_util::join!(there.recv(), there.recv());
    let mut both = [first.unwrap()[0], second.unwrap()[0]];
    both.sort_unstable();
    assert_eq!(both, *b"ab");
}

/// A `send` that is dropped before it is ready, or fails, delays no later message.
#[tokio::test]
async fn a_send_that_came_to_nothing_is_not_waited_for() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let stack = Ordered::new();
    let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
    here.send(message(b"a")).await.unwrap();
    let dropped = here.send(message(b"never polled"));
    let sent = here.send(message(b"b"));
    drop(dropped);
    sent.await.unwrap();
    drop(here.send(message(b"not polled either")));
    here.send(message(b"c")).await.unwrap();
    for expected in [b"a", b"b", b"c"] {
        assert_eq!(&*there.recv().await.unwrap(), expected);
    }
}

#[tokio::test]
async fn messages_that_wait_for_an_earlier_message_are_told() {
    let stack = Ordered::new().capacity(10);
    let there = shuffled(&stack, &[b"a", b"b", b"c", b"d"], &[0, 2, 3]).await;
    let there = stack.wrap(there).await.unwrap();
    there.recv().await.unwrap();
    assert!(there.recv().now_or_never().is_none());
    let mut statistics = Statistics::default();
    there.held_back().observe(&mut statistics);
    assert_eq!(statistics.to_string(), "Ordered: held back 2, capacity 10");
}
