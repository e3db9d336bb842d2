//! Messages of other daemons: one that calls, and one that serves. A fuzzer calls this, and so do the tests of its corpus.

use bertha_core::Buf;
use bertha_managed::Descriptor;
use bertha_managed::attach::Role;
use bertha_rpcd::testing::{Between, greeting};
use bertha_schemas::{Frame, Limits, Plan, PrivateMemory, Schema};
use bertha_tests::fuzz_targets::schemas::good_schema;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Number of bytes in front of a message: its author, and its length.
pub(crate) const HEAD: usize = 3;

/// Passes messages to a daemon, each behind a byte that names its author and a length of two bytes. Each call has one outcome, and a daemon
/// hears no frames but whole ones. When the connections have ended, no frame is kept.
pub(crate) fn messages(bytes: &[u8]) {
    greetings(bytes);
    let (mut peers, mut rest) = (Peers::new(), bytes);
    while let Some(([author, length @ ..], behind)) = rest.split_first_chunk::<HEAD>() {
        let (message, next) = behind.split_at(usize::from(u16::from_be_bytes(*length)).min(behind.len()));
        peers.say([Role::Caller, Role::Server][usize::from(author % 2)], message);
        rest = next;
    }
    peers.end();
}

fn greetings(bytes: &[u8]) {
    if let Ok(hello) = greeting::hello(bytes) {
        assert_eq!((hello.role, hello.to_bytes()), (Role::Caller, Ok(bytes.to_vec())));
    }
    match greeting::answer(bytes) {
        Ok(()) => assert_eq!(bytes, [0]),
        // The reason goes into the log, on one line.
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() <= 8 << 10 && !text.contains(char::is_control), "{text}");
        }
    }
}

/// The scene of all inputs: a daemon between two others, and their schema.
struct Known {
    between: Between,
    schema: Schema,
    plan: Plan,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let schema = Schema::read(&good_schema()).unwrap();
        let (between, plan) = (Between::new(&good_schema()).unwrap(), Plan::new(&schema));
        Known { between, schema, plan }
    })
}

struct Peers {
    between: Between,
    /// The methods of the open calls, by the numbers of the calls.
    asked: HashMap<u64, u32>,
}

impl Peers {
    fn new() -> Self {
        Self { between: known().between.fresh(), asked: HashMap::new() }
    }

    fn say(&mut self, author: Role, message: &[u8]) {
        if !self.between.take(author, Buf::copy_of(message, 0).unwrap()) {
            match author {
                // A caller that has gone waits for nothing, ..
                Role::Caller => self.asked.clear(),
                // .. and the calls at a server that has gone have failed.
                Role::Server => self.hear(),
            }
            return;
        }
        let descriptor = message.first_chunk().map(Descriptor::read);
        match descriptor {
            Some(Ok(Descriptor::Request { call, method, .. })) => {
                let before = self.asked.insert(call, method);
                assert_eq!(before, None, "two open calls have one number");
            }
            // All outcomes so far were heard, and no other comes.
            Some(Ok(Descriptor::Cancellation { call })) if author == Role::Caller => {
                self.asked.remove(&call);
            }
            _ => {}
        }
        self.hear();
    }

    /// Hears what the daemon says. It keeps frames of open calls alone.
    fn hear(&mut self) {
        for message in self.between.hear(Role::Server) {
            match Descriptor::read(message.first_chunk().unwrap()).unwrap() {
                Descriptor::Request { method, message: at, .. } => {
                    check(&known().schema.methods()[method as usize].request, &message, at.at);
                }
                Descriptor::Cancellation { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        for message in self.between.hear(Role::Caller) {
            let descriptor = Descriptor::read(message.first_chunk().unwrap()).unwrap();
            let (Descriptor::Response { call, .. } | Descriptor::Failure { call, .. }) = descriptor else {
                panic!("{descriptor:?}");
            };
            let method = self.asked.remove(&call).expect("a call has one outcome") as usize;
            if let Descriptor::Response { message: at, .. } = descriptor {
                check(&known().schema.methods()[method].response, &message, at.at);
            }
        }
        if self.asked.is_empty() {
            assert_eq!(self.between.kept(), 0, "no call is open");
        }
    }

    fn end(mut self) {
        self.between.end(Role::Server);
        self.hear();
        assert!(self.asked.is_empty(), "calls without an outcome: {:?}", self.asked);
        self.between.end(Role::Caller);
        assert_eq!(self.between.kept(), 0);
    }
}

/// Reads a frame.
fn check(name: &str, message: &[u8], at: u64) {
    let kind = known().plan.message(name).unwrap();
    let mut copy = PrivateMemory::of(1 << 20);
    let copied = known().plan.copy(kind, &Frame::of(message), at, &mut copy, Limits::default());
    assert!(copied.is_ok(), "{copied:?}");
}
