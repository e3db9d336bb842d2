//! A limit of the rate of calls.

use crate::{Binding, Burst, Engine, EngineKind, Kind, Message, Parts, Refusal, Settings, Unsuitable};
use bertha_chunnels::rpc::FailureKind;
use bertha_core::token_bucket::{Rate, TokenBucket};
use std::collections::VecDeque;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// `rate-limit`: bounds the rate of the calls of one attachment. Excess requests wait in order.
///
/// - `per-second`: number of calls a second, at least 1, or `infinite`, which is the default.
/// - `burst`: number of calls that may pass at once after an idle time, at least 1; a hundredth of a second's.
/// - `queue`: number of requests that may wait, 4,096. A request beyond is refused as overloaded.
///
/// A cancellation takes its request out of the queue. An application that attaches again has a new limit.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit;

/// The version of the state: the rate, the burst and the queue as numbers of 64 bits, little-endian.
const VERSION: u32 = 1;

/// The tokens that a call takes: the bucket rounds what a time earns down to whole tokens.
const CALL: u64 = 1_000;

/// The tokens that a bucket has less than those of its calls: a call passes as soon as there is one token.
const AHEAD: u64 = CALL - 1;

impl EngineKind for RateLimit {
    fn name(&self) -> &str {
        "rate-limit"
    }

    fn make(&self, settings: Settings, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let mut limiter = Limiter::new(Limits::default());
        limiter.configure(settings)?;
        limiter.bucket = TokenBucket::new(limiter.limits.rate().map_or(0, |rate| rate.burst));
        Ok(Box::new(limiter))
    }

    fn restore(&self, parts: &mut Parts, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        // The bucket is empty, so that changes of engines let no more calls pass.
        let mut limiter = Limiter::new(Limits::restored(parts)?);
        limiter.bucket.spend(AHEAD);
        limiter.held.append(&mut parts.held);
        limiter.look_soon();
        Ok(Box::new(limiter))
    }
}

/// The bounds of a limiter.
#[derive(Debug, Clone, Copy)]
struct Limits {
    per_second: Calls,
    /// Number of calls; zero stands for a hundredth of a second's.
    burst: u64,
    queue: u64,
}

/// A number of calls a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Infinite,
    Number(u64),
}

impl FromStr for Calls {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Self, NoRate> {
        match text {
            "infinite" => Ok(Self::Infinite),
            _ => text.parse().map(Self::Number).map_err(|_| NoRate),
        }
    }
}

/// A text that is no rate.
#[derive(Debug)]
struct NoRate;

impl Display for NoRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of calls or `infinite` is expected")
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_second: Calls::Infinite, burst: 0, queue: 4_096 }
    }
}

impl Limits {
    fn rate(self) -> Option<Rate> {
        let Calls::Number(calls) = self.per_second else { return None };
        let burst = if self.burst == 0 { (calls / 100).max(1) } else { self.burst };
        Some(Rate { per_second: calls.saturating_mul(CALL), burst: burst.saturating_mul(CALL) - AHEAD })
    }

    fn state(self) -> Vec<u8> {
        let per_second = match self.per_second {
            Calls::Infinite => u64::MAX,
            Calls::Number(calls) => calls.min(u64::MAX - 1),
        };
        [per_second, self.burst, self.queue].iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn restored(parts: &Parts) -> Result<Self, Unsuitable> {
        let numbers = parts.state.as_chunks::<8>().0;
        let ([per_second, burst, queue], VERSION) = (numbers, parts.version) else {
            return Err(Unsuitable::new(format!(
                "state of rate-limit of version {} is not understood",
                parts.version
            )));
        };
        let per_second = match u64::from_le_bytes(*per_second) {
            u64::MAX => Calls::Infinite,
            calls => Calls::Number(calls),
        };
        Ok(Self { per_second, burst: u64::from_le_bytes(*burst), queue: u64::from_le_bytes(*queue) })
    }
}

#[derive(Debug)]
struct Limiter {
    limits: Limits,
    bucket: TokenBucket,
    /// The time of the first request, from which the bucket counts.
    began: Option<Duration>,
    held: VecDeque<Message>,
    /// The time at which the first held request may pass, if there is one.
    due: Option<Duration>,
    refusal: Refusal,
}

impl Limiter {
    fn new(limits: Limits) -> Self {
        let refusal = Refusal {
            kind: FailureKind::Overloaded,
            reason: Arc::from("too many calls wait for the limit of their rate"),
        };
        Self { limits, bucket: TokenBucket::new(0), began: None, held: VecDeque::new(), due: None, refusal }
    }

