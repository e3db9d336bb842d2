//! The engines of a binding's calls, in order.

use crate::{
    Binding, Burst, Copied, Engine, EngineKind, Kind, Message, Parts, Refusal, Settings, Unsuitable,
};
use bertha_chunnels::rpc::FailureKind;
use bertha_schemas::{Fault, Fields};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The place from which a [`Chain`] has copies of requests for engines that read them.
pub trait Contents {
    /// Copies these fields of a request from its application's heap into private memory, which becomes the request's
    /// [content](Message::content); all of the request if no fields are named. One that has a content keeps what is there. A copy of more than
    /// the fields says [so](Message::copied).
    ///
    /// # Errors
    /// Fails with what is wrong with the request.
    fn copy(&mut self, request: &mut Message, fields: Option<&Fields>) -> Result<(), Fault>;

    /// Returns the number of bytes that a copy of a request takes. Of one of more than `most`, it is some number above `most`.
    fn measure(&mut self, request: &Message, most: u32) -> u32;
}

/// The engines of a binding's calls, in the order in which requests pass them. Outcomes pass them in the opposite order.
///
/// The chain has no clock: times count from a beginning that its owner chooses. Changes take place between bursts. Requests that an engine
/// held when it was removed go on before later ones.
///
/// Each call has one outcome. The owner hands over a cancellation, a response or a failure for calls alone that have had none.
#[derive(Debug)]
pub struct Chain {
    binding: Binding,
    places: Vec<Place>,
    reads: Reads,
    /// Requests that have passed all engines, and go before those that come.
    leaving: VecDeque<Message>,
    refused: VecDeque<Message>,
    failures: Burst,
    outcomes: Vec<Message>,
}

/// The fields that engines read, by the methods.
#[derive(Debug, Default)]
struct Reads {
    fields: Vec<Fields>,
    /// The number of changes of engines.
    version: u32,
}

#[derive(Debug)]
struct Place {
    name: String,
    kind: Arc<dyn EngineKind>,
    engine: Box<dyn Engine>,
    /// Requests that go before those that come.
    entering: VecDeque<Message>,
}

/// The reason why a chain is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unchanged {
    /// There is no engine of this name.
    NoEngine(String),
    /// There is an engine of this name already.
    Twice(String),
    /// The engine is of another kind, which is this one.
    OtherKind(String),
    /// The settings are wrong, or the state of the engine is not understood.
    Unsuitable(Unsuitable),
}

impl fmt::Display for Unchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEngine(name) => write!(f, "there is no engine {name}"),
            Self::OtherKind(kind) => {
                write!(f, "the engine is of the kind {kind}, and an upgrade keeps the kind")
            }
            Self::Twice(name) => write!(f, "there is an engine {name} already"),
            Self::Unsuitable(reason) => fmt::Display::fmt(reason, f),
        }
    }
}

impl std::error::Error for Unchanged {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unsuitable(reason) => Some(reason),
            _ => None,
        }
    }
}

impl From<Unsuitable> for Unchanged {
    fn from(reason: Unsuitable) -> Self {
        Self::Unsuitable(reason)
    }
}

impl Chain {
    /// Creates a chain without engines.
    pub fn new(binding: Binding) -> Self {
        let (leaving, refused) = (VecDeque::new(), VecDeque::new());
        let (places, reads) = (Vec::new(), Reads::default());
        Self { binding, places, reads, leaving, refused, failures: Burst::new(), outcomes: Vec::new() }
    }

    /// Leads requests and cancellations through the engines. What is in the burst afterwards goes to the peer. Requests that were refused
    /// are among the [outcomes](Self::take_outcomes).
    pub fn requests(&mut self, burst: &mut Burst, contents: &mut impl Contents, now: Duration) {
        for place in 0..self.places.len() {
            let Place { engine, entering, .. } = &mut self.places[place];
            go_before(entering, burst);
            fill(burst, engine.as_ref(), &self.reads, contents);
            weigh(burst, engine.as_ref(), contents);
            engine.requests(burst, now);
            if burst.has_refused() {
                self.refused.extend(burst.take_refused());
                self.answer(place, now);
            }
        }
        go_before(&mut self.leaving, burst);
    }

