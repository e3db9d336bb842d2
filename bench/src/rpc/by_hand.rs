//! Requests and responses by a loop over these stacks without `Rpc`: a number in front, and the codec behind
//! it.

use super::calls::{Transport, failed};
use super::load::Load;
use crate::Error;
use crate::harness::meet_on_one_runtime;
use bertha_chunnels::{Codec, Nothing, Postcard, Reliable};
use bertha_core::{Base, Buf, Connection, make_stack};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::Negotiate;
use std::net::Ipv4Addr;
use tokio::sync::oneshot;

const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Format of requests and responses.
const CODEC: Postcard = Postcard;

/// Number of bytes for the number and the encoding of a request or a response.
const LARGEST: usize = 256;

type Outcome<T> = Result<T, bertha_core::Error>;

/// Makes the calls, in two tasks of a single runtime.
pub(super) fn run(transport: Transport, load: Load) -> Result<(), Error> {
    macro_rules! both {
        ($stack:expr, $datapath:expr) => {{
            let (tell, told) = oneshot::channel();
            let serving = async move {
                let mut incoming = $stack.listen($datapath, ANY).await?;
                let _ = tell.send(incoming.local_addr());
                match incoming.next_or_refusal().await.transpose()? {
                    Some(connection) => answer(&connection, load.in_flight).await,
                    None => Ok(()),
                }
            };
            let calling = async move {
                let Ok(server) = told.await else { return Ok(()) };
                let connection = $stack.connect($datapath, server).await?;
                ask(&connection, load).await?;
                connection.close().await
            };
            meet_on_one_runtime(async { serving.await.map_err(failed) }, async {
                calling.await.map_err(failed)
            })
        }};
    }
    match transport {
        Transport::Tcp => both!(make_stack!(Nothing), Tcp::new()),
        Transport::UdpReliable | Transport::Tls | Transport::FusedTls => {
            both!(make_stack!(Reliable::new()), Udp::new())
        }
    }
}

fn encode(connection: &impl Connection<Data = Buf>, number: u64, bytes: &Vec<u8>) -> Outcome<Buf> {
    let mut message = connection.base().buffer(LARGEST)?;
    message[..8].copy_from_slice(&number.to_le_bytes());
    let written = Codec::<Vec<u8>>::encode(&CODEC, bytes, &mut message[8..]).map_err(malformed)?;
    message.truncate(8 + written.unwrap_or_default());
    Ok(message)
}

fn decode(message: &Buf) -> Outcome<(u64, Vec<u8>)> {
    let number = message.first_chunk().copied().map(u64::from_le_bytes).unwrap_or_default();
    let (bytes, _) = Codec::<Vec<u8>>::decode(&CODEC, &message[8..]).map_err(malformed)?;
    Ok((number, bytes))
}

async fn answer(connection: &impl Connection<Data = Buf>, in_flight: usize) -> Outcome<()> {
    let mut requests = Vec::new();
    let mut responses = Vec::new();
    loop {
        match connection.recv_batch(&mut requests, in_flight).await {
            Err(error) if error.kind() == bertha_core::ErrorKind::Closed => return Ok(()),
            received => received?,
        };
        for request in requests.drain(..) {
            let (number, bytes) = decode(&request)?;
            responses.push(encode(connection, number, &bytes)?);
        }
        connection.send_batch(responses.drain(..)).await?;
    }
}

async fn ask(connection: &impl Connection<Data = Buf>, load: Load) -> Outcome<()> {
    let mut requests = Vec::new();
    let mut responses = Vec::new();
    let mut next = 0;
    let mut free = load.in_flight;
    let mut left = load.calls;
    loop {
        while free > 0 && next < load.calls as u64 {
            // Each request is encoded anew, as each caller has a request of its own.
            requests.push(encode(connection, next, &vec![7; load.bytes])?);
            (free, next) = (free - 1, next + 1);
        }
        connection.send_batch(requests.drain(..)).await?;
        connection.recv_batch(&mut responses, load.in_flight).await?;
        for response in responses.drain(..) {
            let (_, bytes) = decode(&response)?;
            assert_eq!(bytes.len(), load.bytes, "the response is that of the request");
            (free, left) = (free + 1, left - 1);
        }
        if left == 0 {
            return Ok(());
        }
    }
}

fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> bertha_core::Error {
    bertha_core::Error::new(bertha_core::ErrorKind::Malformed, "encoding").because(error)
}
