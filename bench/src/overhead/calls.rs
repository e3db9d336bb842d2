//! The measured calls themselves.

use super::bare::Bare;
use super::{Call, failed};
use crate::Error;
use crate::harness::in_time;
use bertha_core::{Buf, Connection};
use tokio::runtime::Runtime;

/// Number of messages in a burst.
pub(crate) const BURST: usize = 16;

/// Size of a message in bytes.
const BYTES: usize = 64;

/// A function that makes the measured call a number of times. It holds the connections and their runtime.
pub(crate) type Repeat = Box<dyn FnMut(u64) -> Result<(), Error>>;

/// Returns a function that makes `call` at `end`, and its counterpart at `bare`.
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
        runtime.block_on(async { in_time(async { work.await.map_err(failed) }).await })
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
