//! Processes that are killed at random moments.

use crate::traces::shared_memory;
use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener};
use bertha_datapath_shm::{Shm, ShmConnection, Waiting};
use futures_util::future::join;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::cell::Cell;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Environment variables that tell a process of this program its role, as an end of a connection.
const ROLE: &str = "BERTHA_SHM_ROLE";
const ADDR: &str = "BERTHA_SHM_ADDR";

/// Time within which a crash is noticed: as soon as the system has cleaned up, which takes a while on a busy
/// machine.
const SOON: Duration = Duration::from_secs(10);

/// This function is no test: it is the process that is killed.
#[tokio::test]
async fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let addr: Addr = std::env::var(ADDR).unwrap().parse().unwrap();
    let shm = Shm::new().ring(16 << 10);
    let connection = match role.as_str() {
        "client" => connect(&shm, &addr).await.unwrap(),
        _ => shm.listen(addr).await.unwrap().accept().await.unwrap(),
    };
    let _ended = traffic(&connection).await;
}

async fn connect(shm: &Shm, addr: &Addr) -> Result<ShmConnection, Error> {
    for _ in 0..500 {
        match shm.connect(addr.clone()).await {
            // The server does not listen yet.
            Err(error) if error.kind() == ErrorKind::Unreachable => sleep(Duration::from_millis(5)).await,
            done => return done,
        }
    }
    Err(Error::new(ErrorKind::TimedOut, "no server"))
}

/// Sends and receives without a pause until either fails.
async fn traffic(connection: &ShmConnection) -> Error {
    let send = async {
        for number in 0_usize.. {
            let message = Buf::copy_of(&number.to_ne_bytes().repeat(1 + number % 40), 0).unwrap();
            if let Err(error) = connection.send(message).await {
                return error;
            }
        }
        unreachable!()
    };
    let receive = async {
        for number in 0_usize.. {
            match connection.recv().await {
                Ok(message) => {
                    assert_eq!(&message[..], number.to_ne_bytes().repeat(1 + number % 40), "a torn message");
                }
                Err(error) => return error,
            }
        }
        unreachable!()
    };
    // Both futures learn of the end.
    let (sent, received) = join(send, receive).await;
    assert_eq!(sent.kind(), received.kind());
    received
}

fn spawn(role: &str, addr: &Addr) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::the_other_process", "--nocapture"])
        .envs([(ROLE, role), (ADDR, &addr.to_string())])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The variable `BERTHA_SHM_KILLS` sets the number of kills.
#[tokio::test]
async fn the_death_of_a_process_is_heard() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let kills = number("BERTHA_SHM_KILLS").unwrap_or(30);
    let seed = number("BERTHA_SEED").unwrap_or_else(rand::random);
    println!("BERTHA_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = std::env::temp_dir().join(format!("bertha-shm-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut connected = 0;
    for kill in 0..kills {
        let waiting = match random.random_range(0..3) {
            0 => Waiting::Park,
            1 => Waiting::Spin,
            _ => Waiting::Adaptive { spin_for: Duration::from_micros(50) },
        };
        let shm = Shm::new().ring(16 << 10).waiting(waiting);
        // The kill mostly comes in the middle of traffic, and sometimes in the handshake.
        let alive = Duration::from_micros(random.random_range(0..40_000));
        let outcome = if kill % 2 == 0 {
            let path = folder.join("shm.sock");
            let on = Addr::Unix(path.clone());
            let listener = shm.listen(on.clone()).await.unwrap();
            let child = spawn("client", &on);
            let outcome = killed(child, alive, listener.accept()).await;
            drop(listener);
            assert!(!path.exists(), "the socket's file is left");
            outcome
        } else {
            let addr: Addr = format!("unix:@bertha-shm-{}-{kill}", std::process::id()).parse().unwrap();
            let child = spawn("server", &addr);
            killed(child, alive, connect(&shm, &addr)).await
        };
        if let Some(error) = outcome {
            connected += 1;
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::Closed | ErrorKind::Reset),
                "kill {kill} of seed {seed}: {error}"
            );
        }
        assert_eq!(shared_memory(), 0, "memory is left after kill {kill} of seed {seed}");
    }
    std::fs::remove_dir(&folder).unwrap();
    println!("{connected} of {kills} processes were killed while they were connected");
    assert!(connected > 0 || kills == 0);
}

/// Returns the error that ends a connection to a killed process; `None` if it was killed before the
/// connection was made.
async fn killed(
    mut child: Child,
    alive: Duration,
    connect: impl Future<Output = Result<ShmConnection, Error>>,
) -> Option<Error> {
    let connected = Cell::new(false);
    let mut end = Box::pin(async {
        let connection = connect.await?;
        connected.set(true);
        Ok(traffic(&connection).await)
    });
    // A process takes a while to start.
    let early: Option<Result<Error, Error>> =
        timeout(Duration::from_millis(15) + alive, end.as_mut()).await.ok();
    assert!(early.is_none(), "an end before the kill: {early:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    if connected.get() {
        let heard = timeout(SOON, end).await.expect("the death of a process is not heard");
        return Some(heard.unwrap());
    }
    // The kill came in the handshake, or before it: the handshake fails, or the remaining end goes on to wait
    // for other peers.
    drop(end);
    None
}
