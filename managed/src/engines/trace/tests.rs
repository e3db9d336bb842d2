use super::*;
use crate::described::{about, binding, request};
use crate::{Chain, Trace as Context};
use bertha_schemas::{Fault, Fields};

fn made(settings: &str) -> Box<dyn Engine> {
    Trace::default().make(settings.parse().unwrap(), &binding()).unwrap()
}

fn context(flags: &str) -> Context {
    format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}").parse().unwrap()
}

/// Returns the trace of a request behind the engine.
fn behind(engine: &mut dyn Engine, call: u64, trace: Option<Context>, now: Duration) -> Option<Context> {
    let mut burst = Burst::new();
    burst.push(Message { trace, ..request(call) }).unwrap();
    engine.requests(&mut burst, now);
    burst.drain().next().unwrap().trace
}

fn answer(engine: &mut dyn Engine, call: u64) {
    let mut burst = Burst::new();
    burst.push(about(call, Kind::Response)).unwrap();
    engine.responses(&mut burst, Duration::ZERO);
}

/// Returns the number of calls in flight that have spans.
fn open(engine: Box<dyn Engine>) -> usize {
    (engine.take_apart().state.len() / 8 - 2) / 7
}

#[test]
fn a_sampled_request_gets_a_span_and_another_passes_as_it_came() {
    let mut engine = made("");
    let sampled = context("01");
    let below = behind(engine.as_mut(), 1, Some(sampled), Duration::ZERO).unwrap();
    assert_eq!((below.id(), below.is_sampled()), (sampled.id(), true));
    assert_ne!(below.span(), sampled.span());
    let other = behind(engine.as_mut(), 2, Some(sampled), Duration::ZERO).unwrap();
    assert_ne!(below.span(), other.span());
    let silent = Some(context("00"));
    assert_eq!(behind(engine.as_mut(), 3, silent, Duration::ZERO), silent);
    assert_eq!(behind(engine.as_mut(), 4, None, Duration::ZERO), None);
    assert_eq!(open(engine), 2);
}

#[test]
fn one_in_so_many_requests_without_a_trace_begins_one() {
    let mut engine = made("sample=3");
    let began = (0..9).map(|call| behind(engine.as_mut(), call, None, Duration::ZERO));
    let began: Vec<_> = began.collect();
    assert_eq!(began.iter().flatten().count(), 3);
    let ids: std::collections::HashSet<_> = began.iter().flatten().map(Context::id).collect();
    assert_eq!(ids.len(), 3);
    assert!(began.iter().flatten().all(Context::is_sampled));
}

#[test]
fn spans_beyond_the_rate_are_left_out_and_traces_are_not_broken() {
    let kind = Trace::default();
    let [mut engine, mut other] =
        [(); 2].map(|()| kind.make("per-second=5".parse().unwrap(), &binding()).unwrap());
    let trace = Some(context("01"));
    let spans = |engine: &mut dyn Engine, from: u64, now| {
        (from..from + 50).filter(|call| behind(engine, *call, trace, now) != trace).count()
    };
    assert_eq!(spans(engine.as_mut(), 0, Duration::ZERO), 5);
    // Other callers have no rate of their own.
    assert_eq!(spans(other.as_mut(), 0, Duration::ZERO), 0);
    assert_eq!(spans(other.as_mut(), 100, Duration::from_secs(1)), 5);
    assert_eq!(spans(engine.as_mut(), 100, Duration::from_millis(999)), 0);
    engine.configure("per-second=0".parse().unwrap()).unwrap();
    assert_eq!(spans(engine.as_mut(), 200, Duration::from_secs(9)), 0);
}

#[test]
fn each_outcome_ends_a_span() {
    let mut engine = made("sample=1");
    for call in 0..3 {
        behind(engine.as_mut(), call, None, Duration::ZERO).unwrap();
    }
    answer(engine.as_mut(), 0);
    let mut burst = Burst::new();
    burst.push(about(1, Kind::Cancellation)).unwrap();
    engine.requests(&mut burst, Duration::ZERO);
    assert_eq!(open(engine), 1);
}

#[test]
fn an_upgrade_keeps_spans_and_settings() {
    let mut engine = made("sample=2 per-second=7");
    behind(engine.as_mut(), 5, Some(context("01")), Duration::from_millis(3)).unwrap();
    let parts = engine.take_apart();
    let mut again = Parts { state: parts.state.clone(), ..parts };
    let engine = Trace::default().restore(&mut again, &binding()).unwrap();
    assert_eq!(engine.take_apart().state, parts.state);
    for wrong in [Parts { version: 2, ..Parts::default() }, Parts { version: VERSION, ..Parts::default() }] {
        let mut wrong = wrong;
        let refusal = Trace::default().restore(&mut wrong, &binding()).unwrap_err().to_string();
        assert!(refusal.contains("is not understood"), "{refusal}");
    }
}

/// A place without requests.
struct Nothing;

impl crate::Contents for Nothing {
    fn copy(&mut self, _: &mut Message, _: Option<&Fields>) -> Result<(), Fault> {
        Err(Fault::Malformed)
    }

    fn measure(&mut self, request: &Message, _: u32) -> u32 {
        request.bytes
    }
}

#[test]
fn a_chain_passes_traces_on_without_an_engine() {
    let (mut chain, mut burst) = (Chain::new(binding()), Burst::new());
    let trace = Some(context("01"));
    burst.push(Message { trace, ..request(1) }).unwrap();
    chain.requests(&mut burst, &mut Nothing, Duration::ZERO);
    assert_eq!(burst.drain().next().unwrap().trace, trace);
}
