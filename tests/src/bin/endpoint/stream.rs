//! Streams of numbers between two ends that change their stack meanwhile.

use super::History;
use bertha_chunnels::{AtMostOnce, Ordered, Reliable, Serialize};
use bertha_core::{Addr, Bottom, Connection, Error, Runtime, Select, Stack, make_stack, select};
use bertha_datapath_kernel::{TokioRuntime, Udp};
use bertha_negotiation::{Negotiate, Pick, Settings};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The number of a stream, and one of its numbers, or the number of received numbers.
type Message = (u64, u64);

/// Number of numbers in a stream.
const COUNT: u64 = 1000;

/// The mark behind the last number.
const END: u64 = u64::MAX;

/// Largest number of numbers on their way, after which the receiver reports its progress.
const WINDOW: u64 = 64;
const EVERY: u64 = 16;

type Layers = Stack<Serialize<Message>, Stack<Select<Plain, Careful>, Bottom>>;
type Plain = Stack<Stack<Ordered, Stack<Reliable, Bottom>>, Bottom>;
type Careful = Stack<Stack<Ordered, Stack<Reliable, Stack<AtMostOnce, Bottom>>>, Bottom>;

fn stack() -> Layers {
    let reliable = || Reliable::new().idle_timeout(Duration::from_secs(3));
    make_stack!(
        Serialize::<Message>::new(),
        select!(make_stack!(Ordered::new(), reliable()), make_stack!(Ordered::new(), reliable(), AtMostOnce)),
    )
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.idle_timeout = Duration::from_secs(2);
    settings.handshake_timeout = Duration::from_secs(3);
    settings
}

/// Sends streams one after another, also after failures.
pub(crate) async fn send(to: &Addr, history: &History) -> Result<(), Error> {
    loop {
        let stream = TokioRuntime.random();
        if let Err(error) = send_one(to, stream, history).await {
            history.say(format_args!("ended {stream:016x} {error}"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn send_one(to: &Addr, stream: u64, history: &History) -> Result<(), Error> {
    let connection = stack().upgradable().connect(Udp::new(), to.clone()).settings(settings()).await?;
    history.say(format_args!("begun {stream:016x}"));
    let window = Semaphore::new(WINDOW as usize);
    let sending = async {
        for number in 0..COUNT {
            if let Ok(permit) = window.acquire().await {
                permit.forget();
            }
            // The line comes before the number is sent, since the receiver may be faster than this process.
            history.say(format_args!("sent {stream:016x} {number}"));
            connection.send((stream, number)).await?;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        connection.send((stream, END)).await
    };
    let hearing = async {
        let mut known = 0;
        while known < COUNT {
            let (_, received) = connection.recv().await?;
            history.say(format_args!("acknowledged {stream:016x} {received}"));
            window.add_permits(received.saturating_sub(known) as usize);
            known = received;
        }
        Ok(())
    };
    let changing = async {
        for number in 1.. {
            tokio::time::sleep(Duration::from_millis(400)).await;
            match connection.upgrade(Pick::alternative(number % 2)).await {
                Ok(agreement) => history.say(format_args!("changed {stream:016x} {}", agreement.round())),
                Err(error) => history.say(format_args!("unchanged {stream:016x} {error}")),
            }
        }
        Ok::<_, Error>(())
    };
    tokio::select! {
        done = async { tokio::try_join!(sending, hearing) } => done.map(drop)?,
        done = changing => done?,
    }
    history.say(format_args!("complete {stream:016x} {COUNT}"));
    connection.close().await
}

/// Receives streams.
pub(crate) async fn serve(at: Addr, history: History) -> Result<(), Error> {
    let mut incoming = stack().upgradable().listen(Udp::new(), at).settings(settings()).await?;
    while let Some(accepted) = incoming.next_or_refusal().await {
        match accepted {
            Ok(connection) => {
                tokio::spawn(receive(connection, history.clone()));
            }
            Err(error) => history.say(format_args!("refused {error}")),
        }
    }
    Ok(())
}

async fn receive(connection: impl Connection<Data = Message>, history: History) {
    let mut count = 0;
    let error = loop {
        let (stream, number) = match connection.recv().await {
            Ok(message) => message,
            Err(error) => break error,
        };
        if number != END {
            count += 1;
            history.say(format_args!("received {stream:016x} {number}"));
        }
        if (number == END || count % EVERY == 0)
            && let Err(error) = connection.send((stream, count)).await
        {
            break error;
        }
    };
    history.say(format_args!("ended {error}"));
}
