//! The repetitions of a call, without a clock.

use crate::QueueSettings;
use bertha_core::backoff::Backoff;
use bertha_core::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// The repetitions of a call.
#[derive(Debug)]
pub(crate) struct Retries {
    pauses: Backoff,
    retry_for: Duration,
    /// Time after which the call is not repeated any more; known from the first failure on.
    until: Option<Instant>,
    attempts: u32,
}

impl Retries {
    pub(crate) fn new(settings: &QueueSettings) -> Self {
        let pauses = Backoff::new(settings.retry_pause, settings.max_retry_pause).at_least_half();
        Self { pauses, retry_for: settings.retry_for, until: None, attempts: 0 }
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
        let pause = self.pauses.pause(random);
        if now + pause > until {
            return Err(self.given_up(failure));
        }
        Ok(pause)
    }

    #[cold]
    fn given_up(&self, failure: Error) -> Error {
        let attempts = self.attempts;
        let retry_for = self.retry_for;
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

    fn retries() -> Retries {
        let mut settings = QueueSettings::default();
        (settings.retry_pause, settings.max_retry_pause) = (100 * MS, 400 * MS);
        settings.retry_for = 1000 * MS;
        Retries::new(&settings)
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let (mut retries, now) = (retries(), Instant::now());
        let pauses = [(); 4].map(|()| retries.after(throttled(), now, u64::MAX).unwrap());
        assert_eq!(pauses, [100 * MS, 200 * MS, 400 * MS, 400 * MS]);
    }

    #[test]
    fn chance_takes_off_a_half_at_most() {
        let (mut lucky, mut between, now) = (retries(), retries(), Instant::now());
        assert_eq!(lucky.after(throttled(), now, 0).unwrap(), 50 * MS);
        assert_eq!(lucky.after(throttled(), now, 0).unwrap(), 100 * MS);
        let pause = between.after(throttled(), now, u64::MAX / 2).unwrap();
        assert!(pause > 74 * MS && pause < 76 * MS, "{pause:?}");
    }

    #[test]
    fn it_ends_in_time_and_says_so() {
        let (mut retries, start) = (retries(), Instant::now());
        retries.after(throttled(), start, u64::MAX).unwrap();
        retries.after(throttled(), start + 800 * MS, u64::MAX).unwrap();
        let error = retries.after(throttled(), start + 900 * MS, u64::MAX).unwrap_err();
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Exhausted, Some("Example MQ")));
        assert_eq!(error.context(), "too many requests; given up after 3 attempts in 1s");
    }

    #[test]
    fn what_does_not_pass_is_not_repeated() {
        for kind in [ErrorKind::Unauthenticated, ErrorKind::Invalid, ErrorKind::TooLarge, ErrorKind::Io] {
            let error = retries().after(Error::new(kind, "no"), Instant::now(), 0).unwrap_err();
            assert_eq!((error.kind(), error.context()), (kind, "no"));
        }
    }
}
