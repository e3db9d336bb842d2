//! The instructions that an engine adds to a call that passes it.

use super::count;
use crate::figures::managed::built_in_kind;
use crate::figures::managed::reservation::hotel::Service;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_managed::{Binding, Burst, Chain, Contents, Copied, Kind, Message, Service as _};
use bertha_schemas::{Fault, Fields, Plan, Schema};
use std::hint::black_box;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Budgets of the instructions that an engine adds to a call.
const NULL: Budget = Budget::AtMost(150.0);
const LIMIT: Budget = Budget::AtMost(300.0);

/// The engines: as in probes, as in rows, and the budget.
const ENGINES: [(&str, &str, Budget); 2] =
    [("null", "null", NULL), ("limit", "rate-limit without a limit", LIMIT)];

/// Counts a request and its response through engines, less the same through none.
pub(super) fn instructions(report: &mut Report, calls: u64) -> Result<(), Error> {
    for burst in [1, Burst::LONGEST] {
        let of = |what: &str| format!("engines, {what}, a request and its response in bursts of {burst}");
        let counted = count(&format!("engine-none-{burst}"), calls);
        let Some(none) = report.count(&of("none"), counted)? else { continue };
        for (engine, name, budget) in ENGINES {
            let counted = count(&format!("engine-{engine}-{burst}"), calls);
            let Some(count) = report.count(&of(name), counted)? else { continue };
            let row = format!("{name} to no engine, added to a call in bursts of {burst}");
            report.bounded(row, count - none, "instructions", budget);
        }
    }
    Ok(())
}

/// Leads calls in bursts through an engine, if the name is that of an engine and a burst.
pub(super) fn probe(name: &str, calls: u64) -> Option<Result<(), Error>> {
    let (engine, burst) = name.split_once('-')?;
    let burst = burst.parse().ok().filter(|burst| (1..=Burst::LONGEST as u64).contains(burst))?;
    let engine = match engine {
        "none" => None,
        "null" => Some(("null", "")),
        "limit" => Some(("rate-limit", "per-second=infinite")),
        _ => return None,
    };
    Some(chain(engine).map(|chain| lead(chain, burst, calls)))
}

fn chain(engine: Option<(&str, &str)>) -> Result<Chain, Error> {
    let schema = Schema::read(Service::descriptors()).map_err(wrong)?;
    let plan = Arc::new(Plan::new(&schema));
    let (caller, service, counts) = ("probe".into(), "hotel".into(), Arc::default());
    let (traffic, waker) = (Arc::default(), Waker::noop().clone());
    let schema = Arc::new(schema);
    let mut chain = Chain::new(Binding { caller, service, counts, traffic, waker, schema, plan });
    if let Some((kind, settings)) = engine {
        let settings = settings.parse().map_err(wrong)?;
        chain.add(0, kind, built_in_kind(kind)?, settings).map_err(wrong)?;
    }
    Ok(chain)
}

fn wrong(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::while_doing(ErrorKind::Bertha, "making a chain of engines")(error)
}

/// Leads requests through the chain and a response for each back, as the daemon does with what it takes in a turn.
fn lead(mut chain: Chain, burst: u64, calls: u64) {
    let (mut messages, mut passing) = (Burst::new(), Vec::with_capacity(Burst::LONGEST));
    for first in (0..calls).step_by(burst as usize) {
        for call in first..first + burst {
            push(
                &mut messages,
                Message {
                    kind: Kind::Request,
                    call,
                    method: 0,
                    bytes: 64,
                    at: 8,
                    content: None,
                    copied: Copied::Whole,
                    trace: None,
                    peer: None,
                },
            );
        }
        chain.requests(&mut messages, &mut Unread, black_box(Duration::from_secs(1)));
        passing.extend(messages.drain());
        black_box((chain.take_outcomes().count(), chain.due()));
        for request in passing.drain(..) {
            push(&mut messages, Message { kind: Kind::Response, ..request });
        }
        chain.responses(&mut messages, black_box(Duration::from_secs(1)));
        black_box(messages.drain().count());
    }
}

fn push(messages: &mut Burst, message: Message) {
    // A burst has room for as many as there are.
    let _room = messages.push(black_box(message));
}

/// The contents of requests that no engine reads.
struct Unread;

impl Contents for Unread {
    fn copy(&mut self, _: &mut Message, _: Option<&Fields>) -> Result<(), Fault> {
        Err(Fault::NoRoom)
    }

    fn measure(&mut self, request: &Message, _: u32) -> u32 {
        request.bytes
    }
}
