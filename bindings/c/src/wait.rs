//! Waiting for a future in the calling thread.

use crate::failure::Failure;
use crate::runtime;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// The time for which a call may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Not at all.
    Now,
    Until(Instant),
    Never,
}

impl Limit {
    /// Reads a number of milliseconds: -1 is without limit.
    ///
    /// # Errors
    /// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT) for other numbers below zero.
    pub(crate) fn of(milliseconds: i64) -> Result<Self, Failure> {
        match u64::try_from(milliseconds) {
            Ok(0) => Ok(Self::Now),
            // A time that no clock reaches is without limit.
            Ok(milliseconds) => Ok(Instant::now()
                .checked_add(Duration::from_millis(milliseconds))
                .map_or(Self::Never, Self::Until)),
            Err(_) if milliseconds == -1 => Ok(Self::Never),
            Err(_) => Err(Failure::argument("a time is -1, 0, or a number of milliseconds")),
        }
    }
}

/// Runs `work` in this thread, until the limit, or until the object to which it belongs is released.
///
/// # Errors
/// The errors of `work`; [`Failure::LATE`]; [`Failure::RELEASED`].
pub(crate) fn wait<T>(
    limit: Limit,
    released: &CancellationToken,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    // Most work is done at once, without the price of a thread that may sleep.
    if let Poll::Ready(outcome) = poll_once(work.as_mut())? {
        return outcome;
    }
    let until = match limit {
        Limit::Now => return Err(Failure::LATE),
        Limit::Until(until) => Some(until),
        Limit::Never => None,
    };
    let late = async {
        match until {
            Some(until) => tokio::time::sleep_until(until.into()).await,
            None => std::future::pending().await,
        }
    };
    runtime::handle()?.block_on(async {
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = released.cancelled() => Err(Failure::RELEASED),
            () = late => Err(Failure::LATE),
        }
    })
}

/// Polls a future in this thread, without a wake-up.
///
/// # Errors
/// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
pub(crate) fn poll_once<F: Future + ?Sized>(work: Pin<&mut F>) -> Result<Poll<F::Output>, Failure> {
    runtime::enter()?;
    Ok(work.poll(&mut Context::from_waker(Waker::noop())))
}

/// Runs a task of the process, until the object to which it belongs is released.
///
/// # Errors
/// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
pub(crate) fn spawn(
    released: CancellationToken,
    task: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let runtime: &Handle = runtime::handle()?;
    runtime.spawn(async move {
        tokio::select! {
            biased;
            () = released.cancelled() => {}
            () = task => {}
        }
    });
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use std::future::pending;

    #[test]
    fn a_time_that_no_clock_reaches_is_without_limit() {
        assert_eq!(Limit::of(-1).unwrap(), Limit::Never);
        assert_eq!(Limit::of(0).unwrap(), Limit::Now);
        assert!(matches!(Limit::of(i64::MAX).unwrap(), Limit::Never | Limit::Until(_)));
        assert!(Limit::of(-2).is_err() && Limit::of(i64::MIN).is_err());
    }

    #[test]
    fn a_wait_ends_with_its_object_and_with_its_time() {
        let released = CancellationToken::new();
        let wait = |limit| wait(limit, &released, pending::<Result<(), Failure>>()).unwrap_err().code;
        assert_eq!(wait(Limit::Now), Failure::LATE.code);
        assert_eq!(wait(Limit::of(1).unwrap()), Failure::LATE.code);
        released.cancel();
        assert_eq!(wait(Limit::Never), Failure::RELEASED.code);
    }
}
