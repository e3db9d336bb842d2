//! Counts of calls.

use crate::call_counts::{Counts, Status};
use crate::{Binding, Burst, Engine, EngineKind, Kind, Message, Parts, Settings, Unsuitable};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// `metrics`: counts calls by caller, method, peer and status, and the times that they take from here to their outcome.
///
/// It has no settings. Refusals by engines before it are not counted, and by those behind it are.
#[derive(Debug, Clone, Copy)]
pub struct Metrics;

/// The version of the state: three numbers of 64 bits for each call in flight, little-endian: its own, that of its method, and its begin
/// in nanoseconds.
const VERSION: u32 = 1;

impl EngineKind for Metrics {
    fn name(&self) -> &str {
        "metrics"
    }

    fn make(&self, settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        settings.finish()?;
        Ok(Box::new(Counting::new(binding.clone())))
    }

    fn restore(&self, parts: &mut Parts, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        if parts.version != VERSION {
            let what = format!("state of metrics of version {} is not understood", parts.version);
            return Err(Unsuitable::new(what));
        }
        let mut counting = Counting::new(binding.clone());
        let numbers = parts.state.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        for [call, method, began] in numbers.collect::<Vec<_>>().as_chunks::<3>().0 {
            let method = u32::try_from(*method).unwrap_or(u32::MAX);
            counting.in_flight.insert(*call, Begun { method, at: Duration::from_nanos(*began) });
        }
        Ok(Box::new(counting))
    }
}

/// Number of peers whose counts an engine has at hand.
const KNOWN: usize = 128;

#[derive(Debug)]
struct Counting {
    binding: Binding,
    /// The counts of the methods that were called, by the places of the methods, with their peers.
    counts: Vec<Vec<(Arc<str>, Arc<Counts>)>>,
    /// The peer of calls that nobody had.
    nobody: Arc<str>,
    in_flight: HashMap<u64, Begun>,
}

/// A call in flight.
#[derive(Debug, Clone, Copy)]
struct Begun {
    method: u32,
    at: Duration,
}

impl Counting {
    fn new(binding: Binding) -> Self {
        let counts = vec![Vec::new(); binding.schema.methods().len()];
        Self { binding, counts, nobody: Arc::from(""), in_flight: HashMap::new() }
    }

    /// Counts the end of a call that began here.
    fn end(&mut self, message: &Message, status: Status, now: Duration) {
        let Some(begun) = self.in_flight.remove(&message.call) else { return };
        let Self { binding: Binding { caller, service, counts: all, schema, .. }, counts, nobody, .. } = self;
        let place = begun.method as usize;
        let (Some(known), Some(method)) = (counts.get_mut(place), schema.methods().get(place)) else {
            return;
        };
        let (peer, took) = (message.peer.as_ref().unwrap_or(nobody), now.saturating_sub(begun.at));
        if let Some((_, counts)) = known.iter().find(|(known, _)| known == peer) {
            return counts.add(status, took);
        }
        let method = format!("{}/{}", method.service, method.name);
        let counts = all.of(caller, service, method, Arc::clone(peer));
        counts.add(status, took);
        // All of a route are known. Servers of ever new names come one after another.
        if known.len() >= KNOWN {
            known.clear();
        }
        known.push((Arc::clone(peer), counts));
    }
}

impl Engine for Counting {
    fn requests(&mut self, burst: &mut Burst, now: Duration) {
        for message in burst.messages() {
            match message.kind {
                Kind::Request => {
                    self.in_flight.insert(message.call, Begun { method: message.method, at: now });
                }
                _ => self.end(message, Status::Cancelled, now),
            }
        }
    }

    fn responses(&mut self, burst: &mut Burst, now: Duration) {
        for message in burst.messages() {
            self.end(message, Status::of(&message.kind), now);
        }
    }

    fn configure(&mut self, settings: Settings) -> Result<(), Unsuitable> {
        settings.finish()
    }

    fn take_apart(self: Box<Self>) -> Parts {
        let numbers = self.in_flight.into_iter().flat_map(|(call, begun)| {
            [call, begun.method.into(), u64::try_from(begun.at.as_nanos()).unwrap_or(u64::MAX)]
        });
        Parts { version: VERSION, state: numbers.flat_map(u64::to_le_bytes).collect(), ..Parts::default() }
    }
}
