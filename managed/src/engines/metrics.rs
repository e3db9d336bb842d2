//! Counts of calls.

use crate::call_counts::{Counts, Status};
use crate::{Binding, Burst, Engine, EngineKind, Kind, Parts, Settings, Unsuitable};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// `metrics`: counts calls by caller, method and status, and the times that they take from here to their outcome.
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

#[derive(Debug)]
struct Counting {
    binding: Binding,
    /// The counts of the methods that were called, by the places of the methods.
    counts: Vec<Option<Arc<Counts>>>,
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
        let counts = vec![None; binding.schema.methods().len()];
        Self { binding, counts, in_flight: HashMap::new() }
    }

    /// Counts the end of a call that began here.
    fn end(&mut self, call: u64, status: Status, now: Duration) {
        let Some(begun) = self.in_flight.remove(&call) else { return };
        let Self { binding: Binding { caller, service, counts: all, schema, .. }, counts, .. } = self;
        let place = begun.method as usize;
        let (Some(counts), Some(method)) = (counts.get_mut(place), schema.methods().get(place)) else {
            return;
        };
        let named = || all.of(caller, service, format!("{}/{}", method.service, method.name));
        counts.get_or_insert_with(named).add(status, now.saturating_sub(begun.at));
    }
}

impl Engine for Counting {
    fn requests(&mut self, burst: &mut Burst, now: Duration) {
        for message in burst.messages() {
            match message.kind {
                Kind::Request => {
                    self.in_flight.insert(message.call, Begun { method: message.method, at: now });
                }
                _ => self.end(message.call, Status::Cancelled, now),
            }
        }
    }

    fn responses(&mut self, burst: &mut Burst, now: Duration) {
        for message in burst.messages() {
            self.end(message.call, Status::of(&message.kind), now);
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
