//! A call that can be made again.

use bertha_chunnels::rpc::{Encode, Failure, FailureKind, Method};
use std::sync::Arc;
use std::time::Duration;

/// The size of the first buffer that a request is encoded into, in bytes.
const FIRST: usize = 256;

/// The largest request in bytes, whatever the connection carries.
const LARGEST: usize = 64 << 20;

/// A call whose request is encoded, as layers of tower's see it. Clones share the bytes.
#[derive(Debug, Clone)]
pub struct EncodedCall {
    method: Method,
    deadline: Option<Duration>,
    request: Arc<[u8]>,
}

impl EncodedCall {
    /// # Errors
    /// [`FailureKind::Malformed`] and [`FailureKind::TooLarge`].
    pub(super) fn new<E: Encode + ?Sized>(
        method: Method,
        deadline: Option<Duration>,
        request: &E,
    ) -> Result<Self, Failure> {
        let mut bytes = vec![0; FIRST];
        loop {
            if let Some(length) = request.encode(&mut bytes)? {
                let request = bytes[..length].into();
                return Ok(Self { method, deadline, request });
            }
            if bytes.len() >= request.limit().min(LARGEST) {
                return Err(Failure::of(FailureKind::TooLarge, "the request exceeds the limit of its codec"));
            }
            bytes.resize(bytes.len() * 8, 0);
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The time that the caller waits.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The encoded request.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Whether the call may be made again after this failure: it did not run, or its method is idempotent. For policies of
    /// `tower::retry` and `tower::hedge`.
    pub fn may_be_repeated(&self, failure: &Failure) -> bool {
        self.method.is_idempotent() || !failure.may_have_run()
    }
}
