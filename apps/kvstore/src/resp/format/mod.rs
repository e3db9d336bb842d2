//! The format of a [`Framed`](bertha::chunnels::framing::Framed) connection. Sans-IO.

mod decoder;
mod frame;
mod resp_format;
#[cfg(test)]
mod tests;

pub use decoder::CommandDecoder;
pub use frame::Frame;
pub use resp_format::RespFormat;
