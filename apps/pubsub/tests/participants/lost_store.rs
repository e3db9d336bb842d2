//! A participant whose store goes away, and comes back.

use std::io::{BufRead, BufReader, Lines, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// An address that leads to a server, while it is open.
struct Way {
    addr: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    connections: Vec<TcpStream>,
}

impl Way {
    fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let mut state = shared.lock().unwrap();
                // A client that is dropped is told of the end.
                if !state.is_closed {
                    let server = TcpStream::connect(&server).unwrap();
                    state.connections.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                    carry(client.try_clone().unwrap(), server.try_clone().unwrap());
                    carry(server, client);
                }
            }
        });
        Self { addr, state }
    }

    fn set_open(&self, is_open: bool) {
        let mut state = self.state.lock().unwrap();
        state.is_closed = !is_open;
        for connection in state.connections.drain(..) {
            // An end may have gone before.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// Reads on until a line has these texts.
fn until(lines: &mut Lines<BufReader<impl std::io::Read>>, texts: &[&str]) -> String {
    let has_texts = |line: &String| texts.iter().all(|text| line.contains(text));
    lines.map(Result::unwrap).find(has_texts).unwrap_or_else(|| panic!("no line has {texts:?}"))
}

#[test]
fn a_participant_tells_that_its_store_is_gone_and_goes_on_once_it_is_back() {
    let Ok(url) = std::env::var("BERTHA_REDIS") else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI");
        return eprintln!("SKIPPED: run scripts/services start");
    };
    let way = Way::to(url.trim_start_matches("redis://").trim_end_matches('/').to_owned());
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubsub"));
    let topic = format!("pubsub-lost-store-{}", std::process::id());
    command.args(["join", "--store", &format!("redis://{}", way.addr), "--topic", &topic, "--id", "1"]);
    command.args(["--group", "239.255.77.3:7703", "--lease", "900"]).env("RUST_LOG", "warn,bertha=info");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut participant = command.spawn().unwrap();
    let mut history: Lines<BufReader<ChildStdout>> =
        BufReader::new(participant.stdout.take().unwrap()).lines();
    let mut log: Lines<BufReader<ChildStderr>> = BufReader::new(participant.stderr.take().unwrap()).lines();
    until(&mut history, &["joined"]);
    way.set_open(false);
    let told = until(&mut log, &["the store of a group fails"]);
    assert!(told.contains("WARN") && told.contains(&topic) && told.contains(&way.addr.to_string()), "{told}");
    way.set_open(true);
    until(&mut log, &["the store of a group answers again"]);
    // The commands end, and so does the participant.
    drop(participant.stdin.take());
    until(&mut history, &["left"]);
    assert!(participant.wait().unwrap().success());
}
