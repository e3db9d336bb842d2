//! The directory as a process, and services of several users that die.

use bertha_core::ErrorKind;
use bertha_local::Directory;
use bertha_tests::metrics::{Metered, judge, value};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use std::io::ErrorKind as SystemErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::sleep;

/// By these a process of this program is told to register a service, or to try.
const NAME: &str = "BERTHA_TEST_NAME";
const SOCKET: &str = "BERTHA_TEST_SOCKET";

/// The user that has no rights, on all systems.
const NOBODY: u32 = 65_534;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Starts a program that was just copied. A process that another test starts meanwhile has the copy open for writing until it executes
/// its own program.
fn start_copy(command: &mut Command) -> Killed {
    loop {
        match command.spawn() {
            Err(error) if error.kind() == SystemErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10))
            }
            started => return Killed(started.unwrap()),
        }
    }
}

/// Starts the service of this program as the user nobody, by a copy that nobody can run.
fn start_as_nobody(copy: &Path, name: &str, directory: &Path) -> Killed {
    start_copy(service_by(copy, name, directory).uid(NOBODY).gid(NOBODY))
}

fn directory(folder: &TempDir, kept: &[&str]) -> Killed {
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    directory_by(&mut Command::new(env!("CARGO_BIN_EXE_bertha-directory")), folder, kept)
}

/// A directory by this command, which gets its arguments.
fn directory_by(command: &mut Command, folder: &TempDir, kept: &[&str]) -> Killed {
    command.arg("--socket").arg(folder.path().join("directory.sock")).arg("serve");
    for kept in kept {
        command.args(["--keep", kept]);
    }
    Killed(command.spawn().unwrap())
}

/// A client that waits as long as a busy machine needs.
fn at(path: &Path) -> Directory {
    Directory::at(path).patience(Duration::from_secs(60))
}

async fn asked(path: &Path, name: &str) -> Result<bool, ErrorKind> {
    // Anew each time, since answers count for a while.
    at(path).lookup(name).await.map(|found| found.is_some()).map_err(|error| error.kind())
}

async fn until(path: &Path, name: &str, expected: Result<bool, ErrorKind>) {
    for _ in 0..1000 {
        if asked(path, name).await == expected {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("`{name}`: {:?} instead of {expected:?}", asked(path, name).await);
}

/// Not a test of its own: a service in a process, or its refusal.
#[tokio::test(flavor = "current_thread")]
async fn a_service() {
    let (Ok(name), Ok(socket)) = (std::env::var(NAME), std::env::var(SOCKET)) else { return };
    match at(Path::new(&socket)).try_register(&name, &[]).await {
        Ok(_registration) => sleep(Duration::from_secs(600)).await,
        Err(error) => {
            let code = match error.kind() {
                ErrorKind::AddrInUse => 11,
                ErrorKind::Unauthenticated => 12,
                ErrorKind::Io => 13,
                ErrorKind::Exhausted => 15,
                _ => 14,
            };
            std::process::exit(code);
        }
    }
}

fn service(path: &Path, name: &str) -> Killed {
    Killed(service_by(&std::env::current_exe().unwrap(), name, path).spawn().unwrap())
}

/// Returns the command that starts the service by this program, or a copy of it.
fn service_by(program: &Path, name: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "services::a_service"])
        .env(NAME, name)
        .env(SOCKET, directory)
        .stdout(Stdio::null());
    command
}

#[tokio::test(flavor = "current_thread")]
async fn an_entry_vanishes_with_its_process() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let mut directory = directory(&folder, &[]);
    until(&path, "cart", Ok(false)).await;
    let mut cart = service(&path, "cart");
    until(&path, "cart", Ok(true)).await;
    let mut second = service(&path, "cart");
    assert_eq!(second.0.wait().unwrap().code(), Some(11), "the name is taken");
    cart.0.kill().unwrap();
    until(&path, "cart", Ok(false)).await;
    let _cart = service(&path, "cart");
    until(&path, "cart", Ok(true)).await;
    // A directory that dies leaves its socket; the next one takes the place, and services come again.
    directory.0.kill().unwrap();
    directory.0.wait().unwrap();
    assert_eq!(asked(&path, "cart").await, Err(ErrorKind::Unreachable));
    let _next = self::directory(&folder, &[]);
    until(&path, "cart", Ok(false)).await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_user_without_rights_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be several users");
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let _directory = directory(&folder, &["store=4242", "pay.*=4242"]);
    until(&path, "store", Ok(false)).await;
    // The program has to be where nobody can run it.
    let own = folder.path().join("service");
    std::fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    let as_nobody = |name: &str| start_as_nobody(&own, name, &path);
    for name in ["store", "pay.card"] {
        assert_eq!(as_nobody(name).0.wait().unwrap().code(), Some(12), "{name} is kept for another");
    }
    let _other = as_nobody("other");
    until(&path, "other", Ok(true)).await;
    let found = at(&path).lookup("other").await.unwrap().unwrap();
    assert_eq!(found.user, NOBODY);
    // A user without access to the folder may not ask either.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-directory"));
    let inner = closed.join("directory.sock");
    let _inner = Killed(command.arg("--socket").arg(&inner).arg("serve").spawn().unwrap());
    until(&inner, "any", Ok(false)).await;
    let mut kept_out = start_as_nobody(&own, "any", &inner);
    assert_eq!(kept_out.0.wait().unwrap().code(), Some(13), "the folder's rights");
}

