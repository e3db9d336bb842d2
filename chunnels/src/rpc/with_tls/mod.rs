//! Calls and TLS in one.

mod chunnel;
mod connection;
mod pass;

pub use chunnel::RpcWithTls;
pub use connection::RpcWithTlsConnection;
pub use pass::FuseRpcAndTls;
