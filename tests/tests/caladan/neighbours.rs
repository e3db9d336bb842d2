//! Peers of Caladan's datapaths: the kernel's sockets, Bertha on tokio, and another process over Caladan,
//! which some tests kill.

use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_chunnels::{Reliable, Serialize};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Error, ErrorKind, Listener, Runtime, make_stack};
use bertha_datapath_caladan::{Caladan, CaladanRuntime, Config, Tcp};
use bertha_datapath_kernel as kernel;
use bertha_negotiation::{Negotiate, Settings};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const KERNEL: &str = "10.77.0.1:0";
const CALADAN: &str = "10.77.0.2:0";

/// The child's address, and its port.
const CHILD: &str = "10.77.0.3:7777";
const PARENT: &str = "10.77.0.2:7777";

/// The child has the settings of the parent, with another address.
const ADDRESS: &str = "BERTHA_TEST_CALADAN_ADDRESS";

fn message(base: &impl Base, bytes: &[u8]) -> Buf {
    let mut message = base.buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

/// Asks for an echo, again after each second of silence: ARP may take a moment, and datagrams may be lost.
/// Then several answers may come, and an answer may be late, so no two questions have an equal length.
async fn ask(connection: &impl Connection<Data = Buf>, bytes: &[u8]) {
    let runtime = connection.base().runtime();
    for _ in 0..10 {
        connection.send(message(connection.base(), bytes)).await.unwrap();
        let answer = async {
            loop {
                let answer = connection.recv().await.unwrap();
                if answer.len() == bytes.len() {
                    break answer;
                }
            }
        };
        let silence = runtime.sleep_until(runtime.now() + Duration::from_secs(1));
        let either = futures_util::future::select(Box::pin(answer), Box::pin(silence)).await;
        if let futures_util::future::Either::Left((answer, _)) = either {
            return assert!(*answer == *bytes);
        }
    }
    panic!("no answer");
}

/// Talks to ordinary sockets, as a client and as a server.
async fn ordinary_sockets() {
    let echo = UdpSocket::bind(KERNEL).unwrap();
    let to = echo.local_addr().unwrap();
    thread::spawn(move || {
        let mut room = [0; 2000];
        while let Ok((len, from)) = echo.recv_from(&mut room) {
            echo.send_to(&room[..len], from).unwrap();
        }
    });
    let connection = Caladan::new().connect(to.into()).await.unwrap();
    for len in [0, 1, 100, connection.mtu()] {
        ask(&connection, &vec![7; len]).await;
    }
    let listener = Caladan::new().listen(CALADAN.parse().unwrap()).await.unwrap();
    let to = listener.local_addr().ip("test").unwrap();
    let client = thread::spawn(move || {
        let socket = UdpSocket::bind(KERNEL).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut room = [0; 10];
        let mut ask = || {
            socket.send_to(b"hello", to).unwrap();
            socket.recv_from(&mut room).ok()
        };
        let (len, from) = (0..10).find_map(|_| ask()).expect("an answer");
        assert_eq!((&room[..len], from), (&b"hello"[..], to));
    });
    let _serving = CaladanRuntime.spawn(async move {
        let served = listener.accept().await.unwrap();
        while let Ok(hello) = served.recv().await {
            served.send(hello).await.unwrap();
        }
    });
    while !client.is_finished() {
        CaladanRuntime.sleep_until(CaladanRuntime.now() + Duration::from_millis(5)).await;
    }
    client.join().unwrap();
}

/// Runs a server on tokio in another thread, and returns where it listens.
fn on_tokio<F: Future<Output = ()>>(
    server: impl FnOnce(std::sync::mpsc::Sender<Addr>) -> F + Send + 'static,
) -> Addr {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(server(sender));
    });
    receiver.recv().unwrap()
}

/// A negotiated stack whose other end is Bertha on tokio.
async fn bertha_on_tokio() {
    let stack = || make_stack!(Serialize::<u64>::new(), Reliable::new());
    let to = on_tokio(async move |ready| {
        let mut incoming = stack().listen(kernel::Udp::new(), KERNEL.parse::<Addr>().unwrap()).await.unwrap();
        ready.send(incoming.local_addr()).unwrap();
        let served = incoming.next().await.unwrap();
        while let Ok(number) = served.recv().await {
            served.send(number + 1).await.unwrap();
        }
    });
    let connection = stack().connect(Caladan::new(), to).await.unwrap();
    for number in 0..500 {
        connection.send(number).await.unwrap();
        assert_eq!(connection.recv().await.unwrap(), number + 1);
    }
    // The server's runtime ends once it knows of the end, and its confirmation may be lost.
    if let Err(error) = connection.close().await {
        assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
    }
}

/// Talks over streams, with messages larger than any window.
async fn streams_with_the_kernel() {
    let to = on_tokio(async move |ready| {
        let listener = kernel::Tcp::new().listen(KERNEL.parse().unwrap()).await.unwrap();
        ready.send(listener.local_addr()).unwrap();
        let served = listener.accept().await.unwrap();
        while let Ok(message) = served.recv().await {
            served.send(message).await.unwrap();
        }
    });
    let connection = Tcp::new().connect(to).await.unwrap();
    for len in [0, 1, 65_535, 65_536, 1 << 20] {
        let bytes: Vec<u8> = (0..len).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        connection.send(message(connection.base(), &bytes)).await.unwrap();
        assert!(*connection.recv().await.unwrap() == bytes);
    }
    connection.close().await.unwrap();
}

