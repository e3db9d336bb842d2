//! The work of a layer on the outcome of the call below it.

use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for `call`, and returns the result of `work` on its outcome.
///
/// It is for a layer that counts, measures or alters the outcome of the call below, and costs at most three instructions
/// per layer besides the work. An `async fn` that awaits the call is as easy to read, but costs several times as much in a
/// stack of such layers, since it keeps a state of its own and first moves the message into it.
///
/// `work` is called once. As an `FnMut`, it may not move values out of its captures.
///
/// ```
/// use bertha_core::{Connection, Error, map_output};
/// # use std::sync::atomic::{AtomicU64, Ordering};
///
/// struct Counting<C> {
///     inner: C,
///     failures: AtomicU64,
/// }
///
/// impl<C: Connection> Counting<C> {
///     fn send(&self, message: C::Data) -> impl Future<Output = Result<(), Error>> + Send {
///         map_output(self.inner.send(message), |sent| {
///             if sent.is_err() {
///                 self.failures.fetch_add(1, Ordering::Relaxed);
///             }
///             sent
///         })
///     }
/// }
/// ```
///
/// The future is cancellation-safe if `call` is: if it is dropped before it is ready, `work` is not called. If it is
/// polled again after it was ready, it polls `call` again, which may panic.
#[inline]
pub fn map_output<F: Future, T>(call: F, work: impl FnMut(F::Output) -> T) -> impl Future<Output = T> {
    After { call, work }
}

pin_project! {
    struct After<F, W> {
        #[pin]
        call: F,
        work: W,
    }
}

impl<F: Future, T, W: FnMut(F::Output) -> T> Future for After<F, W> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        let outcome = ready!(this.call.poll(context));
        Poll::Ready((this.work)(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::{pending, poll_fn};
    use std::pin::pin;
    use std::task::Waker;

    #[test]
    fn work_is_done_once_the_call_is() {
        let (polls, done) = (Cell::new(0), Cell::new(0));
        let call = poll_fn(|_| {
            polls.set(polls.get() + 1);
            if polls.get() < 3 { Poll::Pending } else { Poll::Ready(polls.get()) }
        });
        let mut future = pin!(map_output(call, |outcome| {
            done.set(done.get() + 1);
            outcome * 10
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!([(); 2].map(|()| future.as_mut().poll(&mut context)), [Poll::Pending; 2]);
        assert_eq!(done.get(), 0);
        assert_eq!((future.as_mut().poll(&mut context), done.get()), (Poll::Ready(30), 1));
    }

    #[test]
    fn who_is_dropped_before_does_no_work() {
        let has_worked = Cell::new(false);
        {
            let mut future = pin!(map_output(pending::<()>(), |()| has_worked.set(true)));
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert!(!has_worked.get());
    }
}
