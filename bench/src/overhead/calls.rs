//! The measured calls themselves.

use super::bare::Bare;
use super::{Call, failed};
use crate::{Error, ErrorKind};
use bertha_core::{Buf, Connection};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How many messages a burst has.
pub const BURST: usize = 16;

/// The size of a message in bytes.
const BYTES: usize = 64;

/// How long any number of repetitions may take: a datagram that was lost must not hang the measurement.
const LONGEST: Duration = Duration::from_secs(120);

/// Makes the measured call as often as it is told. Holds the connections, and the runtime that they need.
pub type Repeat = Box<dyn FnMut(u64) -> Result<(), Error>>;

/// Makes `call` at `end`, and what answers it at `bare`.
pub(crate) fn repeat<A, B>(runtime: Runtime, end: A, bare: B, call: Call) -> Result<Repeat, Error>
where
    A: Connection<Data = Buf>,
    B: Connection<Data = Buf>,
{
    let bare = Bare(bare);
    let mut burst = (0..call.messages())
        .map(|_| Buf::copy_of(&[7; BYTES], BYTES))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    Ok(Box::new(move |times| {
        let work = async {
            match call {
                Call::Send => singly(&end, &bare, &mut burst, times).await,
                Call::Recv => singly(&bare, &end, &mut burst, times).await,
                Call::SendBatch => in_bursts(&end, &bare, &mut burst, times).await,
                Call::RecvBatch => in_bursts(&bare, &end, &mut burst, times).await,
            }
        };
        let in_time = runtime.block_on(async { tokio::time::timeout(LONGEST, work).await });
        in_time.map_err(Error::while_doing(ErrorKind::Stalled, "waiting for a message"))?.map_err(failed)
    }))
}

async fn singly(
    from: &impl Connection<Data = Buf>,
    to: &impl Connection<Data = Buf>,
    burst: &mut Vec<Buf>,
    times: u64,
) -> Result<(), bertha_core::Error> {
    let Some(mut message) = burst.pop() else { return Ok(()) };
    for _ in 0..times {
        from.send(message).await?;
        message = to.recv().await?;
    }
    burst.push(message);
    Ok(())
}

async fn in_bursts(
    from: &impl Connection<Data = Buf>,
    to: &impl Connection<Data = Buf>,
    burst: &mut Vec<Buf>,
    times: u64,
) -> Result<(), bertha_core::Error> {
    for _ in 0..times {
        from.send_batch(burst.drain(..)).await?;
        while burst.len() < BURST {
            to.recv_batch(burst, BURST - burst.len()).await?;
        }
    }
    Ok(())
}
