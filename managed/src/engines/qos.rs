//! Small calls before large ones.

mod place;

use crate::traffic::{Lanes, Takes};
use crate::{Binding, Burst, Engine, EngineKind, Kind, Message, Parts, Settings, Unsuitable};
use place::Place;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// `qos`: lets small requests go before large ones, of all callers whose services have the engine.
///
/// - `small`: number of bytes up to which a request is small; 4,096.
/// - `bulk`: number of bytes of large requests that may be on their way at once; 524,288. A larger one goes alone.
/// - `hold`: number of milliseconds, from 1 to 10,000, for which a call may hold others back; 2.
///
/// Small requests wait for nothing. Large ones wait in the order of their caller while others are on their way: any other while small calls
/// are, and else `bulk` bytes of them. So a small call finds a short way, and callers with large ones take turns. A call is on its way until
/// its outcome, and no longer than `hold`: what takes longer is work of its server. The first that waits of each caller goes after `hold` in
/// any case, so that none starves. A cancellation takes its request out of the queue.
///
/// The daemon counts the bytes of a request before this engine gets it: nobody gains by saying less.
#[derive(Debug, Clone, Copy)]
pub struct Qos;

/// The version of the state: the settings, and two numbers for each call on its way, its own and that in the traffic, as numbers of 64 bits,
/// little-endian.
const VERSION: u32 = 1;

/// The longest time, in milliseconds, for which a call may hold others. It bounds the memory of calls that have passed.
const LONGEST_HOLD: u64 = 10_000;

impl EngineKind for Qos {
    fn name(&self) -> &str {
        "qos"
    }

    fn make(&self, settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let mut engine = SmallFirst::new(Bounds::default(), binding);
        engine.configure(settings)?;
        Ok(Box::new(engine))
    }

    fn restore(&self, parts: &mut Parts, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let numbers = parts.state.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        let numbers: Vec<_> = numbers.collect();
        let (Some(([small, bulk, hold], calls)), VERSION) = (numbers.split_first_chunk(), parts.version)
        else {
            let what = format!("state of qos of version {} is not understood", parts.version);
            return Err(Unsuitable::new(what));
        };
        let mut engine = SmallFirst::new(Bounds { small: *small, bulk: *bulk, hold: *hold }, binding);
        engine.passed = calls.as_chunks().0.iter().map(|[call, number]| (*call, *number)).collect();
        engine.held.append(&mut parts.held);
        Ok(Box::new(engine))
    }
}

/// The bounds of an engine, in bytes and milliseconds.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    small: u64,
    bulk: u64,
    hold: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { small: 4 << 10, bulk: 512 << 10, hold: 2 }
    }
}

impl Bounds {
    fn is_large(self, request: &Message) -> bool {
        u64::from(request.bytes) > self.small
    }

    /// Returns the number of bytes of others beside which a request has room.
    fn beside(self, request: &Message) -> u64 {
        self.bulk.saturating_sub(request.bytes.into())
    }

    fn hold(self) -> Duration {
        Duration::from_millis(self.hold)
    }
}

#[derive(Debug)]
struct SmallFirst {
    bounds: Bounds,
    /// Large requests.
    held: VecDeque<Message>,
    /// The time since which the first of them is the first. Without one, the engine has to look at once.
    since: Option<Duration>,
    /// The numbers of calls in the traffic.
    passed: HashMap<u64, u64>,
    place: Place,
}

impl SmallFirst {
    fn new(bounds: Bounds, binding: &Binding) -> Self {
        let place = Place::new(binding);
        Self { bounds, held: VecDeque::new(), since: None, passed: HashMap::new(), place }
    }

    /// Notes the small requests and the ends of a burst.
    fn note(&mut self, burst: &Burst, lanes: &mut Lanes, until: Duration) {
        for message in burst.messages() {
            if message.kind == Kind::Request {
                self.passed.insert(message.call, lanes.pass(Takes::Precedence, until));
            } else if let Some(number) = self.passed.remove(&message.call) {
                lanes.end(number);
            }
        }
    }

    /// Lets large requests pass, as many as may.
    fn release(&mut self, burst: &mut Burst, lanes: &mut Lanes, now: Duration) {
        let (bounds, mut passing) = (self.bounds, 0);
        let since = *self.since.get_or_insert(now);
        for request in self.held.iter().take(burst.room()) {
            let may_pass = lanes.is_turn_of(self.place.ticket) && lanes.is_free(bounds.beside(request));
            let is_late = passing == 0 && since + bounds.hold() <= now;
            if !may_pass && !is_late {
                break;
            }
            let number = lanes.pass(Takes::Room(request.bytes), now + bounds.hold());
            self.passed.insert(request.call, number);
            // The next one waits behind other callers.
            self.place.give_up(lanes);
            (passing, self.since) = (passing + 1, Some(now));
        }
        burst.take_from(&mut self.held, passing);
    }
}

impl Engine for SmallFirst {
    fn requests(&mut self, burst: &mut Burst, now: Duration) {
        let bounds = self.bounds;
        burst.hold_if(&mut self.held, |request| bounds.is_large(request));
        if !self.held.is_empty() {
            burst.cancel_held(&mut self.held);
        }
        let traffic = Arc::clone(&self.place.traffic);
        let next = {
            let mut lanes = traffic.lock(now);
            self.note(burst, &mut lanes, now + bounds.hold());
            self.release(burst, &mut lanes, now);
            let first = self.held.front();
            if first.is_none() {
                self.since = None;
            }
            self.place.keep(&mut lanes, first.map(|request| bounds.beside(request)));
            lanes.next()
        };
        next.into_iter().for_each(Waker::wake);
    }

    fn responses(&mut self, burst: &mut Burst, now: Duration) {
        let next = {
            let mut lanes = self.place.traffic.lock(now);
            for message in burst.messages() {
                if let Some(number) = self.passed.remove(&message.call) {
                    lanes.end(number);
                }
            }
            lanes.next()
        };
        next.into_iter().for_each(Waker::wake);
    }

    fn due(&self) -> Option<Duration> {
        let late = |since| since + self.bounds.hold();
        (!self.held.is_empty()).then(|| self.since.map_or(Duration::ZERO, late))
    }

    fn weighs(&self) -> Option<u32> {
        Some(u32::try_from(self.bounds.small).unwrap_or(u32::MAX))
    }

    fn configure(&mut self, mut settings: Settings) -> Result<(), Unsuitable> {
        let before = self.bounds;
        let bounds = Bounds {
            small: settings.take("small")?.unwrap_or(before.small),
            bulk: settings.take("bulk")?.unwrap_or(before.bulk),
            hold: settings.take("hold")?.unwrap_or(before.hold),
        };
        settings.finish()?;
        if !(1..=LONGEST_HOLD).contains(&bounds.hold) {
            return Err(Unsuitable::new(format!("hold={} is not from 1 to {LONGEST_HOLD}", bounds.hold)));
        }
        (self.bounds, self.since) = (bounds, None);
        Ok(())
    }

    fn take_apart(self: Box<Self>) -> Parts {
        let Bounds { small, bulk, hold } = self.bounds;
        let calls = self.passed.into_iter().flat_map(|(call, number)| [call, number]);
        let state = [small, bulk, hold].into_iter().chain(calls).flat_map(u64::to_le_bytes).collect();
        Parts { version: VERSION, state, held: self.held }
    }
}

#[cfg(test)]
mod tests;
