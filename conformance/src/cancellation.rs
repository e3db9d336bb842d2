//! Futures that are dropped.

use super::Messages;
use super::delivery::{complete, receive};
use super::timeout::{let_arrive, soon, succeeds, within};
use bertha_core::Connection;
use futures_util::future::join;
use futures_util::poll;
use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const COUNT: u64 = 50;

/// The number of the last message.
const LAST: u64 = 7001;

/// "Dropping the future of `recv` [...] loses no message."
pub async fn a_dropped_recv_loses_nothing<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let send = slowly_send(a, messages);
    let receive = async {
        let mut numbers = Vec::new();
        while numbers.len() < COUNT as usize {
            for _ in 0..5 {
                if let Poll::Ready(message) = poll!(pin!(b.recv())) {
                    numbers.push(messages.number(&message.unwrap()));
                }
            }
            // The future is dropped in the middle of waiting, too, and not only after the first poll.
            if let Some(message) = within(b, Duration::from_micros(700), b.recv()).await {
                numbers.push(messages.number(&message.unwrap()));
            }
        }
        numbers
    };
    let (numbers, ()) = join(soon(b, "recv after others were dropped", receive), send).await;
    complete(b, numbers, COUNT);
}

/// "Dropping the future of [...] `recv_batch` loses no message."
pub async fn a_dropped_recv_batch_loses_nothing<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let send = slowly_send(a, messages);
    let receive = async {
        let mut received = Vec::new();
        while received.len() < COUNT as usize {
            let before = received.len();
            for _ in 0..5 {
                // Messages that were appended count, even if the future was dropped.
                if let Poll::Ready(count) = poll!(pin!(b.recv_batch(&mut received, 3))) {
                    count.unwrap();
                }
            }
            let _dropped = within(b, Duration::from_micros(700), b.recv_batch(&mut received, 3)).await;
            assert!(received.len() <= before + 18, "recv_batch exceeds its limit");
        }
        received.iter().map(|message| messages.number(message)).collect()
    };
    let (numbers, ()) = join(soon(b, "recv_batch after others were dropped", receive), send).await;
    complete(b, numbers, COUNT);
}

async fn slowly_send<A: Connection, M: Messages<A::Data>>(a: &A, messages: &M) {
    for number in 0..COUNT {
        succeeds(a, "send", a.send(messages.make(a, number))).await;
        if number % 10 == 9 {
            let_arrive(a).await;
        }
    }
}

/// "Dropping the future of `recv` [...] loses no message": nor may the wake-up for a message get lost. Of two
/// waiting futures, one is dropped as soon as it is woken, before it runs; the other future must be woken and
/// get the message.
pub async fn a_dropped_receiver_leaves_its_message_to_another<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    for number in 0..10 {
        // Each future is polled by itself and only when woken, as in a task of its own.
        let [(first_flag, first_waker), (other_flag, other_waker)] = [Flag::with_waker(), Flag::with_waker()];
        let mut first = Some(Box::pin(b.recv()));
        let mut other = pin!(b.recv());
        let mut poll_other = || other.as_mut().poll(&mut Context::from_waker(&other_waker));
        // Both orders of waiting are tried.
        if number % 2 == 1 {
            assert!(poll_other().is_pending(), "a message that nobody sent");
        }
        let poll_first =
            first.as_mut().map(|recv| recv.as_mut().poll(&mut Context::from_waker(&first_waker)));
        assert!(poll_first.is_some_and(|poll| poll.is_pending()), "a message that nobody sent");
        if number % 2 == 0 {
            assert!(poll_other().is_pending(), "a message that nobody sent");
        }
        succeeds(a, "send", a.send(messages.make(a, number))).await;
        let receive = poll_fn(|context| {
            if first_flag.take(context) {
                first = None;
            }
            if other_flag.take(context) { poll_other() } else { Poll::Pending }
        });
        let message = soon(b, "recv when another that waits is dropped", receive).await;
        assert_eq!(messages.number(&message.unwrap()), number);
    }
}

/// "If the future of `send` is dropped before it is ready, the message was sent whole or not at all."
pub async fn a_dropped_send_is_whole_or_nothing<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let mut sent = Vec::new();
    for number in 0..COUNT {
        // The future is polled only once.
        if let Poll::Ready(result) = poll!(pin!(a.send(messages.make(a, number)))) {
            result.unwrap();
            sent.push(number);
        }
    }
    let send = succeeds(a, "send after others were dropped", a.send(messages.make(a, COUNT)));
    let receiving = async {
        let mut numbers = Vec::new();
        while numbers.last() != Some(&COUNT) {
            numbers.push(receive(b, messages).await);
        }
        numbers
    };
    let (mut numbers, ()) = join(receiving, send).await;
    let_arrive(b).await;
    while let Some(message) = within(b, Duration::from_millis(5), b.recv()).await {
        numbers.push(messages.number(&message.unwrap()));
    }
    // On a busy machine, a call to a service may still be under way when its future was dropped long ago.
    succeeds(a, "send", a.send(messages.make(a, LAST))).await;
    while numbers.last() != Some(&LAST) {
        numbers.push(receive(b, messages).await);
    }
    succeeds(b, "send back", b.send(messages.make(b, LAST))).await;
    assert_eq!(receive(a, messages).await, LAST);
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "a message arrived twice");
    assert!(
        sent.iter().all(|number| numbers.binary_search(number).is_ok()),
        "a message that was sent is lost"
    );
}

/// A flag that a waker sets.
#[derive(Default)]
struct Flag {
    raised: AtomicBool,
    waker: AtomicWaker,
}

impl Flag {
    fn with_waker() -> (Arc<Self>, Waker) {
        let flag = Arc::new(Self::default());
        (flag.clone(), Waker::from(flag))
    }

    /// Returns true if the waker was called since the last time; if not, the task is woken when it is called.
    fn take(&self, context: &Context<'_>) -> bool {
        self.waker.register(context.waker());
        self.raised.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.raised.store(true, Ordering::Release);
        self.waker.wake();
    }
}
