//! Stacks that encrypt, in the simulator and over real datapaths: `Noise` with a shared key and with static
//! keys, `Quic` and `Tls` with certificates, and `RpcWithTls`, which makes calls over `Tls`.

mod altered;
mod datapaths;
mod events;
mod lingering;
mod lossy;
mod moved;
mod noise;
mod not_sent;
mod quic;
mod rpc_with_tls;
pub(crate) mod scene;
mod tls;
mod transcript;
