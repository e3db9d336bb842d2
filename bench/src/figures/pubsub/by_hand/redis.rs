//! Redis Streams by `redis`.

use crate::Error;
use crate::figures::pubsub::by_hand_failed as failed;
use crate::figures::pubsub::counted::Count;
use crate::figures::pubsub::exchange::{Receives, Sends, number};
use redis::aio::MultiplexedConnection;
use redis::streams::{StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands, AsyncConnectionConfig, Client};

/// The consumer group, and its only consumer.
const GROUP: &str = "by-hand";

/// A publisher to a stream.
pub(crate) struct RedisPublisher {
    connection: MultiplexedConnection,
    stream: String,
    count: Count,
}

impl RedisPublisher {
    pub(crate) async fn open(address: &str, stream: &str, count: Count) -> Result<Self, Error> {
        Ok(Self { connection: connect(address).await?, stream: stream.to_owned(), count })
    }
}

impl Sends for RedisPublisher {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.count.call();
        let mut connection = self.connection.clone();
        let fields = [("payload", &message[..])];
        connection.xadd::<_, _, _, _, ()>(&self.stream, "*", &fields).await.map_err(failed)
    }
}

/// A receiver of a stream.
pub(crate) struct RedisReceiver {
    /// Connection that waits; acknowledgements have another connection, since they would wait behind it.
    waiting: MultiplexedConnection,
    connection: MultiplexedConnection,
    stream: String,
    held: Option<String>,
    count: Count,
}

impl RedisReceiver {
    pub(crate) async fn open(address: &str, stream: &str, count: Count) -> Result<Self, Error> {
        let waiting = connect(address).await?;
        let mut connection = connect(address).await?;
        connection.xgroup_create_mkstream::<_, _, _, ()>(stream, GROUP, "$").await.map_err(failed)?;
        Ok(Self { waiting, connection, stream: stream.to_owned(), held: None, count })
    }
}

impl Receives for RedisReceiver {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        let options = StreamReadOptions::default().group(GROUP, GROUP).count(1).block(20_000);
        loop {
            self.count.call();
            let reply: Option<StreamReadReply> =
                self.waiting.xread_options(&[&self.stream], &[">"], &options).await.map_err(failed)?;
            let entry = reply.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids).next();
            if let Some(entry) = entry {
                let payload: Vec<u8> = entry.get("payload").unwrap_or_default();
                self.held = Some(entry.id);
                return Ok(vec![number(&payload)?]);
            }
        }
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        let Some(id) = self.held.take() else { return Ok(()) };
        self.count.call();
        self.connection.xack::<_, _, _, ()>(&self.stream, GROUP, &[id]).await.map_err(failed)
    }
}

/// Opens a connection whose answers may take any time.
async fn connect(address: &str) -> Result<MultiplexedConnection, Error> {
    let client = Client::open(address).map_err(failed)?;
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await.map_err(failed)
}
