//! An application that is attached.

use crate::calls::{Calls, Given};
use crate::memory::{Lending, Sent};
use crate::typed::Typed;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::attach::{Hello, Role};
use bertha_managed::heap::{Foreign, Lent, Region};
use bertha_managed::{Burst, Chain, Descriptor, Done, InHeap, Refusal};
use bertha_schemas::{Fault, Memory, Room};
use parking_lot::{Mutex, RwLock};
use std::mem;
use std::sync::Arc;
use tokio::sync::Notify;

/// Number of descriptors that wait to be heard, above which nothing more is taken of an application.
const UNHEARD: usize = 1024;

/// Number of bytes of the longest reason of a failure.
const REASON: usize = 1024;

/// An application with one service, which it calls or serves.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) application: String,
    pub(crate) service: String,
    pub(crate) role: Role,
    pub(crate) typed: Arc<Typed>,
    /// Number of bytes to which each heap may grow.
    pub(crate) heap: usize,
    /// The send heap. It is locked for changes while it grows alone.
    pub(crate) sent: RwLock<Foreign>,
    outbox: Mutex<Outbox>,
    waits: Notify,
    /// The news were taken.
    heard: Notify,
    /// The engines have changed.
    pub(crate) changed: Notify,
    /// The calls that the application makes. Who holds this lock may take that of an outbox, and not the other way round.
    pub(crate) caller: Mutex<Caller>,
    /// The calls that the application has to answer.
    pub(crate) given: Mutex<Given<Arc<Link>>>,
}

/// The calls of an application, and the engines that they pass.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) open: Open,
    pub(crate) requests: Burst,
}

/// The open calls of an application, and the engines that their outcomes pass.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) chain: Chain,
    pub(crate) calls: Calls<Arc<Link>>,
    pub(crate) outcomes: Burst,
}

/// The descriptors that the application has to hear, and the heap in which it finds their messages.
#[derive(Debug)]
struct Outbox {
    lent: Lent,
    descriptors: Vec<Descriptor>,
    done: Done,
}

/// The regions that came since the last look.
#[derive(Debug)]
pub(crate) struct News {
    /// Regions of the receive heap, and the number of bytes of all of its regions.
    pub(crate) regions: Vec<Region>,
    pub(crate) granted: usize,
}

impl Link {
    pub(crate) fn new(
        hello: Hello,
        typed: Arc<Typed>,
        chain: Chain,
        heap: usize,
    ) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            sent: RwLock::new(Foreign::new(hello.send_heap, heap)?),
            outbox: Mutex::new(Outbox {
                lent: Lent::new(hello.receive_heap, heap)?,
                descriptors: Vec::new(),
                done: Done::default(),
            }),
            application: hello.application,
            service: hello.service,
            role: hello.role,
            typed,
            heap,
            waits: Notify::new(),
            heard: Notify::new(),
            changed: Notify::new(),
            caller: Mutex::new(Caller::new(chain)),
            given: Mutex::default(),
        }))
    }

    /// Waits until the application has to hear something, and puts the descriptors into a buffer that is empty.
    pub(crate) async fn news(&self, descriptors: &mut Vec<Descriptor>) -> News {
        self.waits.notified().await;
        let mut outbox = self.outbox.lock();
        outbox.close_done();
        self.heard.notify_one();
        mem::swap(&mut outbox.descriptors, descriptors);
        News { regions: outbox.lent.take_new_regions(), granted: outbox.lent.granted() }
    }

    /// Waits until the application has heard most of what it has to hear: one that does not listen has nothing to say.
    pub(crate) async fn is_heard(&self) {
        while self.outbox.lock().descriptors.len() > UNHEARD {
            self.heard.notified().await;
        }
    }

    /// Makes the task of the application look for what is due.
    pub(crate) fn look(&self) {
        self.changed.notify_one();
    }

    /// Tells the application something.
    pub(crate) fn tell(&self, descriptor: Descriptor) {
        self.outbox.lock().descriptors.push(descriptor);
        self.waits.notify_one();
    }

    /// Tells the application that a message of it is needed no more.
    pub(crate) fn done(&self, message: u32) {
        let mut outbox = self.outbox.lock();
        if !outbox.done.push(message) {
            outbox.close_done();
            outbox.done.push(message);
        }
        self.waits.notify_one();
    }

    /// Takes back messages that the application needs no more. Numbers that it does not have change nothing.
    pub(crate) fn take_back(&self, numbers: &[u32]) {
        let mut outbox = self.outbox.lock();
        for number in numbers {
            outbox.lent.free(*number);
        }
    }

    /// Lends a message of about so many bytes to the application. The message has the place that `write` returns.
    pub(crate) fn lend(
        &self,
        hint: u32,
        write: impl FnOnce(&mut Lending<'_>) -> Result<u64, Fault>,
    ) -> Result<InHeap, Fault> {
        let mut outbox = self.outbox.lock();
        let mut message = Lending(outbox.lent.begin(hint as usize).ok_or(Fault::NoRoom)?);
        let at = write(&mut message)?;
        Ok(InHeap { at, bytes: hint, number: message.0.finish() })
    }

    /// Tells the application of the failure of a call.
    pub(crate) fn tell_failure(&self, call: u64, refusal: &Refusal, may_have_run: bool) {
        let text = refusal.reason.as_bytes();
        // A failure without its text is better than none.
        let reason = self.lend(64, |room| Ok(text_in(room, text)?)).unwrap_or_default();
        self.tell(Descriptor::Failure { call, kind: refusal.kind, may_have_run, reason });
    }

    /// Returns the text of a failure that lies in the application's send heap.
    pub(crate) fn reason(&self, kind: FailureKind, reason: InHeap) -> Refusal {
        let sent = self.sent.read();
        let text = text_of(&Sent(&sent), reason.at).unwrap_or_default();
        Refusal { kind, reason: text.into() }
    }
}

impl Caller {
    fn new(chain: Chain) -> Self {
        let open = Open { chain, calls: Calls::default(), outcomes: Burst::new() };
        Self { open, requests: Burst::new() }
    }
}

impl Outbox {
    /// Puts the numbers of messages that are needed no more among the descriptors.
    fn close_done(&mut self) {
        if !self.done.numbers().is_empty() {
            self.descriptors.push(Descriptor::Done(mem::take(&mut self.done)));
        }
    }
}

/// Writes a text as a heap's string, and returns its place.
fn text_in(room: &mut Lending<'_>, text: &[u8]) -> Result<u64, bertha_schemas::NoRoom> {
    let (at, bytes) = (room.reserve(16)?, room.put(text)?);
    let length = (text.len() as u32).to_le_bytes();
    let string = room.bytes(at, 16);
    string[..8].copy_from_slice(&bytes.to_le_bytes());
    string[8..12].copy_from_slice(&length);
    string[12..].copy_from_slice(&length);
    Ok(at)
}

/// Reads a heap's string of another process, as far as it has a reasonable length. Control characters could forge lines of a log.
fn text_of(memory: &impl Memory, at: u64) -> Option<String> {
    let mut string = [0; 16];
    memory.read(at, &mut string).ok()?;
    let (address, length) = string.split_first_chunk::<8>()?;
    let length = u32::from_le_bytes(*length.first_chunk()?) as usize;
    let mut text = vec![0; length.min(REASON)];
    memory.read(u64::from_le_bytes(*address), &mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    Some(text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect())
}