/// With 48 descriptors there are 18 places, of which 16 are for services of users other than root.
#[tokio::test(flavor = "current_thread")]
async fn a_user_has_a_share_and_is_told() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be several users");
        return;
    }
    let folder = TempDir::new().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("directory.sock");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 48 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_bertha-directory")]);
    command.stderr(Stdio::piped());
    let mut directory = directory_by(&mut command, &folder, &[]);
    until(&path, "cart", Ok(false)).await;
    let own = folder.path().join("service");
    std::fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    let as_nobody = |name: &str| start_as_nobody(&own, name, &path);
    let mut kept = Vec::new();
    for number in 0..4 {
        kept.push(as_nobody(&format!("service-{number}")));
        until(&path, &format!("service-{number}"), Ok(true)).await;
    }
    for name in ["fifth", "sixth"] {
        assert_eq!(as_nobody(name).0.wait().unwrap().code(), Some(15), "{name} has no room");
    }
    let _other = service(&path, "of-root");
    until(&path, "of-root", Ok(true)).await;
    directory.0.kill().unwrap();
    let told = std::io::read_to_string(directory.0.stderr.take().unwrap()).unwrap();
    assert_eq!(told.matches("the directory has no room for a service").count(), 1, "{told}");
    assert!(told.contains("user 65534 has 4 services"), "{told}");
}

/// A directory with few descriptors, and clients that take them all and say nothing.
#[tokio::test(flavor = "current_thread")]
async fn a_user_who_takes_all_descriptors_stops_nobody() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let limited = "ulimit -n 64 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_bertha-directory")]);
    let _directory = directory_by(&mut command, &folder, &[]);
    until(&path, "cart", Ok(false)).await;
    let _cart = service(&path, "cart");
    until(&path, "cart", Ok(true)).await;
    let silent: Vec<_> = (0..200).map(|_| silent(&path)).collect();
    for _ in 0..20 {
        assert_eq!(asked(&path, "cart").await, Ok(true));
    }
    drop(silent);
}

/// A client that says nothing. The directory accepts it when it comes to it.
fn silent(path: &Path) -> OwnedFd {
    let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

#[tokio::test(flavor = "current_thread")]
async fn the_limit_of_descriptors_is_raised() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 64 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_bertha-directory")]);
    let directory = directory_by(&mut command, &folder, &[]);
    until(&folder.path().join("directory.sock"), "cart", Ok(false)).await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", directory.0.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<_> = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).collect();
    assert_eq!(numbers[0], numbers[1], "{line}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_registered_address_is_found_by_the_command() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-directory"));
    let own = format!("10.0.0.7:={}", rustix::process::geteuid().as_raw());
    command.arg("--socket").arg(&path).args(["serve", "--keep-address", &own]);
    let _directory = Killed(command.spawn().unwrap());
    until(&path, "cart", Ok(false)).await;
    let _cart = at(&path).try_register("cart", &["10.0.0.7:4000".parse().unwrap()]).await.unwrap();
    let lookup = |service: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-directory"));
        let said = command.arg("--socket").arg(&path).args(["lookup", service]).args(more).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    for said in [lookup("cart", &[]), lookup("10.0.0.7:4000", &[]), lookup("10.0.0.7:4000", &["--address"])] {
        assert!(said.starts_with("cart of user"), "{said}");
    }
    assert_eq!(lookup("10.0.0.7:4001", &[]), "not on this machine\n");
}

#[test]
fn a_signal_ends_the_directory_in_order() {
    for signal in ["INT", "TERM"] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("directory.sock");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-directory"));
        let mut directory = command.arg("--socket").arg(&path).arg("serve").spawn().unwrap();
        while !path.exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let id = directory.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(directory.wait().unwrap().code(), Some(0), "{signal}");
        assert!(!path.exists(), "{signal}");
    }
}

#[test]
fn exit_codes_are_those_of_all_programs() {
    let code = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bertha-directory")).args(arguments).output().unwrap().status.code()
    };
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["--socket", "/nowhere/directory.sock", "serve"]), Some(1));
    assert_eq!(code(&["lookup"]), Some(2));
}

#[test]
fn the_directory_tells_its_clients_and_services() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-directory"));
    command.arg("--socket").arg(folder.path().join("directory.sock")).arg("serve");
    let directory = Metered::start(&mut command);
    directory.value_becomes("directory_services", 0);
    let metrics = directory.scrape();
    judge(&metrics);
    assert_eq!(value(&metrics, r#"directory_services_refused_total{reason="no_room"}"#), Some(0.0));
    let service = service(&folder.path().join("directory.sock"), "store");
    directory.value_becomes("directory_services", 1);
    drop(service);
    directory.value_becomes("directory_services", 0);
}