    /// Leads responses and failures through the engines. What is in the burst afterwards goes to the caller.
    pub fn responses(&mut self, burst: &mut Burst, now: Duration) {
        answered_by(&mut self.places, burst, now);
    }

    /// Takes the failures of requests that engines have refused. They go to the caller.
    pub fn take_outcomes(&mut self) -> impl Iterator<Item = Message> {
        self.outcomes.drain(..)
    }

    /// Returns the time at which the chain has to work even without messages.
    pub fn due(&self) -> Option<Duration> {
        let is_waiting =
            !self.leaving.is_empty() || self.places.iter().any(|place| !place.entering.is_empty());
        if is_waiting {
            return Some(Duration::ZERO);
        }
        self.places.iter().filter_map(|place| place.engine.due()).min()
    }

    /// Returns the names of the engines and of their kinds, in order.
    pub fn engines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.places.iter().map(|place| (place.name.as_str(), place.kind.name()))
    }

    /// Adds an engine behind so many others; behind all if there are fewer.
    ///
    /// # Errors
    /// Fails if the name is taken, and with what is wrong with the settings.
    pub fn add(
        &mut self,
        behind: usize,
        name: &str,
        kind: Arc<dyn EngineKind>,
        settings: Settings,
    ) -> Result<(), Unchanged> {
        if self.find(name).is_ok() {
            return Err(Unchanged::Twice(name.to_owned()));
        }
        let engine = kind.make(settings, &self.binding)?;
        let place = Place { name: name.to_owned(), kind, engine, entering: VecDeque::new() };
        self.places.insert(behind.min(self.places.len()), place);
        self.look();
        Ok(())
    }

    /// Changes settings of an engine. Those that are not named stay.
    ///
    /// # Errors
    /// Fails if there is no such engine, and with what is wrong with the settings.
    pub fn configure(&mut self, name: &str, settings: Settings) -> Result<(), Unchanged> {
        let place = self.find(name)?;
        self.places[place].engine.configure(settings)?;
        self.look();
        Ok(())
    }

    /// Removes an engine. The requests that it held go on before later ones.
    ///
    /// # Errors
    /// Fails if there is no such engine.
    pub fn remove(&mut self, name: &str) -> Result<(), Unchanged> {
        let place = self.find(name)?;
        let Place { engine, entering, .. } = self.places.remove(place);
        let behind = self.entrance(place);
        behind.extend(engine.take_apart().held);
        behind.extend(entering);
        self.look();
        Ok(())
    }

    /// Puts another version of its kind in the place of an engine, with its state and the requests that it held.
    ///
    /// # Errors
    /// Fails if there is no such engine, if it is of another kind, and if the new version does not understand its state.
    pub fn upgrade(&mut self, name: &str, kind: Arc<dyn EngineKind>) -> Result<(), Unchanged> {
        let place = self.find(name)?;
        let there = &mut self.places[place];
        if there.kind.name() != kind.name() {
            return Err(Unchanged::OtherKind(there.kind.name().to_owned()));
        }
        let mut parts = std::mem::replace(&mut there.engine, Box::new(Closed)).take_apart();
        let upgraded = match kind.restore(&mut parts, &self.binding) {
            Ok(engine) => {
                (there.kind, there.engine) = (kind, engine);
                Ok(())
            }
            Err(reason) => {
                // An engine that does not understand its own state leaves a place that lets nothing pass.
                if let Ok(engine) = there.kind.restore(&mut parts, &self.binding) {
                    there.engine = engine;
                }
                Err(reason.into())
            }
        };
        self.entrance(place + 1).append(&mut parts.held);
        self.look();
        upgraded
    }

    /// Lets all requests go on that engines hold: each behind its engine, before later ones. An engine behind may hold them again.
    pub fn release(&mut self) {
        // The last first, so that requests which are ahead stay so.
        for place in (0..self.places.len()).rev() {
            let there = &mut self.places[place];
            let mut parts = std::mem::replace(&mut there.engine, Box::new(Closed)).take_apart();
            let mut held = std::mem::take(&mut parts.held);
            // An engine that does not understand its own state leaves a place that lets nothing pass.
            if let Ok(engine) = there.kind.restore(&mut parts, &self.binding) {
                there.engine = engine;
            }
            let behind = self.entrance(place + 1);
            behind.append(&mut held);
            behind.append(&mut parts.held);
        }
        self.look();
    }

    /// Returns true if an engine of this name reads fields of requests.
    pub fn reads(&self, name: &str) -> bool {
        let mut methods = 0..self.binding.schema.methods().len();
        self.find(name).is_ok_and(|place| {
            methods.any(|method| !self.places[place].engine.reads(method as u32).is_empty())
        })
    }

    /// Looks at what engines read, after a change. A request that was copied before is copied whole where an engine reads it from now on: its
    /// copy may lack what this one reads.
    fn look(&mut self) {
        let methods = 0..self.binding.schema.methods().len() as u32;
        let reads = |method| self.places.iter().flat_map(move |place| place.engine.reads(method)).collect();
        self.reads.fields = methods.map(reads).collect();
        self.reads.version = self.reads.version.wrapping_add(1);
    }

    fn find(&self, name: &str) -> Result<usize, Unchanged> {
        let place = self.places.iter().position(|place| place.name == name);
        place.ok_or_else(|| Unchanged::NoEngine(name.to_owned()))
    }

    /// Returns the requests that go before others at this place.
    fn entrance(&mut self, place: usize) -> &mut VecDeque<Message> {
        match self.places.get_mut(place) {
            Some(place) => &mut place.entering,
            None => &mut self.leaving,
        }
    }

    /// Leads the failures of refused requests through the engines that have let them pass.
    fn answer(&mut self, passed: usize, now: Duration) {
        while !self.refused.is_empty() {
            self.failures.take_from(&mut self.refused, Burst::LONGEST);
            answered_by(&mut self.places[..passed], &mut self.failures, now);
            self.outcomes.extend(self.failures.drain());
        }
    }
}

