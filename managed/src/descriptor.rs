//! The news of a message between an application and the daemon.

use crate::Trace;
use bertha_chunnels::rpc::FailureKind;
use std::fmt;
use std::time::Duration;

/// An entry of the queues between an application and the daemon: a message that lies in a heap, or a notice.
///
/// A descriptor has 64 bytes. All numbers are little-endian, and bytes that no kind uses are zero:
///
/// ```text
///  0 kind  1 failure  2 count  4 method  8 call  16 address  24 bytes  28 number  32 milliseconds  36 trace, of 25 bytes
///  Done:                                 8 numbers, of four bytes each
///  Grown:                                8 bytes
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor {
    /// A request.
    Request {
        /// The number of the call, which its caller has not used for another call that is open.
        call: u64,
        /// The place of the method among those of the schema.
        method: u32,
        /// The request.
        message: InHeap,
        /// Number of milliseconds that are left for the call; zero is no limit.
        milliseconds: u32,
        /// The trace to which the call belongs.
        trace: Option<Trace>,
    },
    /// The response to a request.
    Response {
        /// The number of the call.
        call: u64,
        /// The response.
        message: InHeap,
    },
    /// The reason why there is no response.
    Failure {
        /// The number of the call.
        call: u64,
        /// The kind of the failure.
        kind: FailureKind,
        /// True if the call may have run.
        may_have_run: bool,
        /// The reason, as text.
        reason: InHeap,
    },
    /// The caller wants no outcome any more.
    Cancellation {
        /// The number of the call.
        call: u64,
    },
    /// The receiver of messages needs them no more.
    Done(Done),
    /// The receive heap has grown. Its regions have come over the socket by which the application attached.
    Grown {
        /// Number of bytes in all regions.
        bytes: u64,
    },
}

/// A message in its sender's heap, or in the heap that is lent to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InHeap {
    /// The address of the message, as the application has it; zero without one.
    pub at: u64,
    /// Number of bytes that the message takes, as its sender says.
    pub bytes: u32,
    /// The number by which its receiver says that it needs the message no more.
    pub number: u32,
}

/// Up to 14 numbers of messages that their receiver needs no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    numbers: [u32; Self::MOST],
    count: u8,
}

impl Done {
    /// Number of messages that a notice can name.
    pub const MOST: usize = 14;

    /// Longest time for which a notice that has room for more waits for other news: it wakes its receiver, which has nothing else to do.
    pub const PATIENCE: Duration = Duration::from_secs(1);

    /// Adds a message. Returns false if the notice is full.
    pub fn push(&mut self, number: u32) -> bool {
        let Some(place) = self.numbers.get_mut(usize::from(self.count)) else { return false };
        *place = number;
        self.count += 1;
        true
    }

    /// Returns the numbers.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..usize::from(self.count)]
    }
}

/// Bytes that are no descriptor. Their writer does not follow the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDescriptor;

impl fmt::Display for NoDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 bytes in the queue are no descriptor")
    }
}

impl std::error::Error for NoDescriptor {}

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const FAILURE: u8 = 3;
const CANCELLATION: u8 = 4;
const DONE: u8 = 5;
const GROWN: u8 = 6;

/// The bit of a failure that may have run.
const MAY_HAVE_RUN: u8 = 0x80;

/// The place of a trace, of which all bytes are zero without one.
const TRACE: usize = 36;

impl Descriptor {
    /// Number of bytes of a descriptor.
    pub const SIZE: usize = 64;

    /// Returns the message to which the descriptor belongs; one without an address if there is none.
    pub fn message(&self) -> InHeap {
        match self {
            Self::Request { message, .. } | Self::Response { message, .. } => *message,
            Self::Failure { reason, .. } => *reason,
            _ => InHeap::default(),
        }
    }

    /// Returns the descriptor with another number of its message.
    pub fn with_number(mut self, to: u32) -> Self {
        if let Self::Request { message, .. } | Self::Response { message, .. } = &mut self {
            message.number = to;
        } else if let Self::Failure { reason, .. } = &mut self {
            reason.number = to;
        }
        self
    }

