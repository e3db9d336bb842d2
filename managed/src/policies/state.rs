//! The calls of a connection on their way through engines, without I/O.

use super::under_way::{Arrival, Leaving, UnderWay, number};
use crate::{Burst, Chain, Copied, Kind, Message, Refusal};
use bertha_chunnels::rpc::{self, Failure, FailureKind, MessageKind};
use bertha_core::DropCounter;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The engines of a connection, the calls under way, and the messages that wait to be sent and to be received.
#[derive(Debug)]
pub(super) struct State {
    pub(super) chain: Chain,
    pub(super) calls: UnderWay,
    /// The messages that wait to be received by the layer above.
    pub(super) up: VecDeque<rpc::Message>,
    /// The messages that wait to be sent by the layer below.
    pub(super) down: VecDeque<rpc::Message>,
    /// The way of the calls, once there has been one.
    way: Option<Way>,
    burst: Burst,
    late: Vec<u64>,
    /// Number of calls that engines have refused.
    pub(super) refused: u64,
    stray: DropCounter,
    reasons: Reasons,
}

/// The way of calls: to the peer, or to the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Down,
    Up,
}

/// The reason why a call is given up that engines have held for too long.
const LATE: &str = "the call was held until its deadline";

/// The reasons that are told without an engine, made once.
#[derive(Debug)]
struct Reasons {
    by_server: Arc<str>,
    late: Arc<str>,
}

impl State {
    pub(super) fn new(chain: Chain, calls: UnderWay, stray: DropCounter) -> Self {
        let (up, down, late) = Default::default();
        let by_server = "the server has no response".into();
        let reasons = Reasons { by_server, late: LATE.into() };
        Self { chain, calls, up, down, way: None, burst: Burst::new(), late, refused: 0, stray, reasons }
    }

    /// Returns true if the calls are those of the peer.
    pub(super) fn serves(&self) -> bool {
        self.way == Some(Way::Up)
    }

    /// Takes a message of the layer above.
    pub(super) fn outgoing(&mut self, message: rpc::Message, now: Duration) {
        match (message.kind(), self.way) {
            (MessageKind::Call { method }, way) => {
                // A server sends no calls: what its peer has sent as calls were none of its client.
                if way == Some(Way::Up) {
                    self.give_up_all(now);
                }
                self.way = Some(Way::Down);
                self.begin(message, method, now);
            }
            (MessageKind::Cancellation, Some(Way::Down)) => self.cancel(message, now),
            (kind, Some(Way::Up)) => self.answer(message, kind, now),
            _ => self.down.push_back(message),
        }
    }

    /// Takes a message of the layer below.
    pub(super) fn incoming(&mut self, message: rpc::Message, now: Duration) {
        match (message.kind(), self.way) {
            // A client serves no calls: the layer above drops and counts them.
            (MessageKind::Call { .. }, Some(Way::Down)) => self.up.push_back(message),
            (MessageKind::Call { method }, _) => {
                self.way = Some(Way::Up);
                self.begin(message, method, now);
            }
            (MessageKind::Cancellation, Some(Way::Up)) => self.cancel(message, now),
            (kind, Some(Way::Down)) => self.answer(message, kind, now),
            _ => self.up.push_back(message),
        }
    }

    /// Lets engines work that are due. Returns true if there was one.
    pub(super) fn turn(&mut self, now: Duration) -> bool {
        let is_due = self.chain.due().is_some_and(|due| due <= now);
        if is_due {
            self.pass(now);
        }
        is_due
    }

    /// Lets all calls go on that engines hold.
    pub(super) fn release(&mut self, now: Duration) {
        // An engine may hold again what one before it has let go. The number of turns bounds an engine that lets nothing go.
        let turns = (self.chain.engines().count() + 1) * (self.calls.len() + 1);
        for _ in 0..turns {
            if self.calls.of_held().0 == 0 {
                return;
            }
            if self.chain.due() != Some(Duration::ZERO) {
                self.chain.release();
            }
            self.pass(now);
        }
    }

    /// Ends a call that the layer below did not send.
    pub(super) fn not_sent(&mut self, call: u64, refusal: Refusal, now: Duration) {
        if self.calls.get(call).is_some_and(|there| there.request.is_none()) {
            self.fail(call, refusal, now);
        }
    }

    /// Leads the failure of a call through the engines, and returns the call.
    fn fail(&mut self, call: u64, refusal: Refusal, now: Duration) -> Option<rpc::CallId> {
        let there = self.calls.remove(call)?;
        self.outcome(call, there.method, Kind::Failure(refusal), now);
        Some(there.id)
    }

    /// Takes note that the layer below did not send what waited: a call ends, and a refusal is sent again.
    pub(super) fn fail_sent(&mut self, call: rpc::CallId, refusal: Refusal, now: Duration) {
        let (kind, text) = (refusal.kind, refusal.reason.to_string());
        let failure = if self.serves() {
            Failure::of(FailureKind::Overloaded, text).before_running()
        } else if self.fail(number(call), refusal, now).is_some() {
            Failure::of(kind, text).after_running()
        } else {
            return;
        };
        // What is too large stays so.
        if !self.serves() || kind != FailureKind::TooLarge {
            self.answers().push_back(rpc::Message::failure(call, &failure));
        }
    }

    fn begin(&mut self, request: rpc::Message, method: u32, now: Duration) {
        let (id, bytes) = (request.call(), request.body().len());
        let call = number(id);
        match self.calls.arrival(id) {
            Arrival::Late => return self.stray.add(1),
            Arrival::Instead(before) => self.give_up(before, now),
            Arrival::New => {}
        }
        let Some(method) = self.calls.place(method) else {
            let what = "the policies of the calls know no such method";
            return self.refuse(id, FailureKind::UnknownMethod, what);
        };
        if self.calls.is_full(bytes) {
            return self.refuse(id, FailureKind::Overloaded, "too many calls are under way or held");
        }
        self.calls.begin(request, method, now);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.lead(Message {
            kind: Kind::Request,
            call,
            method,
            bytes,
            at: 0,
            content: None,
            copied: Copied::Whole,
            trace: None,
            peer: None,
        });
        self.pass(now);
        self.calls.hold(call);
    }

