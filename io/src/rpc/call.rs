//! A call that can be repeated.

use bertha_chunnels::rpc::{Encode, Failure, FailureKind, Metadata, Method};
use std::sync::Arc;
use std::time::Duration;

/// Size of the first buffer that a request is encoded into, in bytes.
const FIRST: usize = 256;

/// Maximum size of a request in bytes, whatever the connection carries.
const LARGEST: usize = 64 << 20;

/// A call with its encoded request, for layers of tower. Clones share the bytes.
#[derive(Debug, Clone)]
pub struct EncodedCall {
    method: Method,
    deadline: Option<Duration>,
    metadata: Metadata,
    request: Arc<[u8]>,
}

impl EncodedCall {
    /// # Errors
    /// [`FailureKind::Malformed`] and [`FailureKind::TooLarge`].
    pub(super) fn new<E: Encode + ?Sized>(
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> Result<Self, Failure> {
        let mut bytes = vec![0; FIRST];
        loop {
            if let Some(length) = request.encode(&mut bytes)? {
                let request = bytes[..length].into();
                return Ok(Self { method, deadline, metadata: metadata.clone(), request });
            }
            if bytes.len() >= request.limit().min(LARGEST) {
                return Err(Failure::of(FailureKind::TooLarge, "the request exceeds the limit of its codec"));
            }
            bytes.resize(bytes.len() * 8, 0);
        }
    }

    /// Returns the method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the time that the caller waits.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Returns the metadata that goes beside the request.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the metadata, to be added to: by a layer that gives each call a token.
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// Returns the encoded request.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Returns true if the call may be repeated after this failure: it did not run, or its method is
    /// idempotent. It is for policies of `tower::retry` and `tower::hedge`.
    pub fn may_be_repeated(&self, failure: &Failure) -> bool {
        self.method.is_idempotent() || !failure.may_have_run()
    }
}
