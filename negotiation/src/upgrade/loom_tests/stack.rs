//! The stack of an epoch, for models: it receives every message that is sent in it, as over a network without
//! loss. An executor, too.

use bertha_core::{Connection, Error, ErrorKind};
use bertha_datapath_sim::{PairBase, SimRuntime};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Mutex, MutexGuard};
use loom::thread::{self, Thread};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
pub(crate) struct Stack {
    state: Mutex<StackState>,
    /// Number of messages that left at the bottom. Relaxed, as the count of a group's participant is.
    sent: AtomicU32,
}

#[derive(Default)]
struct StackState {
    messages: VecDeque<u32>,
    /// True if no more messages will arrive.
    is_over: bool,
    /// True if no call may use the stack any more.
    is_retired: bool,
    /// True if a call used the stack although it may not.
    is_misused: bool,
    waiting: Vec<Waker>,
}

impl Stack {
    fn lock(&self) -> MutexGuard<'_, StackState> {
        let mut state = self.state.lock().unwrap();
        state.is_misused |= state.is_retired;
        state
    }

    fn wake(mut state: MutexGuard<'_, StackState>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ends the arrival of messages, so that the stack runs dry.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        Self::wake(state);
    }

    /// Returns the number of messages that left at the bottom. It is exact once the caller has synchronised
    /// with all sends.
    pub(crate) fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Panics if a call used the stack although it may not. A panic has to be the last event of a model, so the
    /// calls themselves do not panic.
    pub(crate) fn check(&self) {
        let is_misused = self.state.lock().unwrap().is_misused;
        assert!(!is_misused, "a call used an epoch that had ended");
    }

    /// Forbids the use of the stack. Messages that it still holds are lost.
    pub(crate) fn retire(&self) {
        self.lock().is_retired = true;
    }
}

impl Connection for Stack {
    type Data = u32;
    type Base = PairBase<SimRuntime>;

    fn base(&self) -> &Self::Base {
        panic!("calls need no base")
    }

    async fn send(&self, message: u32) -> Result<(), Error> {
        let mut state = self.lock();
        state.is_misused |= state.is_over;
        state.messages.push_back(message);
        self.sent.fetch_add(1, Ordering::Relaxed);
        Self::wake(state);
        Ok(())
    }

    fn recv(&self) -> impl Future<Output = Result<u32, Error>> + Send {
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some(message) = state.messages.pop_front() {
                return Poll::Ready(Ok(message));
            }
            if state.is_over {
                return Poll::Ready(Err(Error::new(ErrorKind::Closed, "the epoch is over")));
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future, and polls it after a wake-up alone, so that loom finds a deadlock where a call is not woken.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = std::sync::Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park();
    }
}
