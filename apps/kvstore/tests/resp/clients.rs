//! The `redis` crate.

use crate::Store;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig, ExistenceCheck, SetExpiry, SetOptions, Value};
use std::time::Duration;

/// Returns a configuration with a longer time-out: half a second, the client's default, is less than a busy
/// machine may take for five megabytes.
pub(crate) fn client_config() -> AsyncConnectionConfig {
    let timeout = Some(Duration::from_secs(60));
    AsyncConnectionConfig::new().set_connection_timeout(timeout).set_response_timeout(timeout)
}

pub(crate) async fn connect(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).unwrap();
    client.get_multiplexed_async_connection_with_config(&client_config()).await.unwrap()
}

/// Does the work of an application, over any protocol and datapath.
pub(crate) async fn everyday(mut store: MultiplexedConnection) {
    let missing: Option<String> = store.get("nothing").await.unwrap();
    assert_eq!(missing, None);
    store.set::<_, _, ()>("name", "value").await.unwrap();
    assert_eq!(store.get::<_, String>("name").await.unwrap(), "value");
    let large: Vec<u8> = (0..5_000_000_u32).map(|at| (at * 31) as u8).collect();
    store.set::<_, _, ()>("large", &large).await.unwrap();
    assert!(store.get::<_, Vec<u8>>("large").await.unwrap() == large);
    for expected in 1..=3 {
        assert_eq!(store.incr::<_, _, i64>("count", 1).await.unwrap(), expected);
    }
    let values: Vec<Option<String>> = store.mget(&["name", "nothing", "count"]).await.unwrap();
    assert_eq!(values, [Some("value".into()), None, Some("3".into())]);

    let only_new = SetOptions::default().conditional_set(ExistenceCheck::NX);
    let refused: Value = store.set_options("name", "other", only_new).await.unwrap();
    assert_eq!(refused, Value::Nil);
    let for_long = SetOptions::default().with_expiration(SetExpiry::EX(1000));
    store.set_options::<_, _, ()>("name", "limited", for_long).await.unwrap();
    assert!((990..=1000).contains(&store.ttl::<_, i64>("name").await.unwrap()));
    let briefly = SetOptions::default().with_expiration(SetExpiry::PX(1));
    store.set_options::<_, _, ()>("brief", "value", briefly).await.unwrap();
    while store.get::<_, Option<String>>("brief").await.unwrap().is_some() {}
    assert_eq!(store.ttl::<_, i64>("brief").await.unwrap(), -2);
    assert_eq!(store.ttl::<_, i64>("count").await.unwrap(), -1);
    assert!(store.expire::<_, bool>("count", 50).await.unwrap());
    assert_eq!(store.del::<_, usize>(&["name", "count", "large", "nothing"]).await.unwrap(), 3);

    let mut pipeline = redis::pipe();
    for number in 0..1000 {
        pipeline.set(format!("key{number}"), number).ignore().get(format!("key{number}"));
    }
    let values: Vec<i64> = pipeline.query_async(&mut store).await.unwrap();
    assert!(values.into_iter().eq(0..1000));
    let refused = redis::cmd("LPUSH").arg("list").arg(1).query_async::<()>(&mut store).await.unwrap_err();
    assert!(refused.to_string().contains("unknown command 'LPUSH'"), "{refused}");
}

#[tokio::test]
async fn an_application_finds_its_way_over_tcp_and_unix_sockets_in_both_versions() {
    for shards in [1, 3] {
        let store = Store::start(shards);
        let (tcp, unix) = (store.tcp(), store.unix());
        for version in ["resp2", "resp3"] {
            everyday(connect(&format!("redis://{tcp}/?protocol={version}")).await).await;
            everyday(connect(&format!("redis+unix://{unix}?protocol={version}")).await).await;
        }
        store.server.stop().unwrap();
    }
}

#[tokio::test]
async fn stopping_closes_every_connection() {
    let store = Store::start(2);
    let mut client = connect(&format!("redis://{}", store.tcp())).await;
    client.set::<_, _, ()>("name", "value").await.unwrap();
    let stopping = tokio::task::spawn_blocking(|| store.server.stop());
    stopping.await.unwrap().unwrap();
    assert!(client.get::<_, String>("name").await.unwrap_err().is_connection_dropped());
}
