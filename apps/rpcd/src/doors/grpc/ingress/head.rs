//! The head of a response.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};

/// The content of messages of gRPC.
pub(super) const GRPC: &str = "application/grpc";

/// Returns the head of a response.
pub(super) fn head() -> Response<()> {
    let mut head = Response::new(());
    head.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    head
}
