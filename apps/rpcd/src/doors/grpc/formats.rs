//! The formats of gRPC: headers, trailers and bodies, without the connection that they come from.

pub(super) mod body;
pub(super) mod message;
pub(super) mod status;
pub(super) mod time;
pub(super) mod trace;
pub(super) mod translate;