fn answered_by(places: &mut [Place], burst: &mut Burst, now: Duration) {
    for place in places.iter_mut().rev() {
        place.engine.responses(burst, now);
        burst.keep_refused();
    }
}

/// Lets requests go before those of the burst.
fn go_before(queue: &mut VecDeque<Message>, burst: &mut Burst) {
    if !queue.is_empty() {
        burst.hold_requests(0, queue);
        burst.cancel_held(queue);
        burst.take_from(queue, Burst::LONGEST);
    }
}

/// Has requests copied that the engine reads. A request that is malformed is refused.
fn fill(burst: &mut Burst, engine: &dyn Engine, reads: &Reads, contents: &mut impl Contents) {
    burst.refuse_if(|message| {
        if message.kind != Kind::Request
            || message.content.is_some() && message.copied.has(reads.version)
            || engine.reads(message.method).is_empty()
        {
            return None;
        }
        let fields = if message.content.is_none() { reads.fields.get(message.method as usize) } else { None };
        message.copied = match fields {
            Some(_) => Copied::Fields { version: reads.version },
            None => Copied::Whole,
        };
        let copied = contents.copy(message, fields);
        copied.err().map(|fault| Refusal::of_fault(&fault, "request"))
    });
}

/// Has requests counted that the engine weighs.
fn weigh(burst: &mut Burst, engine: &dyn Engine, contents: &mut impl Contents) {
    if let Some(most) = engine.weighs() {
        for request in burst.requests_mut() {
            request.bytes = contents.measure(request, most);
        }
    }
}

/// The engine in the place of one that is lost. It lets no request pass.
#[derive(Debug)]
struct Closed;

impl Engine for Closed {
    fn requests(&mut self, burst: &mut Burst, _: Duration) {
        burst.refuse_if(|message| {
            let reason = "an engine was lost in an upgrade; the operator has to remove it";
            (message.kind == Kind::Request)
                .then(|| Refusal { kind: FailureKind::Unavailable, reason: reason.into() })
        });
    }

    fn responses(&mut self, _: &mut Burst, _: Duration) {}

    fn configure(&mut self, _: Settings) -> Result<(), Unsuitable> {
        Err(Unsuitable::new("an engine that was lost in an upgrade has no settings; it can be removed"))
    }

    fn take_apart(self: Box<Self>) -> Parts {
        Parts::default()
    }
}

#[cfg(test)]
mod tests;
