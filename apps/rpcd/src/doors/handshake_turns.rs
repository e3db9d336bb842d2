//! The turns in which handshakes of TLS go on.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// The turns of the handshakes at a port. A step of one takes as long as hundreds of calls, for its signatures: each time that all other
/// tasks have run, one handshake takes a step, the one that can go on for longest.
#[derive(Debug)]
pub(crate) struct HandshakeTurns(Semaphore);

impl Default for HandshakeTurns {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

impl HandshakeTurns {
    /// Completes a handshake, with a turn for each of its steps.
    pub(crate) async fn complete<T>(&self, handshake: impl Future<Output = T>) -> T {
        let mut handshake = pin!(handshake);
        loop {
            // The semaphore is never closed.
            let turn = self.0.acquire().await;
            yield_now().await;
            let step = poll_fn(|context| Poll::Ready(handshake.as_mut().poll(context)));
            if let Poll::Ready(completed) = step.await {
                return completed;
            }
            drop(turn);
            woken().await;
        }
    }
}

/// Waits until something wakes this task, for which the handshake has asked.
async fn woken() {
    let mut has_waited = false;
    poll_fn(|_| if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn others_run_between_two_steps_of_handshakes() {
        let (turns, ran) = (Arc::<HandshakeTurns>::default(), Arc::<Mutex<Vec<&str>>>::default());
        let mut handshakes = JoinSet::new();
        for _ in 0..32 {
            let (turns, ran) = (Arc::clone(&turns), Arc::clone(&ran));
            handshakes.spawn(async move {
                let handshake = async {
                    for _ in 0..3 {
                        ran.lock().push("step");
                        yield_now().await;
                    }
                };
                turns.complete(handshake).await;
            });
        }
        let calls = async {
            loop {
                ran.lock().push("call");
                yield_now().await;
            }
        };
        tokio::select! {
            _ = handshakes.join_all() => {}
            () = calls => {}
        }
        let ran = ran.lock();
        assert_eq!(ran.iter().filter(|what| **what == "step").count(), 96);
        assert!(ran.windows(2).all(|two| two != ["step"; 2]), "{ran:?}");
    }

    #[tokio::test]
    async fn a_handshake_that_is_given_up_leaves_its_turn() {
        let turns = HandshakeTurns::default();
        for yields in 0..4 {
            let given_up = async {
                for _ in 0..yields {
                    yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = given_up => {}
                () = turns.complete(std::future::pending()) => {}
            }
        }
        assert_eq!(turns.complete(async { 7 }).await, 7);
    }
}
