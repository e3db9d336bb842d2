//! The admission of parties: the certificates that callers and servers of gRPC show, and the log and the counts of parties that are not taken.

pub(crate) mod grpc_tls;
pub(crate) mod not_taken_counts;
pub(crate) mod refusals;
