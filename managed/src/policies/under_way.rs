//! The calls of a connection that have had no outcome.

use super::held_bytes::HeldBytes;
use super::methods::Methods;
use crate::{Contents, Copied, Message, Spare};
use bertha_chunnels::rpc;
use bertha_schemas::{Fault, Fields, Limits, Plan};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The calls under way, by their slots, with the requests that have not gone on.
#[derive(Debug)]
pub(super) struct UnderWay {
    calls: HashMap<u32, Call>,
    most: usize,
    methods: Arc<Methods>,
    plan: Arc<Plan>,
    held: HeldBytes,
    /// Number of calls that engines hold, and their bytes.
    of_held: (usize, usize),
    /// True if requests are encoded by protobuf.
    are_protobuf: bool,
    /// Memories for copies of requests.
    pub(super) spare: Spare,
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: rpc::CallId,
    pub(super) method: u32,
    began: Duration,
    /// The request, as long as it has not gone on.
    pub(super) request: Option<rpc::Message>,
    /// Number of bytes of its copy that engines read.
    copied: usize,
    /// Number of bytes that count as held, if an engine holds the request.
    held: Option<usize>,
}

/// The relation of a request to the calls under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The call is there already, or a later one has its slot.
    Late,
    /// The client has done with this call, of which it uses the slot again.
    Instead(u64),
    New,
}

/// A request that goes on.
#[derive(Debug)]
pub(super) enum Leaving {
    Request(rpc::Message),
    /// The client no longer waits.
    Late,
    /// The call is not under way.
    Unknown,
}

/// Returns the number by which engines know a call.
pub(super) fn number(call: rpc::CallId) -> u64 {
    u64::from(call.slot()) << 32 | u64::from(call.generation())
}

impl UnderWay {
    pub(super) fn new(
        most: usize,
        methods: Arc<Methods>,
        plan: Arc<Plan>,
        held: HeldBytes,
        are_protobuf: bool,
    ) -> Self {
        let (calls, spare) = (HashMap::new(), Spare::default());
        Self { calls, most, methods, plan, held, of_held: (0, 0), are_protobuf, spare }
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of calls that engines hold, and of their bytes.
    pub(super) fn of_held(&self) -> (usize, usize) {
        self.of_held
    }

    /// Returns true if there is no room for a request of so many bytes. While none is held, one of any length has room.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        self.calls.len() >= self.most || (self.held.bytes() > 0 && self.held.room() < bytes)
    }

    pub(super) fn place(&self, method: u32) -> Option<u32> {
        self.methods.place(method)
    }

    pub(super) fn arrival(&self, call: rpc::CallId) -> Arrival {
        let Some(there) = self.calls.get(&call.slot()) else { return Arrival::New };
        // Generations begin again after the last.
        match call.generation().wrapping_sub(there.id.generation()) {
            0 | 0x8000_0000.. => Arrival::Late,
            _ => Arrival::Instead(number(there.id)),
        }
    }

    pub(super) fn begin(&mut self, request: rpc::Message, method: u32, now: Duration) {
        let id = request.call();
        let call = Call { id, method, began: now, request: Some(request), copied: 0, held: None };
        self.calls.insert(id.slot(), call);
    }

    pub(super) fn get(&mut self, call: u64) -> Option<&mut Call> {
        self.calls.get_mut(&slot(call)).filter(|there| number(there.id) == call)
    }

    /// Counts a request that an engine has held.
    pub(super) fn hold(&mut self, call: u64) {
        let Some(there) = self.get(call) else { return };
        let Some(request) = &there.request else { return };
        let bytes = request.body().len() + there.copied;
        there.held = Some(bytes);
        self.held.add(bytes);
        self.of_held = (self.of_held.0 + 1, self.of_held.1 + bytes);
    }

    /// Lets a request go on.
    pub(super) fn leave(&mut self, call: u64, now: Duration) -> Leaving {
        let Some(there) = self.get(call) else { return Leaving::Unknown };
        let (held, began) = (there.held.take(), there.began);
        let Some(mut request) = there.request.take() else { return Leaving::Unknown };
        let Some(bytes) = held else { return Leaving::Request(request) };
        self.let_go(bytes);
        match request.held_for(now.saturating_sub(began)) {
            true => Leaving::Request(request),
            false => Leaving::Late,
        }
    }

    pub(super) fn remove(&mut self, call: u64) -> Option<Call> {
        self.get(call)?;
        let there = self.calls.remove(&slot(call))?;
        if let Some(bytes) = there.held {
            self.let_go(bytes);
        }
        Some(there)
    }

    /// Returns the number of any call.
    pub(super) fn any(&self) -> Option<u64> {
        self.calls.values().next().map(|call| number(call.id))
    }

    fn let_go(&mut self, bytes: usize) {
        self.held.remove(bytes);
        self.of_held = (self.of_held.0 - 1, self.of_held.1 - bytes);
    }
}

/// Requests are decoded where they are encoded by protobuf. What an engine cannot read is refused.
impl Contents for UnderWay {
    fn copy(&mut self, request: &mut Message, _: Option<&Fields>) -> Result<(), Fault> {
        let limits = Limits::default();
        let room = self.held.room();
        let mut memory = self.spare.take(limits.memory);
        let method = self.methods.request(request.method).filter(|_| self.are_protobuf);
        let there = self.calls.get_mut(&slot(request.call)).filter(|there| number(there.id) == request.call);
        let (Some(message), Some(there)) = (method, there) else { return Err(Fault::Malformed) };
        let encoded = there.request.as_ref().and_then(|request| request.request().ok());
        let encoded = encoded.ok_or(Fault::Malformed)?;
        let limited = limits.memory(limits.memory.min(room));
        let decoded = self.plan.decode(message, encoded, &mut *memory, limited);
        let at = decoded.map_err(|fault| match fault {
            // What engines hold leaves less.
            Fault::Large(_) if room < limits.memory => Fault::NoRoom,
            fault => fault,
        })?;
        there.copied = memory.used();
        if let Some(held) = &mut there.held {
            *held += memory.used();
            self.held.add(memory.used());
            self.of_held.1 += memory.used();
        }
        (request.content, request.at, request.copied) = (Some(memory), at, Copied::Whole);
        Ok(())
    }

    /// Returns the length of the encoding: it is that of a message which has come, and nobody can say less.
    fn measure(&mut self, request: &Message, _: u32) -> u32 {
        request.bytes
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.held.remove(self.of_held.1);
    }
}

fn slot(call: u64) -> u32 {
    (call >> 32) as u32
}
