//! The failures of calls: their codes, their texts, and the details that programs of gRPC send beside both.

pub(crate) mod code;
pub(crate) mod details;
pub(crate) mod text;
