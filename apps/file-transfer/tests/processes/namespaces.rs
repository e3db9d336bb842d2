//! Machines with a bad network between them: namespaces, and losses and delays by the Fault Chunnel or the kernel.

use crate::program::{Receiver, Scene, content, program, sending, success};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

const LEN: usize = 3 << 20;

/// Options of a network that loses two packets in a hundred, and takes 20 ms for a round trip.
const BAD: &[&str] = &["--lose", "0.02", "--delay", "10"];

/// The lock for the namespaces, of which there is a single set at a time.
static NAMESPACES: Mutex<()> = Mutex::new(());

/// The script's name for the two namespaces, and the namespaces' network.
const NAME: &str = "bertha-ft";
const NET: &str = "10.78.0";

/// Two namespaces, which are taken down when the value is dropped.
struct Namespaces;

fn script(action: &str, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/netns");
    Command::new(script).args([action, NAME]).args(arguments).output().unwrap()
}

/// Returns true if the script succeeded. Skips loudly if the machine has no namespaces.
fn done(output: &Output) -> bool {
    let log = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(3) => bertha_tests::skip(log.trim()),
        code => assert_eq!(code, Some(0), "{log}"),
    }
    output.status.success()
}

impl Namespaces {
    fn up() -> Option<Self> {
        done(&script("up", &[NET, "2"])).then_some(Self)
    }

    /// Returns the program on host 1 or 2.
    fn program_on(&self, host: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{NAME}-{host}")]).arg(program().get_program());
        command
    }

    fn transfer(&self, faults: &[&str]) {
        let scene = Scene::new();
        let path = scene.file("file", LEN, 1);
        let addr = format!("{NET}.12:4343");
        let receiver = Receiver::start(self.program_on(2), &scene.there, &addr, faults);
        success(&sending(self.program_on(1), &path, &receiver.addr, faults).output().unwrap());
        assert!(std::fs::read(scene.received("file")).unwrap() == content(LEN, 1));
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        script("down", &[]);
    }
}

#[test]
fn over_loss_and_delay_of_the_fault_chunnel() {
    let _alone = NAMESPACES.lock();
    if let Some(namespaces) = Namespaces::up() {
        namespaces.transfer(BAD);
    }
}

#[test]
fn over_loss_and_delay_of_the_kernel() {
    let _alone = NAMESPACES.lock();
    let Some(namespaces) = Namespaces::up() else { return };
    let netem = script("netem", &["2%", "10ms"]);
    // Not every kernel has netem, so its absence is no failure anywhere: the Fault Chunnel does the same.
    if netem.status.code() == Some(3) {
        #[allow(clippy::print_stderr, reason = "for whoever runs the tests")]
        {
            eprintln!("SKIPPED: {}", String::from_utf8_lossy(&netem.stderr).trim());
        }
        return;
    }
    assert!(netem.status.success());
    namespaces.transfer(&[]);
}
