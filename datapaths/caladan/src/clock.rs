//! Time: a single green thread and a single timer serve all sleeping futures.

use crate::bindings::{self, Alarm, Parker, Work, inbox, isolated};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::SyncSender;
use std::task::Waker;
use std::time::{Duration, Instant};

/// The parker in which the clock's green thread waits.
static CLOCK: Parker = Parker::new();

/// The timers. Any thread may lock them, to drop a sleeping future. No event is woken or dropped while the
/// lock is held.
static TIMERS: Mutex<Timers> = Mutex::new(Timers { events: BTreeMap::new(), numbers: 0, looks_at: None });

struct Timers {
    events: BTreeMap<Key, Event>,
    numbers: u64,
    /// Time of the clock's next look; `None` while it is looking.
    looks_at: Option<Instant>,
}

/// The key of an event among the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    deadline: Instant,
    number: u64,
}

/// The action at an event's deadline.
pub(crate) enum Event {
    Wake(Waker),
    Call(Box<dyn FnOnce() + Send>),
}

/// Adds an event.
pub(crate) fn add(deadline: Instant, event: Event) -> Key {
    let mut timers = TIMERS.lock();
    timers.numbers += 1;
    let key = Key { deadline, number: timers.numbers };
    timers.events.insert(key, event);
    let looks_too_late = timers.looks_at.is_some_and(|at| deadline < at);
    drop(timers);
    // Outside of the runtime, only the clock itself would serve a request to resume the clock; and it looks
    // soon enough by itself.
    if looks_too_late && bindings::on_caladan() {
        let _ = CLOCK.wake();
    }
    key
}

/// Exchanges the waker of an event. Returns false if the event has happened.
pub(crate) fn replace_waker(key: Key, waker: &Waker) -> bool {
    let mut timers = TIMERS.lock();
    let Some(event) = timers.events.get_mut(&key) else { return false };
    let before = std::mem::replace(event, Event::Wake(waker.clone()));
    drop(timers);
    drop(before);
    true
}

/// Removes an event.
pub(crate) fn remove(key: Key) {
    let removed = TIMERS.lock().events.remove(&key);
    drop(removed);
}

/// The green thread that watches the time, and the requests of other threads.
pub(crate) struct Clock {
    started: SyncSender<io::Result<()>>,
    alarm: Option<Alarm>,
}

impl Clock {
    /// Creates the clock, which reports through `started` once it runs.
    pub(crate) fn new(started: SyncSender<io::Result<()>>) -> Self {
        Self { started, alarm: None }
    }

    fn begin(&mut self) {
        let alarm = Alarm::new(&CLOCK).map(|alarm| self.alarm = Some(alarm));
        // The thread that starts the runtime waits for the report.
        let _ = self.started.send(alarm);
    }

    /// Runs the actions that are due, and sets the alarm for the next deadline.
    fn look(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            alarm.cancel();
        }
        inbox::serve();
        let next = loop {
            let due = {
                let mut timers = TIMERS.lock();
                let now = Instant::now();
                timers.looks_at = None;
                let later = timers.events.split_off(&Key { deadline: now, number: u64::MAX });
                let due = std::mem::replace(&mut timers.events, later);
                if due.is_empty() {
                    let next = timers.events.first_key_value().map(|(key, _)| key.deadline);
                    let next = next.unwrap_or(now + inbox::LATE).min(now + inbox::LATE);
                    timers.looks_at = Some(next);
                    break next - now;
                }
                due
            };
            for event in due.into_values() {
                match event {
                    Event::Wake(waker) => waker.wake(),
                    Event::Call(action) => action(),
                }
            }
        };
        if let Some(alarm) = &mut self.alarm {
            alarm.set(next.max(Duration::from_micros(1)));
        }
    }
}

impl Work for Clock {
    fn run(mut self: Box<Self>) {
        isolated(|| self.begin());
        loop {
            isolated(|| self.look());
            CLOCK.park();
        }
    }
}

bertha_core::debug_fields!(Clock {});