    /// Refuses a call that no engine has seen.
    #[cold]
    fn refuse(&mut self, call: rpc::CallId, kind: FailureKind, what: &'static str) {
        self.refused += 1;
        let failure = Failure::of(kind, what).before_running();
        self.answers().push_back(rpc::Message::failure(call, &failure));
    }

    fn cancel(&mut self, message: rpc::Message, now: Duration) {
        let call = number(message.call());
        if self.calls.get(call).is_none() {
            // The call has had its outcome, or has not come yet.
            return self.calls_on().push_back(message);
        }
        self.lead_cancellation(call);
        self.pass(now);
        // The cancellation of a call that has not gone on does not either.
        if self.calls.remove(call).is_some_and(|there| there.request.is_none()) {
            self.calls_on().push_back(message);
        }
    }

    /// Cancels a call of which the client does not wait for the outcome, without telling the server.
    fn give_up(&mut self, call: u64, now: Duration) {
        self.lead_cancellation(call);
        self.pass(now);
        self.calls.remove(call);
    }

    fn give_up_all(&mut self, now: Duration) {
        while let Some(call) = self.calls.any() {
            self.give_up(call, now);
        }
    }

    fn lead_cancellation(&mut self, call: u64) {
        let method = self.calls.get(call).map_or(0, |there| there.method);
        self.lead(Message {
            kind: Kind::Cancellation,
            call,
            method,
            bytes: 0,
            at: 0,
            content: None,
            copied: Copied::Whole,
            peer: None,
            trace: None,
        });
    }

    /// Takes a message of the server, which may be the outcome of a call.
    fn answer(&mut self, message: rpc::Message, kind: MessageKind, now: Duration) {
        let id = message.call();
        let told = match kind {
            MessageKind::Response | MessageKind::End => Kind::Response,
            MessageKind::Failure(kind) => {
                Kind::Failure(Refusal { kind, reason: Arc::clone(&self.reasons.by_server) })
            }
            _ => return self.answers().push_back(message),
        };
        let call = number(id);
        let Some(there) = self.calls.get(call) else { return self.answers().push_back(message) };
        if there.request.is_some() {
            // The peer answers a call that it did not get.
            self.give_up(call, now);
            return self.answers().push_back(message);
        }
        let method = there.method;
        self.calls.remove(call);
        let message = match self.outcome(call, method, told, now) {
            Some(refusal) if kind != MessageKind::Failure(refusal.kind) => {
                let failure = Failure::of(refusal.kind, refusal.reason.to_string()).after_running();
                rpc::Message::failure(id, &failure)
            }
            _ => message,
        };
        self.answers().push_back(message);
    }

    /// Leads an outcome through the engines, and returns the reason if it is a failure behind them.
    fn outcome(&mut self, call: u64, method: u32, kind: Kind, now: Duration) -> Option<Refusal> {
        self.lead(Message {
            kind,
            call,
            method,
            bytes: 0,
            at: 0,
            content: None,
            copied: Copied::Whole,
            trace: None,
            peer: None,
        });
        self.chain.responses(&mut self.burst, now);
        match self.burst.drain().next()?.kind {
            Kind::Failure(refusal) => Some(refusal),
            _ => None,
        }
    }

    fn lead(&mut self, message: Message) {
        // Nothing stays in the burst.
        let led = self.burst.push(message);
        debug_assert!(led.is_ok(), "the burst has room");
    }

    /// Leads the burst through the engines, which may be empty.
    pub(super) fn pass(&mut self, now: Duration) {
        let Self { chain, calls, up, down, way, burst, late, refused, .. } = self;
        let (calls_on, answers) = if *way == Some(Way::Up) { (up, down) } else { (down, up) };
        chain.requests(burst, calls, now);
        for Message { kind, call, content, .. } in burst.drain() {
            calls.spare.keep(content);
            if kind == Kind::Request {
                match calls.leave(call, now) {
                    Leaving::Request(request) => calls_on.push_back(request),
                    Leaving::Late => late.push(call),
                    Leaving::Unknown => {}
                }
            }
        }
        for Message { kind, call, content, .. } in burst.take_ended() {
            calls.spare.keep(content);
            if kind == Kind::Request {
                calls.remove(call);
            }
        }
        for Message { kind, call, content, .. } in chain.take_outcomes() {
            calls.spare.keep(content);
            if let (Kind::Failure(Refusal { kind, reason }), Some(there)) = (kind, calls.remove(call)) {
                *refused += 1;
                let failure = Failure::of(kind, reason.to_string()).before_running();
                answers.push_back(rpc::Message::failure(there.id, &failure));
            }
        }
        while let Some(call) = self.late.pop() {
            let reason = Arc::clone(&self.reasons.late);
            if let Some(call) = self.fail(call, Refusal { kind: FailureKind::TimedOut, reason }, now) {
                self.refuse(call, FailureKind::TimedOut, LATE);
            }
        }
    }

    /// Returns the messages in the way of the calls.
    fn calls_on(&mut self) -> &mut VecDeque<rpc::Message> {
        if self.serves() { &mut self.up } else { &mut self.down }
    }

    /// Returns the messages to the clients of the calls.
    fn answers(&mut self) -> &mut VecDeque<rpc::Message> {
        if self.serves() { &mut self.down } else { &mut self.up }
    }
}
