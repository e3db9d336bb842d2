//! TLS from the command line, and the refusal of plaintext, by a router and by a shard of its own process.

use bertha::chunnels::{Checksum, ClientShard};
use bertha::prelude::*;
use bertha::{Addr, Error, Settings};
use bertha_kvstore::{Body, Message, Messages, shard_map};
use bertha_program::tls::{ClientOptions, Encryption};
use clap::Parser;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `kvstore`, which is killed when the value is dropped.
struct Program {
    child: Child,
    addr: SocketAddr,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kvstore"));
        command.args(arguments).args(["--addr", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let addr = said.split_once("ready at ").and_then(|(_, rest)| rest.split_once(','));
        let addr = addr.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
        Self { child, addr }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A router and its only shard, with equal options.
struct Store {
    router: Program,
    shard: Program,
}

impl Store {
    fn start(options: &[&str]) -> Self {
        let shard = Program::start(&[&["shard"], options].concat());
        let router = Program::start(&[&["--remote-shard", &shard.addr.to_string()], options].concat());
        Self { router, shard }
    }

    /// Puts a record and reads it back, through the router and directly from the shard. Returns the outcomes
    /// in this order.
    async fn try_both(&self, encryption: Option<&Encryption>) -> [Result<String, Error>; 2] {
        let map = shard_map([Addr::from(self.shard.addr)]).unwrap();
        let messages = Messages::new();
        let routed = make_stack!(ClientShard::new(map), messages.clone());
        let (router, shard) = (self.router.addr, self.shard.addr);
        let settings = Settings::default();
        match encryption {
            None => [
                exchange(make_stack!(routed, Checksum::new()), settings.clone(), router).await,
                exchange(make_stack!(messages, Checksum::new()), settings, shard).await,
            ],
            Some(encryption) => {
                let settings = encryption.settings(settings);
                [
                    exchange(make_stack!(routed, encryption.wire()), settings.clone(), router).await,
                    exchange(make_stack!(messages, encryption.wire()), settings, shard).await,
                ]
            }
        }
    }

    async fn refuses(&self, encryption: Option<&Encryption>) {
        for outcome in self.try_both(encryption).await {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("no stack suits both ends") && error.contains("Tls"), "{error}");
        }
    }

    async fn agrees(&self, encryption: Option<&Encryption>, on: &str) {
        for outcome in self.try_both(encryption).await {
            let agreed = outcome.unwrap();
            assert!(agreed.ends_with(on), "{agreed}");
        }
    }
}

/// Returns the Chunnels that were agreed on.
async fn exchange<S>(stack: S, settings: Settings, to: SocketAddr) -> Result<String, Error>
where
    S: Negotiate + Sync,
    bertha::DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let store = stack.connect(bertha::datapath(), to).settings(settings).await?;
    assert_eq!(ask(&store, Message::put(1, "user1", vec![7; 10])).await?, Body::Stored);
    assert_eq!(ask(&store, Message::get(2, "user1")).await?, Body::Found([7; 10].into()));
    Ok(store.explain().chunnels().collect::<Vec<_>>().join(" / "))
}

/// Asks again if a reply is lost, as some replies over UDP are.
async fn ask(store: &impl Connection<Data = Message>, request: Message) -> Result<Body, Error> {
    loop {
        store.send(request.clone()).await?;
        let waiting = async {
            loop {
                let reply = store.recv().await?;
                if reply.id == request.id {
                    return Ok(reply.body);
                }
            }
        };
        if let Ok(body) = tokio::time::timeout(Duration::from_millis(500), waiting).await {
            return body;
        }
    }
}

#[derive(Parser)]
struct Client {
    #[command(flatten)]
    encryption: ClientOptions,
}

fn client(options: &[&str]) -> Encryption {
    let client = Client::parse_from([&["client"], options].concat());
    client.encryption.encryption("127.0.0.1").unwrap().unwrap()
}

fn write(directory: &Path, file: &str, text: &str) -> String {
    let path = directory.join(file);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn plaintext_is_refused_when_told_to_and_taken_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let certificate = write(directory.path(), "cert.pem", &made.cert.pem());
    let key = write(directory.path(), "key.pem", &made.signing_key.serialize_pem());
    let identity = ["--tls-cert", &certificate, "--tls-key", &key];
    let (willing, demanding) =
        (client(&["--tls-ca", &certificate]), client(&["--tls-ca", &certificate, "--require-encryption"]));
    let over_tls = "/ Tls / Ordered / Reliable";

    let strict = Store::start(&[&identity[..], &["--require-encryption"]].concat());
    strict.refuses(None).await;
    strict.agrees(Some(&willing), over_tls).await;
    strict.agrees(Some(&demanding), over_tls).await;

    let open = Store::start(&[]);
    open.refuses(Some(&demanding)).await;
    open.agrees(None, "/ Checksum").await;

    let both = Store::start(&identity);
    both.agrees(None, "/ Checksum").await;
    both.agrees(Some(&willing), over_tls).await;
}
