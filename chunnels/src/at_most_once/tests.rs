use super::{AtMostOnce, AtMostOnceByPublisher, Memory, MessageId};
use bertha_core::{BoxFuture, Buf, Connection, Error, ErrorKind, Wrap};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;
use futures_util::FutureExt;
use std::sync::Arc;

#[tokio::test]
async fn duplicates_are_dropped_and_counted() {
    let (here, wire) = pair_of::<_, Buf>(TokioRuntime);
    let (relay, there) = pair_of::<_, Buf>(TokioRuntime);
    let here = AtMostOnce.wrap(here).await.unwrap();
    let there = AtMostOnce.wrap(there).await.unwrap();
    for number in 0..3_u8 {
        here.send(Buf::copy_of(&[number; 5], 8).unwrap()).await.unwrap();
    }
    let mut messages = Vec::new();
    wire.recv_batch(&mut messages, 9).await.unwrap();
    // The messages arrive in reverse order, each twice, with a message that is too short.
    for message in messages.iter().rev().chain(&messages) {
        relay.send(Buf::copy_of(message, 0).unwrap()).await.unwrap();
    }
    relay.send(Buf::new(7, 0).unwrap()).await.unwrap();
    here.send(Buf::copy_of(&[3; 5], 0).unwrap()).await.unwrap();
    relay.send(wire.recv().await.unwrap()).await.unwrap();

    assert_eq!(&*there.recv().await.unwrap(), &[2; 5]);
    let mut burst = Vec::new();
    while burst.len() < 3 {
        there.recv_batch(&mut burst, 2).await.unwrap();
    }
    assert!(burst.iter().map(|message| message[0]).eq([1, 0, 3]));
    assert_eq!(there.duplicates(), 4);
}

/// A memory that fails, and that waits for a signal.
struct Moody {
    taken: std::sync::Mutex<std::collections::HashSet<MessageId>>,
    fails: std::sync::atomic::AtomicBool,
    may_go_on: tokio::sync::Semaphore,
}

impl Memory for Moody {
    fn take(self: Arc<Self>, ids: Vec<MessageId>) -> BoxFuture<'static, Result<Vec<bool>, Error>> {
        Box::pin(async move {
            self.may_go_on.acquire().await.unwrap().forget();
            if self.fails.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
            }
            let mut taken = self.taken.lock().unwrap();
            Ok(ids.into_iter().map(|id| taken.insert(id)).collect())
        })
    }
}

/// Two publishers whose messages a queue swaps and repeats, and two receivers that take turns.
#[tokio::test]
async fn of_several_publishers_each_message_is_received_once() {
    let stack = AtMostOnceByPublisher::new();
    let (relay, first) = pair_of::<_, Buf>(TokioRuntime);
    let (other_relay, second) = pair_of::<_, Buf>(TokioRuntime);
    let [first, second] = [stack.wrap(first).await.unwrap(), stack.wrap(second).await.unwrap()];
    let mut sent = Vec::new();
    for publisher in 0..2_u8 {
        let (here, wire) = pair_of::<_, Buf>(TokioRuntime);
        let here = AtMostOnceByPublisher::new().wrap(here).await.unwrap();
        for number in 0..3 {
            here.send(Buf::copy_of(&[publisher, number], 0).unwrap()).await.unwrap();
            sent.push(wire.recv().await.unwrap());
        }
    }
    for message in sent.iter().rev().chain(&sent) {
        relay.send(Buf::copy_of(message, 0).unwrap()).await.unwrap();
    }
    relay.send(Buf::new(15, 0).unwrap()).await.unwrap();
    for message in &sent {
        other_relay.send(Buf::copy_of(message, 0).unwrap()).await.unwrap();
    }
    drop((relay, other_relay));
    let mut got = Vec::new();
    while let Ok(message) = first.recv().await {
        got.push((message[0], message[1]));
    }
    assert_eq!(got, [(1, 2), (1, 1), (1, 0), (0, 2), (0, 1), (0, 0)]);
    assert_eq!(first.duplicates(), 7);
    // The connections of one value share its memory.
    assert!(second.recv().await.is_err());
    assert_eq!(second.duplicates(), 6);
}

#[tokio::test]
async fn nothing_is_lost_by_a_memory_that_fails_or_a_call_that_is_given_up() {
    let memory = Arc::new(Moody {
        taken: Default::default(),
        fails: Default::default(),
        may_go_on: tokio::sync::Semaphore::new(0),
    });
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let here = AtMostOnceByPublisher::new().wrap(here).await.unwrap();
    let there = AtMostOnceByPublisher::new().remembering(memory.clone()).wrap(there).await.unwrap();
    for number in 0..3_u8 {
        here.send(Buf::copy_of(&[number], 32).unwrap()).await.unwrap();
    }
    memory.fails.store(true, std::sync::atomic::Ordering::Relaxed);
    // The reception is cancelled while the memory is asked.
    assert!(there.recv().now_or_never().is_none());
    memory.may_go_on.add_permits(1);
    assert_eq!(there.recv().await.unwrap_err().kind(), ErrorKind::Unavailable);
    memory.fails.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(there.recv().now_or_never().is_none());
    memory.may_go_on.add_permits(9);
    for number in 0..3 {
        assert_eq!(there.recv().await.unwrap()[0], number);
    }
    assert_eq!(memory.taken.lock().unwrap().len(), 3);
}
