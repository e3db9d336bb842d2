//! Spans of calls in the log.

mod rate;

use crate::call_counts::Status;
use crate::{Binding, Burst, Engine, EngineKind, Kind, Message, Parts, Settings, Unsuitable};
use bertha_core::Runtime;
use bertha_runtime::tokio::TokioRuntime;
use rate::SpanRate;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// `trace`: makes the way of a call from here to its outcome a span of the call's [trace](crate::Trace), and tells of it by an event
/// of `tracing` with the target `bertha::rpc`: ids, caller, service, method, status and time.
///
/// - `sample`: of so many requests of a caller without a trace, one begins a trace; none does by default.
/// - `per-second`: number of spans a second, of all callers of a service together, 100. Beyond it, and for traces that are not sampled,
///   requests pass as they came: the server's span is then right below that of the caller.
#[derive(Debug, Default)]
pub struct Trace {
    /// The engines that one order of an operator makes, one for each caller, have a rate in common.
    rate: Arc<SpanRate>,
}

/// The version of the state: numbers of 64 bits, little-endian. The settings come first, then seven for each call in flight.
const VERSION: u32 = 1;

impl EngineKind for Trace {
    fn name(&self) -> &str {
        "trace"
    }

    fn make(&self, settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let mut tracer = Tracer::new(binding.clone(), Arc::clone(&self.rate));
        tracer.configure(settings)?;
        Ok(Box::new(tracer))
    }

    fn restore(&self, parts: &mut Parts, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let numbers = parts.state.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        let numbers: Vec<_> = numbers.collect();
        let ([sample, per_second, calls @ ..], VERSION) = (&numbers[..], parts.version) else {
            let what = format!("state of trace of version {} is not understood", parts.version);
            return Err(Unsuitable::new(what));
        };
        let mut tracer = Tracer::new(binding.clone(), Arc::clone(&self.rate));
        (tracer.sample, tracer.per_second) = (*sample, *per_second);
        tracer.in_flight.extend(calls.as_chunks::<7>().0.iter().filter_map(Span::of_numbers));
        Ok(Box::new(tracer))
    }
}

/// A span of a call in flight.
#[derive(Debug, Clone, Copy)]
struct Span {
    method: u32,
    began: Duration,
    trace: crate::Trace,
    /// The caller's span; zero if the trace begins here.
    parent: u64,
}

impl Span {
    fn numbers(&self, call: u64) -> [u64; 7] {
        let (id, began) = (self.trace.id(), u64::try_from(self.began.as_nanos()).unwrap_or(u64::MAX));
        let (high, low) = ((id >> 64) as u64, id as u64);
        [call, self.method.into(), began, high, low, self.trace.span(), self.parent]
    }

    fn of_numbers(numbers: &[u64; 7]) -> Option<(u64, Self)> {
        let [call, method, began, high, low, span, parent] = *numbers;
        let trace = crate::Trace::begin(u128::from(high) << 64 | u128::from(low), span)?;
        let (method, began) = (u32::try_from(method).ok()?, Duration::from_nanos(began));
        Some((call, Self { method, began, trace, parent }))
    }
}

#[derive(Debug)]
struct Tracer {
    binding: Binding,
    /// Number of requests without a trace of which one begins a trace; zero for none.
    sample: u64,
    per_second: u64,
    /// Number of requests without a trace since the last that began one.
    passed: u64,
    rate: Arc<SpanRate>,
    /// The number of which the next id is made.
    next: u64,
    in_flight: HashMap<u64, Span>,
}

impl Tracer {
    fn new(binding: Binding, rate: Arc<SpanRate>) -> Self {
        let (sample, per_second, passed) = (0, 100, 0);
        let (next, in_flight) = (TokioRuntime.random(), HashMap::new());
        Self { binding, sample, per_second, passed, rate, next, in_flight }
    }

    /// Returns a number that is not zero, and most probably no other's id. It is no secret.
    fn id(&mut self) -> u64 {
        // SplitMix64.
        self.next = self.next.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.next ^ self.next >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31).max(1)
    }

    /// Returns true if a request without a trace is one of those that begin one.
    fn is_chosen(&mut self) -> bool {
        self.passed += 1;
        let is_chosen = self.sample > 0 && self.passed >= self.sample;
        if is_chosen {
            self.passed = 0;
        }
        is_chosen
    }

    /// Begins the span of a request, if it has one.
    fn begin(&mut self, request: &mut Message, now: Duration) {
        let has_span = request.trace.map_or_else(|| self.is_chosen(), |trace| trace.is_sampled());
        if !has_span || !self.rate.may_begin(self.per_second, now) {
            return;
        }
        let (span, parent) = (self.id(), request.trace.map_or(0, |trace| trace.span()));
        let trace = match request.trace {
            Some(trace) => trace.below(span),
            None => crate::Trace::begin(u128::from(self.id()) << 64 | u128::from(self.id()), span),
        };
        if let Some(trace) = trace {
            request.trace = Some(trace);
            let span = Span { method: request.method, began: now, trace, parent };
            self.in_flight.insert(request.call, span);
        }
    }

    /// Tells of the span of a call, if it has one.
    fn end(&mut self, call: u64, status: Status, now: Duration) {
        let Some(span) = self.in_flight.remove(&call) else { return };
        let Binding { caller, service, schema, .. } = &self.binding;
        let Some(method) = schema.methods().get(span.method as usize) else { return };
        let parent = (span.parent != 0).then(|| format!("{:016x}", span.parent));
        tracing::info!(
            target: "bertha::rpc",
            trace_id = format_args!("{:032x}", span.trace.id()),
            span_id = format_args!("{:016x}", span.trace.span()),
            parent_id = parent,
            caller = %caller,
            service = %service,
            method = format_args!("{}/{}", method.service, method.name),
            status = status.name(),
            microseconds = u64::try_from(now.saturating_sub(span.began).as_micros()).unwrap_or(u64::MAX),
            "a call has passed"
        );
    }
}

impl Engine for Tracer {
    fn requests(&mut self, burst: &mut Burst, now: Duration) {
        for message in burst.messages_mut() {
            match message.kind {
                Kind::Request => self.begin(message, now),
                _ => self.end(message.call, Status::Cancelled, now),
            }
        }
    }

    fn responses(&mut self, burst: &mut Burst, now: Duration) {
        for message in burst.messages() {
            self.end(message.call, Status::of(&message.kind), now);
        }
    }

    fn configure(&mut self, mut settings: Settings) -> Result<(), Unsuitable> {
        let sample = settings.take("sample")?.unwrap_or(self.sample);
        let per_second = settings.take("per-second")?.unwrap_or(self.per_second);
        settings.finish()?;
        (self.sample, self.per_second) = (sample, per_second);
        Ok(())
    }

    fn take_apart(self: Box<Self>) -> Parts {
        let settings = [self.sample, self.per_second].into_iter();
        let numbers = settings.chain(self.in_flight.iter().flat_map(|(call, span)| span.numbers(*call)));
        Parts { version: VERSION, state: numbers.flat_map(u64::to_le_bytes).collect(), ..Parts::default() }
    }
}

#[cfg(test)]
mod tests;