    /// Returns true if another call may pass now; else it may as soon as the limiter is due.
    #[inline]
    fn may_pass(&mut self, now: Duration) -> bool {
        let Some(rate) = self.limits.rate() else { return true };
        let began = *self.began.get_or_insert(now);
        let ready_at = self.bucket.ready_at(now.saturating_sub(began), rate);
        self.due = ready_at.map(|ready_at| began + ready_at);
        if self.due.is_none() {
            self.bucket.spend(CALL);
        }
        self.due.is_none()
    }

    /// Makes the limiter due at once if it holds requests.
    fn look_soon(&mut self) {
        self.due = (!self.held.is_empty()).then_some(Duration::ZERO);
    }

    /// Returns the number of the burst's first messages that may pass.
    fn passing(&mut self, burst: &Burst, now: Duration) -> usize {
        let messages = burst.messages();
        let stopped =
            messages.iter().position(|message| message.kind == Kind::Request && !self.may_pass(now));
        stopped.unwrap_or(messages.len())
    }

    /// Lets requests that waited pass, as many as may.
    fn release(&mut self, burst: &mut Burst, now: Duration) {
        burst.cancel_held(&mut self.held);
        let most = burst.room().min(self.held.len());
        let mut passing = 0;
        while passing < most && self.may_pass(now) {
            passing += 1;
        }
        burst.take_from(&mut self.held, passing);
        if passing == most {
            self.look_soon();
        }
    }

    /// Refuses requests for which there is no room in the queue.
    fn shorten(&mut self, burst: &mut Burst) {
        let queue = usize::try_from(self.limits.queue).unwrap_or(usize::MAX);
        while self.held.len() > queue {
            if let Some(request) = self.held.pop_back() {
                burst.refuse_held(request, self.refusal.clone());
            }
        }
    }
}

impl Engine for Limiter {
    fn requests(&mut self, burst: &mut Burst, now: Duration) {
        // No request passes another.
        let passing = if self.held.is_empty() { self.passing(burst, now) } else { 0 };
        burst.hold_requests(passing, &mut self.held);
        if !self.held.is_empty() {
            self.release(burst, now);
            self.shorten(burst);
        }
    }

    fn responses(&mut self, _: &mut Burst, _: Duration) {}

    fn due(&self) -> Option<Duration> {
        self.due
    }

    fn configure(&mut self, mut settings: Settings) -> Result<(), Unsuitable> {
        let before = self.limits;
        let (per_second, burst) = (settings.take("per-second")?, settings.take("burst")?);
        let limits = Limits {
            per_second: per_second.unwrap_or(before.per_second),
            burst: burst.unwrap_or(before.burst),
            queue: settings.take("queue")?.unwrap_or(before.queue),
        };
        settings.finish()?;
        if per_second == Some(Calls::Number(0)) {
            return Err(Unsuitable::new(
                "the setting per-second=0 of rate-limit lets no call pass; take per-second=1 or more, or an engine acl, which says what it refuses",
            ));
        }
        if burst == Some(0) {
            return Err(Unsuitable::new(
                "the setting burst=0 of rate-limit lets no call pass; take burst=1 or more, or leave it out for a hundredth of a second's",
            ));
        }
        self.limits = limits;
        self.look_soon();
        Ok(())
    }

    fn take_apart(self: Box<Self>) -> Parts {
        Parts { version: VERSION, state: self.limits.state(), held: self.held }
    }
}
