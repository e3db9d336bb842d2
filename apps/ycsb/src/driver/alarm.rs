//! Sleeps that are more exact than whole milliseconds.

use bertha::Runtime;
use std::time::Duration;

#[cfg(target_os = "linux")]
use {
    rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
    tokio::net::unix::pipe::Receiver,
    tokio::runtime::Handle,
};

/// Number of bytes that a timer returns when read: the number of its expiries.
#[cfg(target_os = "linux")]
const EXPIRIES: usize = size_of::<u64>();

/// An alarm that sleeps to within some ten microseconds if the system or the runtime has a timer that does
/// so, and to within a millisecond otherwise.
///
/// tokio's own timer counts in milliseconds, which is longer than a whole request takes; a client that used
/// it for pacing would mostly measure itself, and a client that spun instead would take a core from the
/// store.
#[derive(Debug)]
pub(crate) struct Alarm<R> {
    runtime: R,
    /// The timer's file descriptor, which tokio reads as it would read a pipe: each expiry makes it readable.
    #[cfg(target_os = "linux")]
    timer: Option<Receiver>,
}

#[cfg(target_os = "linux")]
impl<R: Runtime> Alarm<R> {
    /// Creates an alarm, within `runtime`, whose own timer serves if it is not tokio's or if the system
    /// provides none.
    pub(crate) fn new(runtime: R) -> Self {
        Self { runtime, timer: Handle::try_current().ok().and_then(|_| precise_timer()) }
    }

    /// Waits for `duration`. The future is cancellation-safe: the next call starts afresh.
    pub(crate) async fn sleep(&mut self, duration: Duration) {
        if let Some(timer) = &self.timer {
            match expiry(timer, duration).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "the precise timer failed");
                    self.timer = None;
                }
            }
        }
        self.runtime.sleep_until(self.runtime.now() + duration).await;
    }
}

#[cfg(target_os = "linux")]
fn precise_timer() -> Option<Receiver> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)
        .map_err(std::io::Error::from)
        .and_then(Receiver::from_owned_fd_unchecked);
    timer
        .inspect_err(
            |error| tracing::warn!(%error, "no precise timer, so operations are paced in whole milliseconds"),
        )
        .ok()
}

#[cfg(target_os = "linux")]
async fn expiry(timer: &Receiver, duration: Duration) -> std::io::Result<()> {
    arm(timer, duration)?;
    loop {
        timer.readable().await?;
        // Arming has cleared an earlier expiry that was never read, but tokio may still believe the timer to
        // be readable; so only bytes that can be read from it count.
        match timer.try_read(&mut [0; EXPIRIES]) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            other => return other.map(drop),
        }
    }
}

#[cfg(target_os = "linux")]
fn arm(timer: &Receiver, duration: Duration) -> std::io::Result<()> {
    // A value of zero would disarm the timer.
    let duration = duration.max(Duration::from_nanos(1));
    let value = Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
impl<R: Runtime> Alarm<R> {
    pub(crate) fn new(runtime: R) -> Self {
        Self { runtime }
    }

    pub(crate) async fn sleep(&mut self, duration: Duration) {
        self.runtime.sleep_until(self.runtime.now() + duration).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use bertha_runtime::tokio::TokioRuntime;

    #[tokio::test]
    async fn never_wakes_early_even_after_a_cancelled_sleep() {
        let mut alarm = Alarm::new(TokioRuntime);
        for micros in [1, 300, 1500] {
            let cancelled =
                tokio::time::timeout(Duration::ZERO, alarm.sleep(Duration::from_micros(200))).await;
            drop(cancelled);
            std::thread::sleep(Duration::from_micros(400));
            let (start, length) = (Instant::now(), Duration::from_micros(micros));
            alarm.sleep(length).await;
            assert!(start.elapsed() >= length);
        }
    }
}
