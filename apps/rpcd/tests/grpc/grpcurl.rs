//! Operators' questions by grpcurl, which knows the services by reflection alone, over plain TCP and by TLS.

use crate::authority::Authority;
use crate::envoy::{Envoy, Way};
use crate::hotel::{Hotel, Running, serve};
use bertha_managed::Order;
use bertha_managed::application::{Handle, Incoming};
use bertha_rpcd::{GrpcTls, Peers, Settings};
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

const NAME: &str = "hotel.example";

/// A daemon with a hotel, and the arguments by which grpcurl reaches it.
struct Asked {
    daemon: Running,
    arguments: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Asked {
    fn plain() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { daemon: listening(GrpcTls::default()), arguments: vec!["-plaintext".into()], _folder: folder }
    }

    fn by_tls() -> Self {
        let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
        let identity = Some(authority.issue(NAME).identity());
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, authority.pem()).unwrap();
        let arguments = ["-cacert", file.to_str().unwrap(), "-authority", NAME].map(Into::into).into();
        Self { daemon: listening(GrpcTls { identity, ..GrpcTls::default() }), arguments, _folder: folder }
    }

    /// Asks with these flags, and these words behind the address. Returns `None` if there is no grpcurl, which is a failure in CI.
    async fn ask(&self, flags: &[&str], words: &[&str]) -> Option<Answer> {
        let mut command = Command::new("grpcurl");
        command.args(&self.arguments).args(["-connect-timeout", "20"]).args(flags);
        command.arg(self.daemon.grpc_addr.as_ref().unwrap().to_string()).args(words);
        match spawn_blocking(move || command.output()).await.unwrap() {
            Ok(output) => Some(output.into()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                bertha_tests::skip("grpcurl is missing: add \"$(scripts/tools grpcurl)\" to PATH");
                None
            }
        }
    }
}

/// The words of grpcurl.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    /// The code of gRPC; `None` if grpcurl got none.
    code: Option<i32>,
    output: String,
    errors: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        // The status of a call that fails is its code, and 64.
        let code = output.status.code().and_then(|status| match status {
            0 => Some(0),
            status => status.checked_sub(64).filter(|code| *code > 0),
        });
        Self { code, output: text(output.stdout), errors: text(output.stderr) }
    }
}

impl Answer {
    /// Returns what was printed by a success.
    #[track_caller]
    fn printed(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.output.trim()
    }
}

fn listening(grpc_tls: GrpcTls) -> Running {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), grpc_tls, ..Peers::default() };
    Running::with(Settings { peers, ..Settings::default() })
}

const RESERVE: &str = "hotel.Hotel/Reserve";
const CHECK: &str = "grpc.health.v1.Health/Check";

#[tokio::test]
async fn services_are_listed_and_described() {
    for asked in [Asked::plain(), Asked::by_tls()] {
        let _serving = serve(asked.daemon.server().await);
        let Some(services) = asked.ask(&[], &["list"]).await else { return };
        assert_eq!(services.printed(), "grpc.health.v1.Health\nhotel.Hotel");
        let methods = asked.ask(&[], &["list", "hotel.Hotel"]).await.unwrap();
        assert_eq!(methods.printed(), "hotel.Hotel.Ping\nhotel.Hotel.Reserve");
        let method = asked.ask(&[], &["describe", "hotel.Hotel.Reserve"]).await.unwrap();
        let line = "rpc Reserve ( .hotel.Request ) returns ( .hotel.Response );";
        assert!(method.printed().ends_with(line), "{method:?}");
        let message = asked.ask(&[], &["describe", "hotel.Request"]).await.unwrap();
        for field in ["string customer = 1;", "int32 nights = 2;", "repeated string guests = 3;"] {
            assert!(message.printed().contains(field), "{field} is not in {message:?}");
        }
        // Without a name it describes all that it has listed.
        let all = asked.ask(&[], &["describe"]).await.unwrap();
        assert!(all.printed().contains("rpc Watch"), "{all:?}");
        let missing = asked.ask(&[], &["describe", "hotel.Motel"]).await.unwrap();
        assert!(missing.code.is_none() && missing.errors.contains("not found"), "{missing:?}");
    }
}

#[tokio::test]
async fn calls_are_answered() {
    for asked in [Asked::plain(), Asked::by_tls()] {
        let _serving = serve(asked.daemon.server().await);
        let request = r#"{"customer": "Zoë", "nights": 3, "guests": ["grace", "edsger"]}"#;
        let Some(answered) = asked.ask(&["-d", request], &[RESERVE]).await else { return };
        assert_eq!(answered.printed(), "{\n  \"room\": \"Zoë: grace, edsger\",\n  \"price\": 300\n}");
        let nothing = asked.ask(&[], &["hotel.Hotel/Ping"]).await.unwrap();
        assert_eq!(nothing.printed(), "{}");
    }
}

