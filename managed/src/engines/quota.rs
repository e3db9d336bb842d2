//! A limit of the calls in flight.

use crate::{Binding, Burst, Engine, EngineKind, Kind, Parts, Refusal, Settings, Unsuitable};
use bertha_chunnels::rpc::FailureKind;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// `quota`: bounds the calls of one attachment that are in flight. A request beyond is refused as overloaded.
///
/// - `calls`: number of calls that may be in flight, at least 1; 128.
#[derive(Debug, Clone, Copy)]
pub struct Quota;

/// The version of the state: the number of calls that may be in flight, and the calls that are, as numbers of 64 bits, little-endian.
const VERSION: u32 = 1;

impl EngineKind for Quota {
    fn name(&self) -> &str {
        "quota"
    }

    fn make(&self, settings: Settings, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let mut calls = InFlight::new(128, HashSet::new());
        calls.configure(settings)?;
        Ok(Box::new(calls))
    }

    fn restore(&self, parts: &mut Parts, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let mut numbers = parts.state.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        match (parts.version, numbers.next()) {
            (VERSION, Some(most)) => Ok(Box::new(InFlight::new(most, numbers.collect()))),
            (version, _) => {
                Err(Unsuitable::new(format!("state of quota of version {version} is not understood")))
            }
        }
    }
}

#[derive(Debug)]
struct InFlight {
    most: u64,
    /// The calls by their numbers: those that began before the engine was there do not count, and neither do their ends.
    calls: HashSet<u64>,
    refusal: Refusal,
}

impl InFlight {
    fn new(most: u64, calls: HashSet<u64>) -> Self {
        let refusal =
            Refusal { kind: FailureKind::Overloaded, reason: Arc::from("too many calls are in flight") };
        Self { most, calls, refusal }
    }
}

impl Engine for InFlight {
    fn requests(&mut self, burst: &mut Burst, _: Duration) {
        burst.refuse_if(|message| {
            match message.kind {
                Kind::Request if self.calls.len() as u64 >= self.most => return Some(self.refusal.clone()),
                Kind::Request => self.calls.insert(message.call),
                _ => self.calls.remove(&message.call),
            };
            None
        });
    }

    fn responses(&mut self, burst: &mut Burst, _: Duration) {
        for message in burst.messages() {
            self.calls.remove(&message.call);
        }
    }

    fn configure(&mut self, mut settings: Settings) -> Result<(), Unsuitable> {
        let most = settings.take("calls")?.unwrap_or(self.most);
        settings.finish()?;
        if most == 0 {
            return Err(Unsuitable::new(
                "the setting calls=0 of quota lets no call pass; take calls=1 or more, or an engine acl, which says what it refuses",
            ));
        }
        self.most = most;
        Ok(())
    }

    fn take_apart(self: Box<Self>) -> Parts {
        let numbers = std::iter::once(self.most).chain(self.calls);
        Parts { version: VERSION, state: numbers.flat_map(u64::to_le_bytes).collect(), ..Parts::default() }
    }
}
