//! Web pages, and clients without the password.

use crate::Store;
use crate::clients::connect;
use crate::program::{Client, Program};
use bertha_kvstore::resp::{Password, Settings};
use redis::AsyncCommands;

const PASSWORD: &str = "a long secret";

fn guarded() -> Store {
    let password = Some(Password::new(PASSWORD.as_bytes()));
    Store::with(2, Settings { password, ..Settings::default() })
}

#[test]
fn a_web_page_changes_nothing() {
    let program = Program::start("", &[]);
    let body = "SET evil 1\r\nSET evil 2\r\n";
    let post = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let get = format!("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n{body}");
    for request in [post.clone(), post.to_lowercase(), get, format!("host: x\r\n{body}")] {
        let mut client = program.client();
        client.write(request.as_bytes());
        // `GET` with three words is a command that is refused with an answer.
        while !client.is_ended() {}
    }
    let mut client = program.client();
    client.write(b"GET evil\r\n");
    assert_eq!(client.bulk(), None);
    assert_eq!(program.info("connections_ended_web"), 4);
    assert!(program.log().contains("HTTP"));
}

#[test]
fn strangers_may_log_in_and_nothing_else() {
    let store = guarded();
    let mut client = Client::connect(store.tcp());
    let mut kind = |line: &str| {
        client.write(format!("{line}\r\n").as_bytes());
        client.line().split(' ').next().unwrap_or_default().to_owned()
    };
    for refused in ["PING", "GET a", "SET a b", "INFO", "CLIENT SETNAME x", "hello 3", "hello"] {
        assert_eq!(kind(refused), "-NOAUTH", "{refused}");
    }
    for wrong in ["AUTH wrong", "AUTH \"\"", "AUTH default wrong", "HELLO 3 AUTH default wrong"] {
        assert_eq!(kind(wrong), "-WRONGPASS", "{wrong}");
    }
    assert_eq!(kind(&format!("AUTH someone \"{PASSWORD}\"")), "-WRONGPASS");
    assert_eq!(kind("PING"), "-NOAUTH");
    assert_eq!(kind(&format!("AUTH default \"{PASSWORD}\"")), "+OK");
    assert_eq!(kind("PING"), "+PONG");
    for (bytes, answer) in [
        (&b"*11\r\n"[..], "-ERR Protocol error: unauthenticated multibulk length"),
        (b"*1\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length"),
    ] {
        let mut client = Client::connect(store.tcp());
        client.write(bytes);
        assert_eq!(client.line(), answer);
        assert!(client.is_ended());
    }
}

#[test]
fn what_is_behind_a_login_in_one_piece_may_be_large() {
    let store = guarded();
    let mut client = Client::connect(store.tcp());
    let mut bytes = format!("AUTH \"{PASSWORD}\"\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20000\r\n").into_bytes();
    bytes.resize(bytes.len() + 20_000, b'x');
    bytes.extend_from_slice(b"\r\n");
    client.write(&bytes);
    assert_eq!([client.line(), client.line()], ["+OK", "+OK"]);
}

#[tokio::test]
async fn an_application_logs_in_in_both_versions() {
    let store = guarded();
    for version in ["resp2", "resp3"] {
        for user in ["", "default"] {
            let url = format!("redis://{user}:a%20long%20secret@{}/?protocol={version}", store.tcp());
            let mut client = connect(&url).await;
            client.set::<_, _, ()>("a", 1).await.unwrap();
        }
        let wrong =
            redis::Client::open(format!("redis://:wrong@{}/?protocol={version}", store.tcp())).unwrap();
        assert!(wrong.get_multiplexed_async_connection().await.is_err());
    }
}

#[test]
fn the_program_reads_the_password_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "file's secret\n").unwrap();
    let program = Program::start("", &["--resp-password-file", file.to_str().unwrap()]);
    let mut client = program.client();
    assert!(client.ask(&[b"GET", b"a"]).starts_with("-NOAUTH"));
    assert_eq!(client.ask(&[b"AUTH", b"file's secret"]), "+OK");
    assert_eq!(client.ask(&[b"PING"]), "+PONG");
    assert!(!program.log().contains("secret"));
}
