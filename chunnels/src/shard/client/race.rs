//! The first of several futures to complete.

use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Number of futures that wait without an allocation.
const INLINE: usize = 8;

/// Creates `count` futures, and returns the output of the first ready future, with its number. They are
/// polled in order from `start` on; the others are dropped.
pub(super) async fn first<F: Future>(
    count: usize,
    start: usize,
    make: impl Fn(usize) -> F,
) -> (usize, F::Output) {
    let number = |turn: usize| (start + turn) % count.max(1);
    if count > INLINE {
        return first_of_many(count, number, make).await;
    }
    let at = |turn: usize| (turn < count).then(|| make(number(turn)));
    let a = pin!(at(0));
    let b = pin!(at(1));
    let c = pin!(at(2));
    let d = pin!(at(3));
    let e = pin!(at(4));
    let f = pin!(at(5));
    let g = pin!(at(6));
    let h = pin!(at(7));
    let mut racing: [_; INLINE] = [a, b, c, d, e, f, g, h];
    poll_fn(|context| {
        for (turn, future) in racing[..count].iter_mut().enumerate() {
            if let Poll::Ready(output) = poll(future.as_mut(), context) {
                return Poll::Ready((number(turn), output));
            }
        }
        Poll::Pending
    })
    .await
}

fn poll<F: Future>(future: Pin<&mut Option<F>>, context: &mut Context<'_>) -> Poll<F::Output> {
    match future.as_pin_mut() {
        Some(future) => future.poll(context),
        None => Poll::Pending,
    }
}

/// Polls each future once, which allocates nothing. If none is ready, all futures are boxed to wait, while
/// the task has no other work.
async fn first_of_many<F: Future>(
    count: usize,
    number: impl Fn(usize) -> usize,
    make: impl Fn(usize) -> F,
) -> (usize, F::Output) {
    for turn in 0..count {
        let mut future = pin!(make(number(turn)));
        if let Poll::Ready(output) = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await {
            return (number(turn), output);
        }
    }
    let indexed = async |number| (number, make(number).await);
    let mut waiting: FuturesUnordered<_> = (0..count).map(|turn| indexed(number(turn))).collect();
    match waiting.next().await {
        Some(first) => first,
        // There are more than eight futures.
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::ready;
    use tokio::sync::oneshot;

    async fn one_of(count: usize, start: usize, is_ready: impl Fn(usize) -> bool) -> usize {
        let make = |number: usize| {
            let now = is_ready(number);
            async move { if now { ready(number).await } else { pending().await } }
        };
        let (number, output) = first(count, start, make).await;
        assert_eq!(number, output);
        number
    }

    #[tokio::test]
    async fn the_turn_decides_among_those_that_are_ready() {
        for count in [1, 2, 8, 9, 40] {
            for start in 0..count {
                assert_eq!(one_of(count, start, |_| true).await, start);
                assert_eq!(one_of(count, start, |number| number == count - 1).await, count - 1);
            }
        }
    }

    #[tokio::test]
    async fn one_that_is_ready_later_wakes_the_waiter() {
        for count in [8, 9] {
            let (sender, receiver) = oneshot::channel();
            let receiver = std::sync::Mutex::new(Some(receiver));
            let waiting = first(count, 0, |number| {
                // More than eight futures are created twice, so the receiver is taken when the future is
                // polled.
                let receiver = &receiver;
                async move {
                    if number != 5 {
                        return pending().await;
                    }
                    tokio::task::yield_now().await;
                    let receiver = receiver.lock().unwrap().take().unwrap();
                    receiver.await.unwrap()
                }
            });
            let sending = async { sender.send("late").unwrap() };
            assert_eq!(futures_util::join!(waiting, sending).0, (5, "late"));
        }
    }
}
