//! An end of a connection, as a process that a test can kill.
//!
//! The command `echo serve ADDR IDLE_MS` echoes to every client; `echo ask ADDR IDLE_MS` connects, sends a
//! message to be echoed, and then waits for another message that never comes. Each command writes its
//! progress to its standard output, line by line.

use bertha_chunnels::Serialize;
use bertha_core::{Addr, Base, Connection, Error, ErrorKind, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Settings};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [role, addr, idle_ms] = &arguments[..] else { return Err(misused()) };
    let mut settings = Settings::default();
    settings.idle_timeout = Duration::from_millis(idle_ms.parse().map_err(|_| misused())?);
    match role.as_str() {
        "serve" => serve(addr.parse()?, settings).await,
        "ask" => ask(addr.parse()?, settings).await,
        _ => Err(misused()),
    }
}

fn misused() -> Error {
    Error::new(ErrorKind::Invalid, "usage: echo serve|ask ADDR IDLE_MS")
}

async fn serve(at: Addr, settings: Settings) -> Result<(), Error> {
    let mut incoming =
        make_stack!(Serialize::<String>::new()).listen(Udp::new(), at).settings(settings).await?;
    say(&incoming.local_addr());
    while let Some(connection) = incoming.next().await {
        tokio::spawn(async move {
            while let Ok(message) = connection.recv().await {
                if connection.send(message).await.is_err() {
                    break;
                }
            }
        });
    }
    Ok(())
}

async fn ask(server: Addr, settings: Settings) -> Result<(), Error> {
    let connection =
        make_stack!(Serialize::<String>::new()).connect(Udp::new(), server).settings(settings).await?;
    connection.send("hello".into()).await?;
    connection.recv().await?;
    say(&connection.base().local_addr());
    connection.recv().await.map(drop)
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn say(addr: &Addr) {
    println!("{addr}");
}
