//! An echo server over TCP, as a process of its own whose descriptors a test can limit.
//!
//! `stream_echo plain` and `stream_echo tls CERTIFICATE KEY` print their address, then answer each message
//! with itself. `stream_echo hoarding COUNT` works as `stream_echo plain`, and has COUNT other files open.
//! For each line on the standard input, a command prints the number of accepted clients, the failed clients,
//! and the numbers of connections that it gave up for want of room.

use bertha_chunnels::Nothing;
use bertha_core::{Addr, Buf, Connection, Error, ErrorKind, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::{Incoming, Negotiate, Runs};
use std::net::Ipv4Addr;
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let local = Addr::from((Ipv4Addr::LOCALHOST, 0));
    match &arguments[..] {
        [kind] if kind == "plain" => serve(make_stack!(Nothing).listen(Tcp::new(), local).await?).await,
        [kind, count] if kind == "hoarding" => {
            let files = (0..count.parse().unwrap_or(0)).map(|_: usize| std::fs::File::open("/dev/null"));
            let _files = files.collect::<Result<Vec<_>, _>>().map_err(Error::from)?;
            serve(make_stack!(Nothing).listen(Tcp::new(), local).await?).await
        }
        #[cfg(feature = "tls")]
        [kind, certificate, key] if kind == "tls" => {
            let identity = bertha_chunnels::TlsIdentity::from_pem_files(certificate, key)?;
            let stack = make_stack!(bertha_chunnels::Tls::server(identity)?);
            serve(stack.listen(Tcp::new(), local).await?).await
        }
        _ => Err(Error::new(
            ErrorKind::Invalid,
            "usage: stream_echo plain | hoarding COUNT | tls CERTIFICATE KEY",
        )),
    }
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
async fn serve<S, D>(mut incoming: Incoming<S, D>) -> Result<(), Error>
where
    S: Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Buf>>,
{
    println!("{}", incoming.local_addr());
    let (ask, mut questions) = mpsc::channel(1);
    // A thread reads the standard input, since no other code here needs tokio's files.
    std::thread::spawn(move || {
        for _line in std::io::stdin().lines().map_while(Result::ok) {
            let _ = ask.blocking_send(());
        }
    });
    let (mut accepted, mut failed) = (0_usize, Vec::new());
    loop {
        tokio::select! {
            client = incoming.next_or_refusal() => match client {
                Some(Ok(connection)) => {
                    accepted += 1;
                    tokio::spawn(echo(connection));
                }
                Some(Err(error)) => failed.push(error),
                None => return Ok(()),
            },
            question = questions.recv() => {
                if question.is_none() {
                    return Ok(());
                }
                println!("{accepted} accepted, {} failed, {:?}; the last: {:?}", failed.len(), incoming.overload(), failed.last());
            }
        }
    }
}

async fn echo(connection: impl Connection<Data = Buf>) {
    while let Ok(message) = connection.recv().await {
        if connection.send(message).await.is_err() {
            break;
        }
    }
}