    /// Returns the bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        match self {
            Self::Request { call, method, message, milliseconds, trace } => {
                bytes[0] = REQUEST;
                bytes[4..8].copy_from_slice(&method.to_le_bytes());
                put(&mut bytes, call, message);
                bytes[32..36].copy_from_slice(&milliseconds.to_le_bytes());
                if let Some(trace) = trace {
                    bytes[TRACE..TRACE + Trace::SIZE].copy_from_slice(&trace.to_bytes());
                }
            }
            Self::Response { call, message } => {
                bytes[0] = RESPONSE;
                put(&mut bytes, call, message);
            }
            Self::Failure { call, kind, may_have_run, reason } => {
                bytes[0] = FAILURE;
                bytes[1] = kind.code() | if may_have_run { MAY_HAVE_RUN } else { 0 };
                put(&mut bytes, call, reason);
            }
            Self::Cancellation { call } => {
                bytes[0] = CANCELLATION;
                put(&mut bytes, call, InHeap::default());
            }
            Self::Done(done) => {
                bytes[0] = DONE;
                bytes[2] = done.count;
                for (place, number) in bytes[8..].as_chunks_mut::<4>().0.iter_mut().zip(done.numbers) {
                    *place = number.to_le_bytes();
                }
            }
            Self::Grown { bytes: granted } => {
                bytes[0] = GROWN;
                put(&mut bytes, granted, InHeap::default());
            }
        }
        bytes
    }

    /// Reads a descriptor.
    ///
    /// # Errors
    /// Fails for bytes that no descriptor has.
    #[inline]
    pub fn read(bytes: &[u8; Self::SIZE]) -> Result<Self, NoDescriptor> {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let word = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        let call = word(8);
        let message = InHeap { at: word(16), bytes: number(24), number: number(28) };
        let read = match bytes[0] {
            REQUEST => {
                let trace = bytes[TRACE..].first_chunk().and_then(Trace::read);
                Self::Request { call, method: number(4), message, milliseconds: number(32), trace }
            }
            RESPONSE => Self::Response { call, message },
            FAILURE => Self::Failure {
                call,
                kind: FailureKind::of_code(bytes[1] & !MAY_HAVE_RUN),
                may_have_run: bytes[1] & MAY_HAVE_RUN != 0,
                reason: message,
            },
            CANCELLATION => Self::Cancellation { call },
            GROWN => Self::Grown { bytes: call },
            DONE if usize::from(bytes[2]) <= Done::MOST => {
                let count = usize::from(bytes[2]);
                let numbers =
                    std::array::from_fn(|place| if place < count { number(8 + 4 * place) } else { 0 });
                Self::Done(Done { numbers, count: bytes[2] })
            }
            _ => return Err(NoDescriptor),
        };
        // What a kind does not use is zero, and is free for later versions, which may have more kinds of failures.
        let mut expected = read.to_bytes();
        expected[1] = if bytes[0] == FAILURE { bytes[1] } else { 0 };
        if expected == *bytes { Ok(read) } else { Err(NoDescriptor) }
    }
}

/// Writes what messages have in common.
#[inline]
fn put(bytes: &mut [u8; Descriptor::SIZE], call: u64, message: InHeap) {
    bytes[8..16].copy_from_slice(&call.to_le_bytes());
    bytes[16..24].copy_from_slice(&message.at.to_le_bytes());
    bytes[24..28].copy_from_slice(&message.bytes.to_le_bytes());
    bytes[28..32].copy_from_slice(&message.number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MESSAGE: InHeap = InHeap { at: 0x0102_0304_0506_0708, bytes: 0x0a0b_0c0d, number: 0x1a1b_1c1d };

    fn request(trace: Option<Trace>) -> Descriptor {
        Descriptor::Request { call: 2, method: 3, message: MESSAGE, milliseconds: 5, trace }
    }

    fn examples() -> Vec<Descriptor> {
        let mut done = Done::default();
        assert!((1..=14).all(|number| done.push(number)) && !done.push(15));
        let failure =
            |kind, may_have_run| Descriptor::Failure { call: 9, kind, may_have_run, reason: MESSAGE };
        vec![
            request(None),
            request(Trace::begin(u128::MAX, 1)),
            Descriptor::Response { call: 1, message: MESSAGE },
            failure(FailureKind::Denied, false),
            failure(FailureKind::Overloaded, true),
            Descriptor::Cancellation { call: 7 },
            Descriptor::Grown { bytes: 1 << 20 },
            Descriptor::Done(Done::default()),
            Descriptor::Done(done),
        ]
    }

    #[test]
    fn descriptors_are_read_as_they_were_written() {
        for descriptor in examples() {
            assert_eq!(Descriptor::read(&descriptor.to_bytes()), Ok(descriptor));
        }
    }

    #[test]
    fn the_format_is_as_documented() {
        let traced = request(Trace::begin(0x0102, 0x0304)).to_bytes();
        let request = request(None).to_bytes();
        assert_eq!(request[..8], [1, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(request[8..24], [2, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(request[24..36], [0x0d, 0x0c, 0x0b, 0x0a, 0x1d, 0x1c, 0x1b, 0x1a, 5, 0, 0, 0]);
        assert_eq!(request[36..], [0; 28]);
        assert_eq!(traced[..36], request[..36]);
        assert_eq!(
            traced[36..],
            [[0_u8; 14].as_slice(), &[1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 1, 0, 0, 0]].concat()
        );
        let failure =
            Descriptor::Failure { call: 0, kind: FailureKind::Denied, may_have_run: true, reason: MESSAGE };
        assert_eq!(failure.to_bytes()[..2], [3, 0x87]);
    }

    #[test]
    fn a_byte_that_no_kind_uses_is_refused() {
        for descriptor in examples() {
            let mut bytes = descriptor.to_bytes();
            bytes[3] = 1;
            assert_eq!(Descriptor::read(&bytes), Err(NoDescriptor), "{descriptor:?}");
        }
        // An id of zero is none.
        let mut flags = request(None).to_bytes();
        flags[60] = 1;
        assert_eq!(Descriptor::read(&flags), Err(NoDescriptor));
        let mut short = Descriptor::Done(Done::default()).to_bytes();
        short[8] = 1;
        assert_eq!(Descriptor::read(&short), Err(NoDescriptor));
        for kind in [0, 7, 255] {
            let mut bytes = [0; 64];
            bytes[0] = kind;
            assert_eq!(Descriptor::read(&bytes), Err(NoDescriptor));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read_as_one_descriptor(mut bytes in any::<[u8; 32]>(), kind in 0..8_u8) {
            bytes[0] = kind;
            let mut all = [0; 64];
            all[..32].copy_from_slice(&bytes);
            if let Ok(descriptor) = Descriptor::read(&all) {
                let again = descriptor.to_bytes();
                prop_assert_eq!(Descriptor::read(&again), Ok(descriptor));
                prop_assert!(kind == FAILURE || again == all);
            }
        }
    }
}
