//! A sender that a test can kill: a process that sends numbered messages and never closes.
//!
//! The command `sender STACK ADDR IDLE_MS` connects to ADDR, sends the numbers below 5,000, and then waits for
//! a message that never comes. STACK is `reliable`, `changing`, `quic`, `tcp`, `tls` or `shm`. Over `changing`
//! the process asks for other stacks all the time. `quic` and `tls` trust the certificate of the server in the
//! environment variable `TRUST`, as PEM.

use bertha_chunnels::{Batch, Nothing, Ordered, Reliable, Serialize};
use bertha_core::{Addr, Connection, Error, ErrorKind, make_stack, select};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_datapath_shm::Shm;
use bertha_negotiation::{Negotiate, Pick, Settings};
use std::time::Duration;

const MESSAGES: u32 = 5_000;

/// Number of messages between two pauses, which leave the receiver time to kill the process.
const BURST: u32 = 50;

const PAUSE: Duration = Duration::from_millis(1);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [stack, addr, idle_ms] = &arguments[..] else { return Err(misused()) };
    let idle = Duration::from_millis(idle_ms.parse().map_err(|_| misused())?);
    let mut settings = Settings::default();
    settings.idle_timeout = idle;
    let to: Addr = addr.parse()?;
    let numbers = Serialize::<u32>::new;
    match stack.as_str() {
        "reliable" => {
            let stack = make_stack!(numbers(), Ordered::new(), Reliable::new());
            send(&stack.connect(Udp::new(), to).settings(settings).await?).await
        }
        "changing" => {
            let stack =
                make_stack!(numbers(), select!(Nothing, Batch::new()), Ordered::new(), Reliable::new());
            let connection = stack.upgradable().connect(Udp::new(), to).settings(settings).await?;
            let changing = async {
                for change in 1.. {
                    connection.upgrade(Pick::alternative(change % 2)).await?;
                }
                Ok(())
            };
            futures_util::try_join!(send(&connection), changing).map(drop)
        }
        "tcp" => send(&numbers().connect(Tcp::new(), to).settings(settings).await?).await,
        "shm" => send(&numbers().connect(Shm::new(), to).settings(settings).await?).await,
        #[cfg(feature = "quic")]
        "quic" => {
            let quic = bertha_chunnels::Quic::client(SERVER, trust()?)?.idle_timeout(idle);
            send(&make_stack!(numbers(), quic).connect(Udp::new(), to).settings(settings).await?).await
        }
        #[cfg(feature = "tls")]
        "tls" => {
            let tls = bertha_chunnels::Tls::client(SERVER, trust()?)?;
            send(&make_stack!(numbers(), tls).connect(Tcp::new(), to).settings(settings).await?).await
        }
        _ => Err(misused()),
    }
}

/// The name in the certificate of the server.
#[cfg(any(feature = "quic", feature = "tls"))]
const SERVER: &str = "store.example";

#[cfg(any(feature = "quic", feature = "tls"))]
fn trust() -> Result<bertha_chunnels::Trust, Error> {
    bertha_chunnels::Trust::ca_pem(std::env::var("TRUST").map_err(|_| misused())?)
}

fn misused() -> Error {
    Error::new(ErrorKind::Invalid, "usage: sender reliable|changing|quic|tcp|tls|shm ADDR IDLE_MS")
}

async fn send(connection: &impl Connection<Data = u32>) -> Result<(), Error> {
    for number in 0..MESSAGES {
        connection.send(number).await?;
        if number % BURST == 0 {
            tokio::time::sleep(PAUSE).await;
        }
    }
    connection.recv().await.map(drop)
}