#[tokio::test]
async fn calls_that_fail_have_their_codes() {
    for asked in [Asked::plain(), Asked::by_tls()] {
        let _serving = serve(asked.daemon.server().await);
        let [service, name, kind] = ["hotel", "acl", "acl"].map(Into::into);
        let order = Order::Add { service, name, kind, settings: "field=customer deny=eve".into() };
        order.give(&asked.daemon.path).await.unwrap();
        let request = r#"{"customer": "eve", "nights": 1}"#;
        let Some(refused) = asked.ask(&["-d", request], &[RESERVE]).await else { return };
        let is_told = refused.errors.contains("the value of customer is not permitted");
        assert_eq!((refused.code, is_told), (Some(7), true), "{refused:?}");
        let late = asked.ask(&["-max-time", "0.5", "-d", r#"{"customer": "slow"}"#], &[RESERVE]).await;
        let late = late.unwrap();
        assert_eq!(late.code, Some(4), "{late:?}");
        let answered = asked.ask(&["-d", r#"{"customer": "ada", "nights": 1}"#], &[RESERVE]).await.unwrap();
        assert!(answered.printed().contains("100"), "{answered:?}");
    }
}

#[tokio::test]
async fn the_health_of_services_is_told() {
    for asked in [Asked::plain(), Asked::by_tls()] {
        let question = ["-d", r#"{"service": "hotel.Hotel"}"#];
        let Some(unknown) = asked.ask(&question, &[CHECK]).await else { return };
        assert_eq!(unknown.code, Some(5), "{unknown:?}");
        let _serving = serve(asked.daemon.server().await);
        for question in [&question[..], &[]] {
            let health = asked.ask(question, &[CHECK]).await.unwrap();
            assert_eq!(health.printed(), "{\n  \"status\": \"SERVING\"\n}");
        }
        let watch = asked.ask(&question, &["grpc.health.v1.Health/Watch"]).await.unwrap();
        assert_eq!(watch.code, Some(12), "{watch:?}");
    }
}

#[tokio::test]
async fn a_daemon_of_another_authority_is_not_called() {
    let (mut asked, other) = (Asked::by_tls(), Asked::by_tls());
    asked.arguments.clone_from(&other.arguments);
    let Some(refused) = asked.ask(&["-connect-timeout", "2"], &["list"]).await else { return };
    assert!(refused.code.is_none() && refused.errors.contains("certificate"), "{refused:?}");
}

/// A hotel that never answers, and counts the calls that have begun and those that have ended.
struct Asleep(watch::Sender<[usize; 2]>);

/// A call that has begun.
struct Begun<'a>(&'a Asleep);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|[_, ended]| *ended += 1);
    }
}

impl Handle<Hotel> for Asleep {
    async fn handle(&self, _call: Incoming<Hotel>) {
        self.0.send_modify(|[begun, _]| *begun += 1);
        let _begun = Begun(self);
        std::future::pending().await
    }
}

/// A call whose time is over, or whose caller has gone, ends at its server, and an Envoy in between passes that on.
#[tokio::test]
async fn calls_that_are_late_or_given_up_end_at_the_server_also_behind_envoy() {
    let asked = Asked::plain();
    let daemon = asked.daemon.grpc_addr.as_ref().unwrap().to_string();
    let (counts, mut seen) = watch::channel([0; 2]);
    let _serving = tokio::spawn(asked.daemon.server().await.serve(Asleep(counts)));
    let envoy = Envoy::start(daemon.parse().unwrap(), Way::default()).await;
    let ways = [Some(daemon), envoy.as_ref().map(|envoy| envoy.addr.to_string())];
    let mut calls = 0;
    for way in ways.into_iter().flatten() {
        let mut ask = Command::new("grpcurl");
        // The schema is Envoy's to pass on, as calls are.
        ask.args(["-plaintext", "-connect-timeout", "20", "-max-time", "2", &way, "hotel.Hotel/Ping"]);
        let late = match spawn_blocking(move || ask.output()).await.unwrap() {
            Ok(output) => Answer::from(output),
            // The other tests tell that grpcurl is missing.
            Err(_) => return,
        };
        assert_eq!(late.code, Some(4), "{late:?}");
        calls += 1;
        become_all(&mut seen, [calls; 2]).await;

        let mut ask = Command::new("grpcurl");
        ask.args(["-plaintext", "-connect-timeout", "20", &way, "hotel.Hotel/Ping"]);
        let mut asking = ask.stdout(Stdio::null()).spawn().unwrap();
        become_all(&mut seen, [calls + 1, calls]).await;
        asking.kill().unwrap();
        asking.wait().unwrap();
        calls += 1;
        become_all(&mut seen, [calls; 2]).await;
    }
}

/// Waits until so many calls have begun, and so many have ended.
async fn become_all(seen: &mut watch::Receiver<[usize; 2]>, wanted: [usize; 2]) {
    let waiting = seen.wait_for(|counts| *counts == wanted);
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
}
