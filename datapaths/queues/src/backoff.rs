//! The pauses between repetitions of a call, without a clock.

use crate::QueueSettings;
use bertha_core::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// The repetitions of a call.
#[derive(Debug)]
pub(crate) struct Backoff {
    pause: Duration,
    max: Duration,
    retry_for: Duration,
    /// Time after which the call is not repeated any more; known from the first failure on.
    until: Option<Instant>,
    attempts: u32,
}

impl Backoff {
    pub(crate) fn new(settings: &QueueSettings) -> Self {
        let (pause, max) = (settings.retry_pause, settings.max_retry_pause);
        Self { pause, max, retry_for: settings.retry_for, until: None, attempts: 0 }
    }

    /// Returns the pause before the call that failed at `now` is repeated, with `random` bits.
    ///
    /// # Errors
    /// Returns the error of the call, if it is not temporary or has lasted for too long.
    pub(crate) fn after(&mut self, failure: Error, now: Instant, random: u64) -> Result<Duration, Error> {
        if !is_temporary(&failure) {
            return Err(failure);
        }
        self.attempts += 1;
        let until = *self.until.get_or_insert(now + self.retry_for);
        let whole = self.pause.min(self.max);
        let pause = whole - whole.mul_f64((random >> 32) as f64 / f64::from(u32::MAX) / 2.0);
        if now + pause > until {
            return Err(self.given_up(failure));
        }
        self.pause = whole * 2;
        Ok(pause)
    }

    #[cold]
    fn given_up(&self, failure: Error) -> Error {
        let (attempts, retry_for) = (self.attempts, self.retry_for);
        let what = format!("{}; given up after {attempts} attempts in {retry_for:?}", failure.context());
        let error = Error::new(failure.kind(), what);
        match failure.chunnel() {
            Some(service) => error.at(service).because(failure),
            None => error.because(failure),
        }
    }
}

/// Returns true if the call may succeed later.
pub(crate) fn is_temporary(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::Unreachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn throttled() -> Error {
        Error::new(ErrorKind::Exhausted, "too many requests").at("Example MQ")
    }

    fn backoff() -> Backoff {
        let mut settings = QueueSettings::default();
        (settings.retry_pause, settings.max_retry_pause) = (100 * MS, 400 * MS);
        settings.retry_for = 1000 * MS;
        Backoff::new(&settings)
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let (mut backoff, now) = (backoff(), Instant::now());
        let pauses = [(); 4].map(|()| backoff.after(throttled(), now, 0).unwrap());
        assert_eq!(pauses, [100 * MS, 200 * MS, 400 * MS, 400 * MS]);
    }

    #[test]
    fn chance_takes_off_a_half_at_most() {
        let (mut lucky, mut between, now) = (backoff(), backoff(), Instant::now());
        assert_eq!(lucky.after(throttled(), now, u64::MAX).unwrap(), 50 * MS);
        assert_eq!(lucky.after(throttled(), now, u64::MAX).unwrap(), 100 * MS);
        let pause = between.after(throttled(), now, u64::MAX / 2).unwrap();
        assert!(pause > 74 * MS && pause < 76 * MS, "{pause:?}");
    }

    #[test]
    fn it_ends_in_time_and_says_so() {
        let (mut backoff, start) = (backoff(), Instant::now());
        backoff.after(throttled(), start, 0).unwrap();
        backoff.after(throttled(), start + 800 * MS, 0).unwrap();
        let error = backoff.after(throttled(), start + 900 * MS, 0).unwrap_err();
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Exhausted, Some("Example MQ")));
        assert_eq!(error.context(), "too many requests; given up after 3 attempts in 1s");
    }

    #[test]
    fn what_does_not_pass_is_not_repeated() {
        for kind in [ErrorKind::Unauthenticated, ErrorKind::Invalid, ErrorKind::TooLarge, ErrorKind::Io] {
            let error = backoff().after(Error::new(kind, "no"), Instant::now(), 0).unwrap_err();
            assert_eq!((error.kind(), error.context()), (kind, "no"));
        }
    }
}
