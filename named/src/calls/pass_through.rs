//! The format of bytes that are passed on as they are.

use bertha::chunnels::serialize::{Anywhere, Codec};
use bertha::rpc::{Encode, Failure};
use std::convert::Infallible;

/// Bytes as they are, whatever format they have for the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassThrough;

impl Codec<Vec<u8>> for PassThrough {
    type EncodeError = Infallible;
    type DecodeError = Infallible;
    type Key = Anywhere;
    const NAME: &'static str = "bytes";

    fn encode(&self, message: &Vec<u8>, into: &mut [u8]) -> Result<Option<usize>, Infallible> {
        Ok(into.get_mut(..message.len()).map(|place| {
            place.copy_from_slice(message);
            message.len()
        }))
    }

    fn decode(&self, bytes: &[u8]) -> Result<(Vec<u8>, usize), Infallible> {
        Ok((bytes.to_vec(), bytes.len()))
    }
}

/// A request of a stream, which the caller has encoded.
#[derive(Debug)]
pub(super) struct Body(pub(super) Vec<u8>);

impl Encode for Body {
    fn encode(&self, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        self.0[..].encode(into)
    }
}