/// Sends to a neighbour that does not exist: each call fails, and no other connection suffers.
async fn nobody_has_the_address() {
    let nobody = Caladan::new().connect("10.77.0.99:1".parse().unwrap()).await.unwrap();
    let end = CaladanRuntime.now() + Duration::from_secs(40);
    let mut errors = 0;
    while errors < 2 {
        assert!(CaladanRuntime.now() < end, "{errors} errors of an unreachable neighbour");
        let _ = nobody.send(message(nobody.base(), b"hello")).await;
        let pause = CaladanRuntime.sleep_until(CaladanRuntime.now() + Duration::from_millis(500));
        let recv = Box::pin(nobody.recv());
        if let futures_util::future::Either::Left((answer, _)) =
            futures_util::future::select(recv, Box::pin(pause)).await
        {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::Unreachable);
            errors += 1;
        }
    }
}

#[test]
fn the_kernel_and_tokio() {
    run_beside("neighbours::inside", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if is_beside() {
        run(&config(2), ordinary_sockets());
        run(&config(2), bertha_on_tokio());
        run(&config(2), streams_with_the_kernel());
        run(&config(2), nobody_has_the_address());
    }
}

/// Another process over Caladan, killed when it is dropped.
struct Neighbour(Child);

impl Neighbour {
    /// Starts a test, and waits until it says that it is ready.
    fn start(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--nocapture"]).env(ADDRESS, "10.77.0.3/24");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let ready = output.lines().map_while(Result::ok).any(|line| line.contains("ready"));
        assert!(ready, "the other process did not start");
        Self(child)
    }

    fn echo() -> Self {
        Self::start("neighbours::echo")
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn echo() {
    let Some(address) = std::env::var_os(ADDRESS).filter(|_| is_beside()) else { return };
    run(&Config::new(address.into_string().unwrap()), async {
        let stack = make_stack!(Serialize::<u64>::new(), Reliable::new());
        let mut incoming = stack.listen(Caladan::new(), CHILD.parse::<Addr>().unwrap()).await.unwrap();
        println!("ready");
        loop {
            // Messages that the peer still had for the earlier process make no client.
            let served = incoming.next().await.unwrap();
            bertha_datapath_caladan::spawn(async move {
                while let Ok(number) = served.recv().await {
                    if served.send(number + 1).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
}

/// Talks to the other process, which dies in the middle of it and comes back.
async fn killed_and_back() {
    let stack =
        || make_stack!(Serialize::<u64>::new(), Reliable::new().idle_timeout(Duration::from_secs(10)));
    let mut settings = Settings::default();
    settings.handshake_timeout = Duration::from_secs(10);
    let mut echo = Some(Neighbour::echo());
    for _ in 0..2 {
        let connection = stack()
            .connect(Caladan::new(), CHILD.parse::<Addr>().unwrap())
            .settings(settings.clone())
            .await
            .unwrap();
        for number in 0..500 {
            connection.send(number).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), number + 1);
        }
        drop(echo.take());
        let error = async {
            loop {
                if let Err(error) = connection.send(0).await {
                    break error;
                }
                if let Err(error) = connection.recv().await {
                    break error;
                }
            }
        };
        let error = error.await;
        println!("after kill -9: {error}");
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Unreachable | ErrorKind::Reset),
            "{error}"
        );
        echo = Some(Neighbour::echo());
    }
}

#[test]
fn another_process_is_killed_and_comes_back() {
    run_beside("neighbours::with_another_process", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn with_another_process() {
    if is_beside() {
        run(&config(1), killed_and_back());
    }
}

/// Asks the parent for ever.
#[test]
#[ignore = "run by another test, as a process of its own"]
fn client() {
    let Some(address) = std::env::var_os(ADDRESS).filter(|_| is_beside()) else { return };
    run(&Config::new(address.into_string().unwrap()), async {
        let stack = make_stack!(Serialize::<u64>::new(), Reliable::new());
        let connection = stack.connect(Caladan::new(), PARENT.parse::<Addr>().unwrap()).await.unwrap();
        for number in 0.. {
            connection.send(number).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), number + 1);
            if number == 100 {
                println!("ready");
            }
        }
    });
}

/// Answers until a call fails. Drops `survive` at the two hundredth number.
async fn serve(served: &impl Connection<Data = u64>, survive: std::sync::mpsc::Sender<()>) -> Error {
    let mut survive = Some(survive);
    loop {
        let number = match served.recv().await {
            Ok(number) => number,
            Err(error) => return error,
        };
        if number == 200 {
            drop(survive.take());
        }
        if let Err(error) = served.send(number + 1).await {
            return error;
        }
    }
}

/// Serves another process, which dies in the middle of it; then the next one.
async fn clients_that_are_killed() {
    let stack = make_stack!(Serialize::<u64>::new(), Reliable::new().idle_timeout(Duration::from_secs(2)));
    let mut incoming = stack.listen(Caladan::new(), PARENT.parse::<Addr>().unwrap()).await.unwrap();
    for _ in 0..2 {
        // Its start blocks, so it has a thread of its own.
        let (survive, is_over) = std::sync::mpsc::channel::<()>();
        let client = thread::spawn(move || {
            let _client = Neighbour::start("neighbours::client");
            // No value is sent: the server drops its end.
            let _ = is_over.recv();
        });
        let served = incoming.next().await.unwrap();
        let error = serve(&served, survive).await;
        println!("after kill -9 of the client: {error}");
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Unreachable | ErrorKind::Reset),
            "{error}"
        );
        assert!(client.join().is_ok(), "the client did not start");
    }
}

#[test]
fn a_client_is_killed_and_another_is_served() {
    run_beside("neighbours::with_a_client", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn with_a_client() {
    if is_beside() {
        run(&config(1), clients_that_are_killed());
    }
}
