use super::*;
use crate::resp::format::CommandDecoder;
use crate::resp::{Command, Password, Settings};
use crate::{Capacity, Key};
use bertha::chunnels::framing::Deframe;
use bertha::{Buf, ErrorKind};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;

async fn received(client: &impl Connection<Data = Frame>) -> String {
    match client.recv().await.unwrap() {
        Frame::Replies(replies) => String::from_utf8(replies.as_bytes().to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The command on a line.
fn line(text: &str) -> Command {
    let mut bytes = Buf::copy_of(format!("{text}\n").as_bytes(), 0).unwrap();
    match CommandDecoder::default().decode(&mut bytes).unwrap() {
        Some(Frame::Command(command)) => command,
        other => panic!("{other:?}"),
    }
}

/// Sends `commands` at once; all replies until the session ends, and the record `a` behind it.
async fn session(settings: Settings, commands: Vec<Command>) -> (Error, String, Option<Arc<[u8]>>) {
    let (client, server) = pair_of(TokioRuntime);
    let store = SharedStore::new(Capacity::default());
    let shared = RespShared::new(settings, 10);
    let end = Routes::among(1).unwrap().remove(0);
    let one = Arc::new(Client::alone());
    let session = Session::new(&store, &end.routes, &shared, &one);
    client.send_batch(commands.into_iter().map(Frame::Command)).await.unwrap();
    let ended = session.serve(&server).await;
    let mut replies = String::new();
    drop(server);
    while let Ok(Frame::Replies(more)) = client.recv().await {
        replies.push_str(std::str::from_utf8(more.as_bytes()).unwrap());
    }
    let record = store.borrow_now().value(b"a").cloned();
    (ended, replies, record)
}

#[tokio::test]
async fn all_commands_that_arrive_at_once_are_answered_at_once() {
    let (client, server) = pair_of(TokioRuntime);
    let store = SharedStore::new(Capacity::default());
    let shared = RespShared::new(Settings::default(), 10);
    let end = Routes::among(1).unwrap().remove(0);
    let one = Arc::new(Client::alone());
    let session = Session::new(&store, &end.routes, &shared, &one);
    let commands = (0..100).flat_map(|number| {
        [Command::Ping(Some(vec![b'x'; number])), Command::One(Operation::Increment(Key::from("a"), 1))]
    });
    client.send_batch(commands.map(Frame::Command)).await.unwrap();
    let exchanged = async {
        let replies = received(&client).await;
        let expected: String = (0..100)
            .map(|number| format!("${number}\r\n{}\r\n:{}\r\n", "x".repeat(number), number + 1))
            .collect();
        assert_eq!(replies, expected);
        client.send(Frame::Command(Command::Quit)).await.unwrap();
        assert_eq!(received(&client).await, "+OK\r\n");
    };
    let (ended, ()) = tokio::join!(session.serve(&server), exchanged);
    assert_eq!(ended.kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn nothing_behind_a_command_that_ends_the_connection_is_carried_out() {
    let increment = || Command::One(Operation::Increment(Key::from("a"), 1));
    let once = Some(Arc::from(*b"1"));
    let commands = vec![increment(), Command::Quit, increment()];
    let (ended, replies, record) = session(Settings::default(), commands).await;
    assert_eq!((ended.kind(), &*replies), (ErrorKind::Closed, ":1\r\n+OK\r\n"));
    assert_eq!(record, once);
    let commands = vec![increment(), Command::Web, increment()];
    let (ended, replies, record) = session(Settings::default(), commands).await;
    assert!(ended.to_string().contains("HTTP"), "{ended}");
    assert_eq!((&*replies, record), ("", once));
}

#[tokio::test]
async fn a_login_counts_for_the_commands_behind_it() {
    let settings = Settings { password: Some(Password::new(b"secret")), ..Settings::default() };
    let login = |text: &str| line(&format!("auth {text}"));
    let commands = vec![
        Command::Ping(None),
        login("wrong"),
        Command::Ping(None),
        login("secret"),
        Command::Ping(None),
        login("other secret"),
        Command::Ping(None),
        Command::Quit,
    ];
    let (_, replies, _) = session(settings, commands).await;
    let kinds: Vec<_> = replies.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let expected = ["-NOAUTH", "-WRONGPASS", "-NOAUTH", "+OK", "+PONG", "-WRONGPASS", "+PONG", "+OK"];
    assert_eq!(kinds, expected, "{replies}");
}
